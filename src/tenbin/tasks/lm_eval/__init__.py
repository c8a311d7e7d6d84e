"""Task files of lm-evaluation-harness: reading, finding, translating and trusting them."""
