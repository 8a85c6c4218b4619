"""Make the options of a verb from the struct that declares them (`api/service/declared_option.py`).

A field that is a struct declares options of its own, whose names begin with the field's.
"""

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from msgspec import Meta, Struct, structs

from api.cli.options import choice


def with_struct_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a verb that takes the options of the struct `options`, instead of the struct."""
    shape: type[Struct] = function.__annotations__["options"]

    @wraps(function)
    def run(target: object, **values: Any) -> None:  # noqa: ANN401 - options of any type
        function(target, options=_build(shape, "", values), **values)

    first, *own = inspect.signature(function).parameters.values()
    others = [each.replace(kind=each.KEYWORD_ONLY) for each in own if each.name != "options"]
    run.__signature__ = inspect.Signature([first, *_parameters(shape, ""), *others])  # type: ignore[attr-defined]
    return run


def _parameters(shape: type[Struct], prefix: str) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(shape, include_extras=True)
    for field in structs.fields(shape):
        name, hint = f"{prefix}{field.name}", hints[field.name]
        if _is_struct(hint):
            yield from _parameters(hint, f"{name}_")
            continue
        default = inspect.Parameter.empty if field.required else None if field.default == () else field.default
        annotation = _annotation(*get_args(hint))
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _annotation(kind: Any, meta: Meta) -> Any:  # noqa: ANN401 - types for Typer
    settings = dict(meta.extra or {})
    names, text = settings.pop("names", None), meta.description or ""
    if names is None:
        return Annotated[kind, typer.Argument(help=text, **settings)]
    words = next((get_args(each) for each in (kind, *get_args(kind)) if get_origin(each) is Literal), ())
    if words:
        return Annotated[str | None, choice(text, words, *names, **settings)]
    if get_origin(kind) is tuple:
        kind = list[str] | None
    return Annotated[kind, typer.Option(*names, help=text, min=meta.ge, max=meta.le, **settings)]


def _build(shape: type[Struct], prefix: str, values: dict[str, Any]) -> Struct:
    """Return the struct with the values that were given, which are removed from `values`."""
    fields: dict[str, Any] = {}
    hints = get_type_hints(shape)
    for name in shape.__struct_fields__:
        if _is_struct(hints[name]):
            fields[name] = _build(hints[name], f"{prefix}{name}_", values)
        elif (value := values.pop(f"{prefix}{name}")) is not None:
            fields[name] = tuple(value) if isinstance(value, list) else value
    return shape(**fields)


def _is_struct(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, Struct)
