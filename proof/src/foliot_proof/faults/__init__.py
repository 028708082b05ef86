"""Real processes, real kills: tries to break an application, and judges by what its jobs saw.

    spawner ──fork──▶ node ──▶ proxy ──▶ the store under test (`database`): a file, or a server
       ▲               │ the production `Foliot`; it writes the witness log: starts, ends, answers, failures
    host ◀── injector  ▼ (one write() each)
       │ fault log   witness log, and the store's rows ──▶ evidence ──▶ checker, figures ──▶ verdict

A *host* is where nodes live, one after another. The *fault injector* injures them: SIGKILL at random or at a
named step (`trap`), SIGSTOP beyond the lease, SIGTERM, a clock that jumps. Between a host and a server is a
*proxy* of its own, by which the way is cut, swallows, slows and half-closes; and the server itself is crashed
(`partition`). An *injected fault* counts only if it bit. At the end all are up for a quiet while and stop in
order. Then the checker (`foliot_proof.history`) is given what was declared, what the store says, what the
jobs saw, and what was done; it has to be able to explain everything.

Nothing in the product knows of this: the node swaps the store's and the engine's constructors for ones with
a failpoint before it starts (`spy`), and everything else is what users run. Times are those of
CLOCK_MONOTONIC, which all processes of a machine share, so a clock that jumps does not blur the evidence.
"""
