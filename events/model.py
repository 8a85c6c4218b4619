"""The model stream: the models that an owner knows, and their names."""

from typing import Annotated

import msgspec

from events.limits import LABEL_CHARS_MAX
from events.payload import Label, Payload, PayloadPart, StreamId

Claim = Annotated[str, msgspec.Meta(max_length=LABEL_CHARS_MAX)]


class ModelIdentity(PayloadPart, frozen=True, kw_only=True):
    """The identity that an answer claims. Every view calls it a claim."""

    model_name: Claim
    """Name of the model. Source: the answer."""
    provider: Claim | None = None
    """Provider of the model. Source: the answer."""
    version: Claim | None = None
    """Its version. Source: the answer."""
    wrapper: Claim | None = None
    """The host that it says it runs in. Source: the answer."""


class ModelRegisteredV1(Payload, frozen=True, kw_only=True):
    """A model that the owner knows. Version 2 can also state its version."""

    key: StreamId
    """Names the stream `model/KEY`: the canonical form of its dated and prefixed names. Source: the owner."""
    provider: Label | None = None
    """Provider of the model. Source: the owner."""
    name: Label | None = None
    """Name to show. Source: the owner."""
    note: str | None = None
    """Anything else. Source: the owner."""


class ModelRegistered(ModelRegisteredV1, frozen=True, kw_only=True):
    """A model that the owner knows. A claimed name whose canonical form is this key means this model."""

    version: Label | None = None
    """Version of the model. Source: the owner."""


class WrapperDeclared(Payload, frozen=True, kw_only=True):
    """A host (wrapper) that answers with its own name: answers that claim this name identify no model."""

    key: StreamId
    """Names the stream `wrapper/KEY`: the name's words in lower case, joined by hyphens. Source: the owner."""
    name: Label | None = None
    """The name, as claims state it; case and punctuation do not matter. Source: the owner."""
    note: str | None = None
    """Anything else. Source: the owner."""


class WrapperWithdrawn(Payload, frozen=True, kw_only=True):
    """A name is not a host's, also if it was declared or is in the default list: answers that claim it name a model."""

    key: StreamId
    """The name, as in the declaration. Source: the owner."""
    note: str | None = None
    """Anything else. Source: the owner."""


class ModelAliased(Payload, frozen=True, kw_only=True):
    """Another name of a registered model. If two models have the same alias, the later event is used."""

    key: StreamId
    """The model that has the name. Source: the owner."""
    alias: Label
    """The name, as claims state it; case does not matter. Source: the owner."""
