"""Learning curves: one model at several steps of its training, on the same documents.

changes  bands, and differences between steps that are more than noise
trend    order, noise and agreement of curves, from their values alone
"""
