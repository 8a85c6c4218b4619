"""Path parameters that several routes share."""

from api.parameters import JsonSchema, Parameter, integer_parameter, text_parameter
from events.limits import STREAM_ID_CHARS_MAX
from events.payload import DIGEST_PATTERN, STORED_ID_PATTERN

STREAM_ID_SCHEMA: JsonSchema = {
    "type": "string", "minLength": 1, "maxLength": STREAM_ID_CHARS_MAX, "pattern": STORED_ID_PATTERN,
}  # fmt: skip

DIGEST_SCHEMA: JsonSchema = {"type": "string", "pattern": DIGEST_PATTERN}

POSITION = integer_parameter("position", "The event's position: 1-based, over the whole log.", 1)


def stream_id_parameter(name: str, description: str) -> Parameter[str]:
    """Declare the id of a stream."""
    return text_parameter(name, description, STREAM_ID_SCHEMA)


RUN = stream_id_parameter("run", "The run's id.")
SCENARIO = stream_id_parameter("scenario_id", "The scenario's id.")
