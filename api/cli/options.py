"""Declare options and arguments of verbs, those that take words from a fixed list, and those that several share."""

from collections.abc import Callable, Collection
from typing import Annotated, Any

import typer

OUTCOMES = ("success", "partial", "failure", "abandoned")
STAKES = ("low", "medium", "high", "critical")
ORDERS = ("asc", "desc")


def option(text: str, metavar: str | None = None, *names: str, **settings: Any) -> Any:  # noqa: ANN401 - as `typer.Option`
    """Return an option that takes a value. It has the name of its parameter, or `names`; `text` is its help."""
    return typer.Option(*names, help=text, metavar=metavar, **settings)


def flag(name: str, text: str) -> Any:  # noqa: ANN401 - as `typer.Option`
    """Return an option without a value."""
    return typer.Option(name, help=text)


def argument(text: str, metavar: str | None = None, **settings: Any) -> Any:  # noqa: ANN401 - as `typer.Argument`
    """Return an argument; `text` is its help."""
    return typer.Argument(help=text, metavar=metavar, **settings)


def choice(
    help: str,  # noqa: A002 - as Typer names it
    words: Collection[str],
    *names: str,
    also: Collection[str] = (),
    separator: str | None = None,
    **settings: Any,  # noqa: ANN401 - settings of `typer.Option`
) -> Any:  # noqa: ANN401 - as `typer.Option`
    """Return an option that takes one of some words, or with a separator several of them. Completion offers them.

    Values in `also` are accepted but not shown. Any other value is refused with exit code 2.
    """
    check, complete = _check_words(words, also, separator), complete_words(words, separator)
    settings.setdefault("metavar", f"[{'|'.join(words)}]{'' if separator is None else f'{separator}...'}")
    return typer.Option(*names, help=help, callback=check, autocompletion=complete, **settings)


def choice_argument(help: str, words: Collection[str], metavar: str) -> Any:  # noqa: A002, ANN401 - as `choice`
    """Return an argument that takes one of some words."""
    check, complete = _check_words(words, (), None), complete_words(words, None)
    return typer.Argument(help=help, metavar=metavar, callback=check, autocompletion=complete)


def _check_words(
    words: Collection[str], also: Collection[str], separator: str | None
) -> Callable[[typer.CallbackParam, Any], Any]:
    def check(parameter: typer.CallbackParam, value: Any) -> Any:  # noqa: ANN401 - a word or a list of them
        if value is None:
            return None
        for text in value if isinstance(value, list | tuple) else [value]:
            for word in [text] if separator is None else text.split(separator):
                if word not in words and word not in also:
                    _refuse_word(parameter, word, words)
        return value

    return check


def _refuse_word(parameter: typer.CallbackParam, word: str, words: Collection[str]) -> None:
    from ledger.errors import InvalidQuery

    name = parameter.opts[0].lstrip("-").replace("-", "_")
    raise InvalidQuery(name, f"{word!r} is not one of the choices.", f"Choose one of {', '.join(words)}.")


def complete_words(words: Collection[str], separator: str | None) -> Callable[[str], list[str]]:
    """Return the function that completes one of some words, or with a separator the last of several."""

    def complete(incomplete: str) -> list[str]:
        before, separator_text, last_word = (
            incomplete.rpartition(separator) if separator is not None else ("", "", incomplete)
        )
        return [f"{before}{separator_text}{word}" for word in words if word.startswith(last_word)]

    return complete


EventIdOption = Annotated[str | None, option("The event's id. Repeating the command with it adds nothing.", "ID")]
DryRun = Annotated[bool, flag("--dry-run", "Print what would be imported, and write nothing.")]
AsOf = Annotated[str | None, option("Answer as of this position or time.", "POSITION|TIME")]
Category = Annotated[str | None, option("Only this category.")]
Stakes = Annotated[str | None, choice("Only these stakes.", STAKES)]
Project = Annotated[str | None, option("Only this project.")]
Feature = Annotated[str | None, option("Only this feature.")]


def given(**parameters: str | None) -> dict[str, str]:
    """Return the parameters that are not None; their names are those that HTTP uses."""
    return {name: value for name, value in parameters.items() if value is not None}
