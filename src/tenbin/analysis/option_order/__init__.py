"""Option order: how scores of stored runs depend on the positions of options."""
