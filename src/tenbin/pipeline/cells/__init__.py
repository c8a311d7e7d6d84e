"""Which cells a run has, and what is needed to ask them."""
