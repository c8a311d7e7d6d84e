"""Evaluates the checkpoints of a training as they appear.

completeness   whether a folder holds a whole checkpoint
training       where checkpoints are looked for: a folder, or the revisions of a hub repository
order          which of those that wait is next, and which are put off
store          runs that are there already, and the place of a new one
evaluation     one checkpoint: from its files to its stored run
book           what became of each checkpoint, and watch.json
loop           joins these
"""
