"""Make the options of a verb from the parameters of an operation."""

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from typing import Annotated, Any

import typer
from msgspec import Struct

from api.cli.options import complete_words
from api.parameters import Parameter, named, parse_params

PREFIX = "prefix"
"""This parameter is always true here: an id may be given by its beginning."""

_METAVARS: Mapping[object, str] = {"time": "TIME", "integer": "N", "number": "NUMBER"}


def with_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a verb that takes the parameters of an operation as options, instead of as the struct `params`.

    A required parameter is an argument. Errors: InvalidQuery, for a wrong text.
    """
    params: type[Struct] = function.__annotations__["params"]
    declared = named(params)

    @wraps(function)
    def run(target: object, **options: Any) -> None:  # noqa: ANN401 - options of any type
        texts = {
            name: "true" if value is True else value
            for name in declared
            if (value := options.pop(name, None)) not in (None, False)
        }
        if PREFIX in declared:
            texts[PREFIX] = "true"
        function(target, params=parse_params(params, texts), **options)

    first, *own = inspect.signature(function).parameters.values()
    made = [_option(each, declared) for each in declared.values() if each.name != PREFIX]
    options = sorted(made, key=lambda option: option.default is not option.empty)
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [first, *options, *(each.replace(kind=each.KEYWORD_ONLY) for each in own if each.name != "params")]
    )
    return run


def _option(parameter: Parameter[Any], declared: Collection[str]) -> inspect.Parameter:
    default = inspect.Parameter.empty if parameter.required else False if _is_flag(parameter) else None
    return inspect.Parameter(
        parameter.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=_annotation(parameter, declared)
    )


def _kind(schema: Mapping[str, Any]) -> object:
    return "time" if "anyOf" in schema else schema.get("type")


def _is_flag(parameter: Parameter[Any]) -> bool:
    return parameter.schema.get("type") == "boolean"


def _help(text: str, declared: Collection[str]) -> str:
    """Return the description of a parameter, with the names of others as options."""

    def name(found: re.Match[str]) -> str:
        word = found[1]
        return f"--{word.replace('_', '-')}" if word in declared or word == "as_of" else word

    return re.sub(r"`(\w+)`", name, text).replace("[", "\\[")


def _annotation(parameter: Parameter[Any], declared: Collection[str]) -> Any:  # noqa: ANN401 - a type for Typer
    text = _help(parameter.description, declared)
    if parameter.required and not parameter.is_option:
        text = f"{text.rstrip('.')}, or an unambiguous beginning of it." if PREFIX in declared else text
        return Annotated[str, typer.Argument(help=text, metavar=parameter.name.removesuffix("_id").upper())]
    if _is_flag(parameter):
        return Annotated[bool, typer.Option(f"--{parameter.name.replace('_', '-')}", help=text)]
    if parameter.default not in (None, ()):
        text = f"{text}  \\[default: {parameter.default}]"
    schema: Mapping[str, Any] = parameter.schema
    separator = "," if schema.get("type") == "array" else None
    choices = schema.get("items", schema).get("enum", ())
    words = [str(word) for word in choices if word and word not in parameter.aliases]
    kind: Any = str if parameter.required else str | None
    if not words:
        return Annotated[kind, typer.Option(help=text, metavar=_METAVARS.get(_kind(schema), "TEXT"))]
    metavar = f"[{'|'.join(words)}]{'' if separator is None else f'{separator}...'}"
    return Annotated[
        str | None, typer.Option(help=text, metavar=metavar, autocompletion=complete_words(words, separator))
    ]
