"""The model stream: which models an owner knows, and by which names they go."""

from typing import Annotated

import msgspec

from events.limits import LABEL_CHARS_MAX
from events.payload import Label, Payload, PayloadPart, StreamId

Claim = Annotated[str, msgspec.Meta(max_length=LABEL_CHARS_MAX)]


class ModelIdentity(PayloadPart, frozen=True, kw_only=True):
    """Who answered, as it said itself. A claim, and called one wherever it is shown."""

    model_name: Claim
    """Name of the model. Source: the answer."""
    provider: Claim | None = None
    """Who offers it. Source: the answer."""
    version: Claim | None = None
    """Its version. Source: the answer."""
    wrapper: Claim | None = None
    """The host it says to run in. Source: the answer."""


class ModelRegistered(Payload, frozen=True, kw_only=True):
    """A model that the owner knows. Claims whose name comes to this key are of a known model."""

    key: StreamId
    """Names the stream `model/KEY`: the name that its dated and prefixed names share. Source: the owner."""
    provider: Label | None = None
    """Who offers it. Source: the owner."""
    name: Label | None = None
    """How it is to be shown. Source: the owner."""
    note: str | None = None
    """Anything else. Source: the owner."""


class ModelAliased(Payload, frozen=True, kw_only=True):
    """Another name of a registered model. Where two models have it, the later event counts."""

    key: StreamId
    """The model that has the name. Source: the owner."""
    alias: Label
    """The name, as claims state it; upper and lower case are one. Source: the owner."""
