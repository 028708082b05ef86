"""The event loop of simulations, for tests: see `foliot.simulate.virtual_loop`."""

from foliot.simulate.virtual_loop import SimulationStuckError, VirtualLoop, run_virtually

__all__ = ["SimulationStuckError", "VirtualLoop", "run_virtually"]
