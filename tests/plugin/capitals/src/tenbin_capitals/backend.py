"""A backend that looks answers up."""

from __future__ import annotations

from tenbin.backends.base import BaseBackend
from tenbin.records import Generate, Response, Text

KNOWN = {"Japan": "Tokyo", "France": "paris", "Australia": "Can not say"}


class Atlas(BaseBackend):
    """Writes the capital of the country that a prompt names."""

    fingerprint = "atlas-1"
    arguments = ("unknown",)

    def generate(self, request: Generate) -> Response:
        """The capital, or what the model argument `unknown` says."""
        unknown = self.settings.model_args.get("unknown", "?") if self.settings else "?"
        found = next((KNOWN[name] for name in KNOWN if name in request.prompt), unknown)
        return Text(found, finish="end", token_count=len(found))
