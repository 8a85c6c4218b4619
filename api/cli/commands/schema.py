"""schema: print the event types as JSON Schema."""

from typing import Annotated

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import argument
from api.cli.output import print_line
from ledger.errors import NotFound


@verb(ledger=False)
def schema(
    target: LedgerTarget,
    type_: Annotated[str | None, argument("One event type; without it, all.", "[TYPE]")] = None,
) -> None:
    """Print the JSON Schema of the event types.

    Example: tallystick schema decision.recorded.v1
    """
    from difflib import get_close_matches

    import msgspec

    from events.registry import VOCABULARY
    from events.schema import json_schema
    from events.vocabulary import Vocabulary

    vocabulary = VOCABULARY
    if type_ is not None:
        if type_ not in VOCABULARY.event_types:
            similar = get_close_matches(type_, VOCABULARY.type_names, n=1, cutoff=0.5)
            hint = f"Did you mean {similar[0]}?" if similar else f"Known types: {', '.join(VOCABULARY.type_names)}."
            raise NotFound(f"type {type_!r} is not in the vocabulary.", hint)
        vocabulary = Vocabulary([VOCABULARY.event_types[type_]])
    encoded = msgspec.json.encode(json_schema(vocabulary))
    print_line(encoded if target.json else msgspec.json.format(encoded))
