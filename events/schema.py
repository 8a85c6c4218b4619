"""JSON Schema of the vocabulary, for clients, forms and fuzzers."""

from typing import Any

import msgspec

from events.extensions import EXTENSION_NAME_PATTERN, INTEGER_MAX, INTEGER_MIN
from events.limits import EXTENSION_BYTES_MAX
from events.registry import VOCABULARY
from events.vocabulary import Vocabulary

EXTENSION_SCHEMA: dict[str, Any] = {
    "description": "An extension attribute of CloudEvents, or dataschema: stored as sent.",
    "anyOf": [
        {"type": "string", "maxLength": EXTENSION_BYTES_MAX, "pattern": r"^[^\u0000-\u001f\u007f-\u009f]*$"},
        {"type": "integer", "minimum": INTEGER_MIN, "maximum": INTEGER_MAX},
        {"type": "boolean"},
    ],
}
"""JSON Schema of the value of an extension attribute."""


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
        del components[type_.draft.__name__]["additionalProperties"]  # false: the strict decoder knows no extensions
        components[type_.draft.__name__] |= {
            "x-life": type_.life.value, "x-stream": f"{type_.stream}/ID",
            "unevaluatedProperties": EXTENSION_SCHEMA, "propertyNames": {"pattern": EXTENSION_NAME_PATTERN},
        }  # fmt: skip
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tallystick vocabulary",
        "description": "Events as clients post them. The ledger adds position, recordedtime and streamversion.",
        "oneOf": list(refs[: len(types)]),
        "$defs": components,
    }
