"""JSON Schema of the vocabulary, for clients, forms and fuzzers."""

from typing import Any

import msgspec

from events.registry import VOCABULARY, Vocabulary


def json_schema(vocabulary: Vocabulary = VOCABULARY, ref_template: str = "#/$defs/{name}") -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of the vocabulary.

    `oneOf` lists each draft that a client may post, `$defs` every struct. A draft's `x-stream` names the stream of its
    type, `x-life` the place that the type may have in it.
    """
    types = list(vocabulary.event_types.values())
    refs, components = msgspec.json.schema_components(
        [type_.draft for type_ in types] + [type_.event for type_ in types], ref_template=ref_template
    )
    for type_ in types:
        components[type_.draft.__name__] |= {"x-life": type_.life.value, "x-stream": f"{type_.stream}/ID"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tallystick vocabulary",
        "description": "Events as clients post them. The ledger adds position, recordedtime and streamversion.",
        "oneOf": list(refs[: len(types)]),
        "$defs": components,
    }
