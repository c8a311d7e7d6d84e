"""From the answer to one document to its values: metrics, and filters that read answers.

    from tenbin.metrics import metric

A metric is a pure function under `metric`; a package that declares it as an entry point of
`tenbin.metrics` makes it known by name.
"""

from tenbin.metrics.base import Choices, Metric, metric

__all__ = ["Choices", "Metric", "metric"]
