"""Errors a person can act on: each says what was given, what was expected and what to do."""

from __future__ import annotations


class MinillmError(Exception):
    """Base of every error the package raises on purpose."""


class ModelNotFound(MinillmError):
    """No model under that name, folder or hub id."""


class UnsafeCheckpoint(MinillmError):
    """The checkpoint would need pickle or remote code to load."""


class UnsupportedModel(MinillmError):
    """The configuration describes an architecture this package does not implement."""


class UnsupportedDtype(MinillmError):
    """The device cannot hold or compute in the requested dtype."""


class CapacityExceeded(MinillmError):
    """More tokens than a cache, or a model's positions, can hold."""
