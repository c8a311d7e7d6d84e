"""Stored runs of one model as one run: `tenbin merge`.

agreement   whether runs agree in all that a score depends on, and what differs
cells       the cells of all of them, each once, with ids that distinguish them
groups      scores of groups, computed anew from the documents of all runs
record      what result.json says of the merged run
merge       reads, checks, joins, writes
"""
