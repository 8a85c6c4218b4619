"""The ids of labels: the same for each evaluation in which an answer occurs."""

from instruments.stored_text import sha256_hex

ID_CHARS = 32
"""Hex digits of an id."""


def label_id_of(scenario_id: str, analysis_digest: str, criterion: str | None) -> str:
    """Return the id of the label of an answer on a criterion; None is the answer as a whole.

    It is the beginning of a SHA-256 over scenario, digest of the answer, and criterion, joined by NUL.
    """
    return sha256_hex("\0".join((scenario_id, analysis_digest, criterion or "")))[:ID_CHARS]
