"""The probe stream: the score of one answer by one scorer. A better scorer adds scores; no score changes."""

from hashlib import sha256
from typing import Annotated

import msgspec

from events.limits import ITEMS_MAX
from events.payload import COUNT_MAX, Confidence, Count, Digest, Label, Payload, StreamId, StreamName

Whole = Annotated[int, msgspec.Meta(ge=-COUNT_MAX, le=COUNT_MAX)]
Counts = Annotated[dict[Label, Whole], msgspec.Meta(max_length=ITEMS_MAX)]
Dimensions = Annotated[dict[Label, Confidence], msgspec.Meta(max_length=ITEMS_MAX)]


class ProbeScoredV1(Payload, frozen=True, kw_only=True):
    """One scorer's score of one answer to a probe. Version 2 can also state the model that the endpoint named."""

    score_id: StreamId | None = None
    """Names the stream `probe/ID`. Source: the client; where absent in a post, the ledger makes 8 hex digits."""
    probe_id: Label
    """The probe that was answered. Source: the runner."""
    probe_version: Label | None = None
    """Its version. Source: the runner."""
    scorer_id: Label
    """The scorer; `reported` where a run report states a score without its scorer. Source: the scorer."""
    scorer_version: Label | None = None
    """Its version. Source: the scorer."""
    run_id: StreamName | None = None
    """The run that the answer belongs to. Source: the run."""
    attempt: Count | None = None
    """The attempt of that run, 1-based. Source: the run."""
    model_name: Label | None = None
    """The model that answered, as it claimed. Source: the answer."""
    output_digest: Digest | None = None
    """Digest of the scored text. Source: measured."""
    valid: bool | None = None
    """Whether the answer could be scored; if not, `counts` is absent. Source: the scorer."""
    counts: Counts | None = None
    """Counts by name: renames, function_splits, comments_added, structural_changes. Source: the scorer."""
    total_score: Confidence | None = None
    """Total score, 0..1. Source: the scorer."""
    dimension_scores: Dimensions | None = None
    """Scores of single dimensions by name, each 0..1. Source: the scorer."""
    apart: Counts | None = None
    """Counts by name that do not enter the score. Source: the scorer."""


class ProbeScored(ProbeScoredV1, frozen=True, kw_only=True):
    """One scorer's score of one answer to a probe. `model_name` is the claimed model."""

    reported_model: Label | None = None
    """The model that the endpoint named in its answer. Source: the endpoint."""


def score_id_of(run_id: str, attempt: int, scorer_id: str, scorer_version: str | None = None) -> str:
    """Return the id of a scorer's score of an attempt, the same each time, so that rescoring adds no second score."""
    scored = f"{run_id}/{attempt}/{scorer_id}@{scorer_version or ''}"
    return sha256(scored.encode()).hexdigest()[:32]
