"""Doors: ways in, each in the words of its own users.

A door translates at the edge: what its users write becomes jobs with the door's policies, and what the
engine tells becomes the door's own events and errors. It decides nothing about time: if it needs a
behaviour, that is a policy, and the planner decides.
"""
