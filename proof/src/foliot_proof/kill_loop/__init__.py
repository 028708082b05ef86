"""Thousands of short lives: the production engine on a real store, killed at a named step, again and again.

    loop ──fork──▶ life ── Engine and store; dies by SIGKILL before or after a step, or at any moment
      ▲              │ its jobs write a line each before they end (one write(); what is written stays)
      └── the next life begins ten seconds later, by the clock that lives are given
                                                          … at the end: judge

The fault harness (`foliot_proof.faults`) injures whole applications in real time, in every way; it manages
about one kill a second. This does one thing only, and does it some twenty times a second: a node dies, and
the next finds what it has left. Each life's clock runs on from its own time, so nobody waits for a lease to
run out. The judge shares nothing with the planner: it counts.
"""
