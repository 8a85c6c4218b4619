"""Parse a router specification: `command:CMD` or `openai:BASE_URL`."""

from collections.abc import Mapping, Sequence

from events.errors import InvalidQuery
from events.limits import LABEL_CHARS_MAX
from instruments.routers.bounded_process import split_command
from instruments.routers.command import CommandRouter
from instruments.routers.http_endpoint import parse_address
from instruments.routers.openai import OpenAIRouter
from instruments.routers.router import Router

FORMS = (
    "Write --router 'command:PROGRAM ARGUMENTS' (the prompt on its standard input, the answer on its standard output) "
    "or --router openai:https://HOST/v1 (an OpenAI-compatible chat endpoint)."
)

KEY_ENV = "OPENAI_API_KEY"
MODEL_DEFAULT = "auto"
"""The model to request by default: the endpoint chooses."""


def parse_router(
    spec: str,
    *,
    environment: Mapping[str, str],
    model: str | None = None,
    key_env: str | None = None,
    headers: Sequence[str] = (),
    name: str | None = None,
) -> Router:
    """Build the router that a specification describes. Errors: InvalidQuery, without secrets, naming the option."""
    for field, value in (("router_name", name), ("model", model)):
        if value is not None and not (0 < len(value) <= LABEL_CHARS_MAX and value.isprintable()):
            raise InvalidQuery(
                field, "is empty, too long, or not printable.", f"Give 1 to {LABEL_CHARS_MAX} characters."
            )
    scheme, colon, rest = spec.partition(":")
    if not colon or scheme not in {"command", "openai"}:
        raise InvalidQuery("router", "must begin with command: or openai:.", FORMS)
    if scheme == "openai":
        return _openai_router(rest, environment, model, key_env, headers, name)
    for field, option in (("key_env", key_env), ("header", headers)):
        if option:
            raise InvalidQuery(field, "applies to openai: only.", "A program takes its keys from its environment.")
    return _command_router(rest, model, name)


def _command_router(line: str, model: str | None, name: str | None) -> Router:
    return _check_name(CommandRouter(split_command(line, "router", FORMS), model=model, name=name))


def _openai_router(
    address: str,
    environment: Mapping[str, str],
    model: str | None,
    key_env: str | None,
    headers: Sequence[str],
    name: str | None,
) -> Router:
    base = parse_address(address)
    if base is None:
        raise InvalidQuery("router", "gives openai: an invalid server address.", FORMS)
    parsed_headers = dict(_parse_header(number, text, environment) for number, text in enumerate(headers, 1))
    authorised = base.userinfo or any(field.lower() == "authorization" for field in parsed_headers)
    if key_env is not None:
        key = _read_variable("key_env", key_env, environment)
    else:
        key = "" if authorised else environment.get(KEY_ENV, "").strip()
    if key and not _is_header_value(key):
        raise InvalidQuery("key_env", f"the key in {key_env or KEY_ENV} has characters that a header cannot contain.")
    return _check_name(
        OpenAIRouter(base, model=model or MODEL_DEFAULT, key=key or None, headers=parsed_headers, name=name)
    )


def _check_name(router: Router) -> Router:
    if len(router.name) > LABEL_CHARS_MAX or not router.name.isprintable():
        raise InvalidQuery("router", "is too long or too odd to name the router by.", "Name it with --router-name.")
    return router


def _parse_header(number: int, text: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """Return name and value of a header; a value `env:VAR` is read from that variable."""
    field, colon, value = text.partition(":")
    field, value = field.strip(), value.strip()
    if not colon or not field or not all(letter.isalnum() or letter in "!#$%&'*+-.^_`|~" for letter in field):
        raise InvalidQuery(
            "header", f"the {_ordinal(number)} is not a header.", "Write --header 'Name: value' or 'Name: env:VAR'."
        )
    if value.startswith("env:"):
        value = _read_variable("header", value.removeprefix("env:"), environment)
    if not field.isascii() or not _is_header_value(value):
        raise InvalidQuery("header", f"{field!r} has characters that a header cannot contain.")
    return field, value


def _read_variable(field: str, name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name, "").strip()
    if not value:
        raise InvalidQuery(field, f"the environment variable {name!r} is not set.", "Set it, or name another.")
    return value


def _is_header_value(value: str) -> bool:
    return value.isascii() and value.isprintable()


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")
