"""Many prompts on the same documents, of which each document is asked only a few."""
