"""Measurements of Foliot and its peers, side by side in one run."""
