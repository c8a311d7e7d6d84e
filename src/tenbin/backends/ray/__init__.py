"""Any backend on the workers of a Ray cluster (`--workers`)."""
