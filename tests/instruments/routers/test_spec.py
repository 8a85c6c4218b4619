"""What a person types for a router: two forms, and every way to get them wrong."""

import pytest

from events.errors import InvalidQuery
from instruments.routers import FORMS, parse_router

SECRET = "s3cr3t-value"


def bad(spec: str, **options: object) -> InvalidQuery:
    with pytest.raises(InvalidQuery) as caught:
        parse_router(spec, **{"environment": {}, **options})  # type: ignore[arg-type]
    assert SECRET not in f"{caught.value.field} {caught.value.detail} {caught.value.advice}"
    return caught.value


@pytest.mark.parametrize(
    ("spec", "detail"),
    [
        ("", "must begin with command: or openai:."),
        ("cat", "must begin with command: or openai:."),
        (f"http://user:{SECRET}@host/v1", "must begin with command: or openai:."),
        ("COMMAND:cat", "must begin with command: or openai:."),
        ("command:", "names no program."),
        ("command:   ", "names no program."),
        ("command:'' x", "names no program."),
        (f"command:cat '{SECRET}", "cannot be split into words: no closing quotation."),
        ("command:cat \\", "cannot be split into words: no escaped character."),
        ("command:cat a\0b", "has a NUL character, which no program accepts as an argument."),
        ("openai:", "gives openai: an invalid server address."),
        ("openai:host/v1", "gives openai: an invalid server address."),
        (f"openai:ftp://user:{SECRET}@host", "gives openai: an invalid server address."),
        (f"openai:http://user:{SECRET}@/v1", "gives openai: an invalid server address."),
        (f"openai:https://host:port/{SECRET}", "gives openai: an invalid server address."),
        ("openai:https://ho st/", "gives openai: an invalid server address."),
        ("openai:https://host:99999/", "gives openai: an invalid server address."),
    ],
)
def test_what_is_no_router_shows_the_two_forms(spec: str, detail: str) -> None:
    error = bad(spec)
    assert (error.field, error.cause, error.advice) == ("router", detail, FORMS)
    assert "command:" in FORMS
    assert "openai:" in FORMS


def test_a_program_that_is_not_there_is_reported_before_anything_begins() -> None:
    assert bad("command:no-such-program-anywhere --x").cause.startswith("'no-such-program-anywhere' cannot be found")


@pytest.mark.parametrize(
    ("header", "detail"),
    [
        (SECRET, "the first is not a header."),
        (f": {SECRET}", "the first is not a header."),
        (f"A B: {SECRET}", "the first is not a header."),
        (f"X-Key: {SECRET}\nX-More: y", "'X-Key' has characters that a header cannot contain."),
        (f"X-Key: {SECRET}é", "'X-Key' has characters that a header cannot contain."),
        ("X-Key: env:NOT_SET", "the environment variable 'NOT_SET' is not set."),
    ],
)
def test_headers_that_are_none(header: str, detail: str) -> None:
    error = bad("openai:https://host/v1", headers=[header])
    assert (error.field, error.cause) == ("header", detail)


def test_keys_that_are_none() -> None:
    assert bad("openai:https://host/v1", key_env="NOT_SET").field == "key_env"
    broken = {"KEY": f"{SECRET}\nx"}
    assert bad("openai:https://host/v1", key_env="KEY", environment=broken).cause == (
        "the key in KEY has characters that a header cannot contain."
    )


def test_a_program_takes_no_key_and_no_header() -> None:
    assert bad("command:cat", key_env="KEY").cause == "applies to openai: only."
    assert bad("command:cat", headers=["A: b"]).cause == "applies to openai: only."


def test_names_fit_an_event() -> None:
    assert bad("command:cat", name="").field == "router_name"
    assert bad("command:cat", name="n" * 257).field == "router_name"
    assert bad("openai:https://host/v1", model="").field == "model"
    assert bad("command:cat", name="\udcff").field == "router_name"
    assert bad("command:cat", model="a\x1bb").field == "model"
    long = f"openai:https://host/{'x' * 300}"
    assert bad(long).advice == "Name it with --router-name."
    assert parse_router(long, environment={}, name="far").name == "far"


def test_names_have_no_secret() -> None:
    for address in (
        "https://me:pw@host:8443/v1/",
        "https://host:8443/v1?key=k#f",
        "https://host:8443/v1/chat/completions",
    ):
        assert parse_router(f"openai:{address}", environment={}).name == "openai:https://host:8443/v1"
    assert parse_router("openai:https://host", environment={}).name == "openai:https://host"


def test_an_endpoint_chooses_where_no_model_is_named() -> None:
    assert parse_router("openai:https://host", environment={}).model == "auto"
    assert parse_router("command:cat", environment={}).model is None
    assert parse_router("command:cat", environment={}, model="auto").model == "auto"
