"""Executors: what carries out actions, one kind each."""
