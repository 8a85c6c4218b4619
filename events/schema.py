"""JSON Schema of the vocabulary, for clients, forms and fuzzers."""

from typing import Any

import msgspec

from events.registry import VOCABULARY, Vocabulary


def json_schema(vocabulary: Vocabulary = VOCABULARY, ref_template: str = "#/$defs/{name}") -> dict[str, Any]:
    """JSON Schema 2020-12: under `oneOf` each draft a client may post, under `$defs` every struct.

    `x-life` and `x-stream` beside a draft say where its type may stand.
    """
    kinds = list(vocabulary.kinds.values())
    refs, components = msgspec.json.schema_components(
        [kind.draft for kind in kinds] + [kind.event for kind in kinds], ref_template=ref_template
    )
    for kind in kinds:
        components[kind.draft.__name__] |= {"x-life": kind.life.value, "x-stream": f"{kind.stream}/ID"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tallystick vocabulary",
        "description": "Events as clients post them. The ledger adds position, recordedtime and streamversion.",
        "oneOf": list(refs[: len(kinds)]),
        "$defs": components,
    }
