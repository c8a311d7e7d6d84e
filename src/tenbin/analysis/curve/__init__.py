"""Learning curves of stored runs: checkpoints of one training × tasks and groups.

checkpoints   which runs are of which step
chance        what a model scores that knows nothing
signal        what a curve shows at this size of model
draft         one curve: its cells, and what their documents say
report        the records that come out
table         the same in long form
build         joins these
"""
