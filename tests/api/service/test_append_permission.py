"""Who may append each type: the table that every type with an author of its own must join."""

import pytest

from api.principal import Forbidden, Principal
from api.service.ledger import check_author
from events.envelope import Draft, source_of
from events.errors import InvalidEvent, TallystickError
from events.life import Author
from events.registry import VOCABULARY
from ledger.errors import ServerOnly
from tests.events.samples import SAMPLES

REFUSED: dict[Author, dict[str, type[TallystickError]]] = {
    Author.SERVER: {"append": ServerOnly, "import": ServerOnly, "admin": ServerOnly},
    Author.ADMIN: {"append": Forbidden, "import": Forbidden},
    Author.LEDGER: {"append": InvalidEvent, "import": InvalidEvent, "admin": InvalidEvent},
    Author.IMPORTER: {"append": InvalidEvent},
    Author.OBSERVER: {"append": Forbidden},
}
"""For each author and each scope of a caller: the error; none, if the caller may append it."""


def caller(scope: str, review: str = "any") -> Principal:
    return Principal("watcher", source_of("watcher"), frozenset({"append", scope}), review=review)  # type: ignore[arg-type]


def refusal(draft: Draft, caller: Principal) -> type[TallystickError] | None:
    try:
        check_author(draft, caller, 0)
    except TallystickError as error:
        return type(error)
    return None


@pytest.mark.parametrize("name", sorted(VOCABULARY.event_types))
@pytest.mark.parametrize("scope", ["append", "import", "admin"])
def test_a_caller_appends_what_the_type_says(name: str, scope: str) -> None:
    kind = VOCABULARY.event_types[name]
    expected = REFUSED.get(kind.by, {}).get(scope)
    assert refusal(VOCABULARY.draft_of(SAMPLES[name]), caller(scope)) is expected
    reviews = kind.by in (Author.FIRST, Author.REVIEWER)
    assert (refusal(VOCABULARY.draft_of(SAMPLES[name]), caller(scope, "none")) is Forbidden) == (
        reviews or expected is Forbidden
    )


@pytest.mark.parametrize("name", ["evidence.stored.v1", "evidence.erased.v1", "guardrail.evaluated.v1"])
def test_what_the_ledger_makes_no_decoder_makes(name: str) -> None:
    own = VOCABULARY.event_types[name].own_draft(data=SAMPLES[name])
    assert refusal(own, caller("append")) is None
    assert not type(VOCABULARY.draft_of(SAMPLES[name])).by_ledger
