"""The long proofs of Foliot: each tries to break it, and judges by what its jobs saw.

    simulation   the production engine, three nodes of it, for months on a virtual clock
    kill_loop    a node on a real store, killed at a named step some twenty times a second
    alert_loop   the same, between a failure and the message that tells of it
    faults       whole applications in real time: kills, partitions, clocks and disks that fail
    history      the checker: it finds what a run of several nodes did wrong, from logs alone

They replace constructors of the product, kill processes and know its inner parts, so the wheel of Foliot does
not contain them (ADR 18). `make prove` runs them all; `python -m foliot_proof.simulation --help` and so on
runs one of them for as long as you like.
"""
