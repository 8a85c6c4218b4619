"""From what a person types to a router: `command:CMD` or `openai:BASE_URL`."""

from collections.abc import Mapping, Sequence

import httpx

from events.limits import LABEL_CHARS_MAX
from instruments.routers.command import CommandRouter
from instruments.routers.openai import OpenAIRouter
from instruments.routers.router import Router
from instruments.routers.subprocess_io import BadCommand, words_of

FORMS = (
    "Write --router 'command:PROGRAM ARGUMENTS' (the prompt on its standard input, the answer on its standard output) "
    "or --router openai:https://HOST/v1 (an OpenAI-compatible chat endpoint)."
)

HEADER = "Write --header 'Name: value', or 'Name: env:VAR' for the value of a variable."

KEY_ENV = "OPENAI_API_KEY"
MODEL = "auto"
"""The model an endpoint is asked for where none is named: it is to choose."""


PORT_MAX = 65_535


class BadRouter(ValueError):
    """A router that cannot be one; `field` names the option, and no secret stands in it."""

    def __init__(self, field: str, detail: str, advice: str = FORMS) -> None:
        super().__init__(detail)
        self.field = field
        self.detail = detail
        self.advice = advice


def router_of(
    spec: str,
    *,
    environment: Mapping[str, str],
    model: str | None = None,
    key_env: str | None = None,
    headers: Sequence[str] = (),
    name: str | None = None,
) -> Router:
    """The router that a specification names. Errors: BadRouter."""
    for field, value in (("router_name", name), ("model", model)):
        if value is not None and not (0 < len(value) <= LABEL_CHARS_MAX and value.isprintable()):
            raise BadRouter(field, "is empty, too long, or not printable.", f"Give 1 to {LABEL_CHARS_MAX} characters.")
    scheme, colon, rest = spec.partition(":")
    if not colon or scheme not in {"command", "openai"}:
        raise BadRouter("router", "begins with neither command: nor openai:.")
    if scheme == "openai":
        return _openai(rest, environment, model, key_env, headers, name)
    for field, given in (("key_env", key_env), ("header", headers)):
        if given:
            raise BadRouter(field, "is for openai: alone.", "A program takes its keys from its environment.")
    return _command(rest, model, name)


def _command(line: str, model: str | None, name: str | None) -> Router:
    try:
        words = words_of(line)
    except BadCommand as error:
        raise BadRouter("router", error.detail, error.advice or FORMS) from None
    return _named(CommandRouter(words, model=model, name=name))


def _openai(
    address: str,
    environment: Mapping[str, str],
    model: str | None,
    key_env: str | None,
    headers: Sequence[str],
    name: str | None,
) -> Router:
    try:
        base = httpx.URL(address)
    except httpx.InvalidURL:
        base = httpx.URL()
    if base.scheme not in {"http", "https"} or not base.host or "%" in base.host or (base.port or 0) > PORT_MAX:
        raise BadRouter("router", "gives openai: no address of a server.")
    given = dict(_header(number, text, environment) for number, text in enumerate(headers, 1))
    authorised = base.userinfo or any(field.lower() == "authorization" for field in given)
    if key_env is not None:
        key = _variable("key_env", key_env, environment)
    else:
        key = "" if authorised else environment.get(KEY_ENV, "").strip()
    if key and not _sendable(key):
        raise BadRouter("key_env", f"the key in {key_env or KEY_ENV} has characters that no header can have.", "")
    return _named(OpenAIRouter(base, model=model or MODEL, key=key or None, headers=given, name=name))


def _named(router: Router) -> Router:
    if len(router.name) > LABEL_CHARS_MAX or not router.name.isprintable():
        raise BadRouter("router", "is too long or too odd to name the router by.", "Name it with --router-name.")
    return router


def _header(number: int, text: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """Name and value of a header; `env:VAR` as value is that variable's."""
    field, colon, value = text.partition(":")
    field, value = field.strip(), value.strip()
    if not colon or not field or not all(letter.isalnum() or letter in "!#$%&'*+-.^_`|~" for letter in field):
        raise BadRouter(
            "header", f"the {_nth(number)} is no header.", "Write --header 'Name: value' or 'Name: env:VAR'."
        )
    if value.startswith("env:"):
        value = _variable("header", value.removeprefix("env:"), environment)
    if not field.isascii() or not _sendable(value):
        raise BadRouter("header", f"{field!r} has characters that no header can have.", "")
    return field, value


def _variable(field: str, name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name, "").strip()
    if not value:
        raise BadRouter(field, f"the environment variable {name!r} is not set.", "Set it, or name another.")
    return value


def _sendable(value: str) -> bool:
    return value.isascii() and value.isprintable()


def _nth(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")
