"""Models × tasks and groups of stored runs, with rank intervals.

models        which runs are of one model, and what rows are called
columns       which cells stand in one column
marks         what cells of one column do not have in common
ranking       their documents and ranks
arrangement   sections and labels
history       the runs of a model by date
report        the records that come out
table         the same in long form
build         joins these
"""
