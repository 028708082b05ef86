"""The values of Foliot, all frozen: jobs and their policies, states, attempts, decisions.

    Job ── has ──▶ Policy, Schedule, Action            declared, never computed
    Record = Job + State + open Attempts               what every method of a store loads and writes
    Attempt ── of a Run ── for an occurrence, or for a request
    Decision = new State + changed Attempts + Skips + Events

Invariants: an attempt is named by (run key, number) and nothing else; its state follows the table in
`attempt.TRANSITIONS`; `served_until` never moves back; `token` only grows. Values of the hot path (State,
Attempt, Decision) are named tuples, because making one costs a third of a frozen dataclass.
"""
