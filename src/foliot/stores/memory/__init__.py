"""The store in memory: for tests, notebooks, and programs whose jobs need not outlive them.

- `store`: the verbs, each behind one lock, so that each is one atomic step.
- `nodes`: who lives, and what each node holds. `due`: who is to be looked at first.
- `past`: what ended and was skipped, and when it is forgotten. `overview`: the store at a glance.
"""

from foliot.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
