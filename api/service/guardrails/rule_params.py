"""The parameters of questions about guardrails."""

from typing import Annotated

import msgspec
from msgspec import Meta

from projections.shared_params import stream_id


class GuardrailsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which guardrails to list."""

    retired: Annotated[bool, Meta(description="Whether to list retired rules, too.")] = False


class GuardrailQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which guardrail to show."""

    guardrail_id: Annotated[str, stream_id("The id of the rule.")]
