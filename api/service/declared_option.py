"""Declare the options of a command as fields of a struct: each is `Annotated` with one of these."""

from typing import Any

from msgspec import Meta


def option(
    text: str,
    metavar: str | None = None,
    *,
    name: str | None = None,
    ge: float | None = None,
    le: float | None = None,
    **settings: Any,  # noqa: ANN401 - as `typer.Option`
) -> Meta:
    """Return an option: its help, its value in words, its name if not that of the field, bounds, settings of Typer."""
    names = () if name is None else (name,)
    settings |= {} if metavar is None else {"metavar": metavar}
    return Meta(description=text, ge=ge, le=le, extra={"names": names, **settings})


def argument(text: str, metavar: str) -> Meta:
    """Return an argument: its help, and its name in the usage."""
    return Meta(description=text, extra={"metavar": metavar})
