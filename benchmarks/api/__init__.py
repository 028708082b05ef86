"""Whether the API delays jobs: how late they start without clients, and with them (OWN-11, P11).

`engine`: an engine with the API beside it, as `foliot serve --listen` has it, and jobs spread over the time.
`clients`: a process of its own that asks, listens, sends a byte a second, and sends too large bodies.
`connection`: just enough HTTP for them. The clients have many addresses (127.0.0.2, …), so that the limits of
one address do not keep them away; so this works on Linux only.
"""
