"""A model's files before its weights: location, integrity, fingerprint, tokenizer, conversion."""

from tenbin.backends.checkpoint.busy_cores import wait_without_spinning_if_busy
from tenbin.backends.checkpoint.transformers_import import quicken_import

quicken_import()
wait_without_spinning_if_busy()
