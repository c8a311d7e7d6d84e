"""Runs of many models: one file, a run of its own for each of them."""
