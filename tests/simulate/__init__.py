"""Simulations by the real engine."""
