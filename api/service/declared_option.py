"""Declare the options of a command as fields of a struct: each is `Annotated` with one of these."""

from typing import Any

from msgspec import Meta


def option(text: str, *names: str, ge: float | None = None, le: float | None = None, **settings: Any) -> Meta:  # noqa: ANN401 - as `typer.Option`
    """Return an option: its help, its names if they are not that of the field, bounds, and settings of Typer."""
    return Meta(description=text, ge=ge, le=le, extra={"names": names, **settings})


def argument(text: str, metavar: str) -> Meta:
    """Return an argument: its help, and its name in the usage."""
    return Meta(description=text, extra={"metavar": metavar})
