"""Questions put to stored runs: sweeps over templates, comparisons, consistency of languages."""
