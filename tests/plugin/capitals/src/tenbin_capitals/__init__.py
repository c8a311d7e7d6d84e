"""A package of the kind that a user of tenbin would write."""
