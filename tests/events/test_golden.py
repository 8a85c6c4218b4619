"""The bytes of each published type never change."""

from collections.abc import Iterator

import msgspec
import pytest

from events.payload import Payload
from events.registry import VOCABULARY
from tests.events.samples import SAMPLES, line_of
from tests.golden import FOLDER, path_of


def test_every_type_has_a_golden_file_and_no_file_lacks_its_type() -> None:
    found = {path.name.removesuffix(".json") for path in FOLDER.glob("*.json")}
    missing, orphaned = set(VOCABULARY.type_names) - found, found - set(VOCABULARY.type_names)
    assert not missing, (
        f"{sorted(missing)} have no file in tests/golden/: add a payload to tests/events/samples.py, every field "
        "filled, and run `python -m tests.golden`"
    )
    assert not orphaned, f"{sorted(orphaned)} were published and are permanent: keep them in VOCABULARY"


def test_every_type_has_a_sample() -> None:
    assert set(SAMPLES) == set(VOCABULARY.type_names), "tests/events/samples.py holds one payload for each type"


@pytest.mark.parametrize("type_", VOCABULARY.type_names)
def test_encoding_gives_the_golden_bytes(type_: str) -> None:
    assert line_of(type_, SAMPLES[type_]) + b"\n" == path_of(type_).read_bytes(), (
        "published bytes are permanent: make a .v2 with an upcaster, and leave the file as it is"
    )


@pytest.mark.parametrize("type_", VOCABULARY.type_names)
def test_decoding_the_golden_bytes_gives_it_back(type_: str) -> None:
    event = VOCABULARY.stored(path_of(type_).read_bytes())
    assert event.data == SAMPLES[type_]
    assert (event.name, event.position, event.streamversion) == (type_, 42, 3)
    assert (event.agent, event.subject.partition("/")[0]) == ("claude", VOCABULARY.event_types[type_].stream)
    assert (event.correlationid, event.causationid is not None) == ("order-66", True)
    assert event.recordedtime == "2026-11-21T08:30:00.250000Z"
    assert event.moment.isoformat() == "2026-11-21T08:30:00.000001+00:00"


def unfilled(value: object, path: str) -> Iterator[str]:
    """Yield the path of every empty field under a value."""
    if value is None or value in ((), {}, ""):
        yield path
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from unfilled(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from unfilled(item, f"{path}[{index}]")


@pytest.mark.parametrize(("type_", "payload"), SAMPLES.items(), ids=SAMPLES.keys())
def test_every_field_of_a_sample_is_filled(type_: str, payload: Payload) -> None:
    assert list(unfilled(payload, type_)) == []
