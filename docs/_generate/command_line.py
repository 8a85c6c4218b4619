"""The reference of the command line, from Typer's own description of every verb."""

import re
from collections.abc import Iterator
from typing import Any

from docs._generate.markdown import block, code, joined, prose, table
from docs._generate.program import Verb, command, verbs

_words = {"int": "NUMBER", "int range": "NUMBER", "float": "NUMBER", "float range": "NUMBER", "path": "PATH"}
_example = re.compile(r"^(?:Examples?|Example): *(.*)$")


def overview() -> str:
    """Return a table of every verb with the first sentence of its help."""
    return table(["verb", "what it does"], ([_link(verb.name), prose(_first(verb))] for verb in verbs()))


def reference() -> str:
    """Return every verb: its usage, its help, its arguments and options."""
    return joined([_common(), *(_verb(verb) for verb in verbs())])


def variables() -> dict[str, str]:
    """Return the environment variables that options read: the name, and the option's help."""
    found: dict[str, str] = {}
    for parameter in [*command().params, *(each for verb in verbs() for each in verb.command.params)]:
        for name in variables_of(parameter):
            found.setdefault(name, parameter.help or "")
    return found


def _link(name: str) -> str:
    return f"[`{name}`](#{name.replace(' ', '-')})"


def _first(verb: Verb) -> str:
    return next(iter((verb.command.help or "").strip().splitlines()), "")


def _common() -> str:
    options = table(_heads("option"), _rows(command().params))
    return joined(["### Options before the verb", options])


def _verb(verb: Verb) -> str:
    arguments, options = parameters_of(verb)
    return joined(
        [
            f"### `{verb.name}`",
            block("text", " ".join(usage_of(verb))),
            *_help(verb.command.help or ""),
            table(_heads("argument"), _rows(arguments)),
            table(_heads("option"), _rows(options)),
        ]
    )


def parameters_of(verb: Verb) -> tuple[list[Any], list[Any]]:
    """Return a verb's arguments, and its options."""
    arguments = [each for each in verb.command.params if not each.opts[0].startswith("-")]
    return arguments, [each for each in verb.command.params if each.opts[0].startswith("-")]


def usage_of(verb: Verb) -> Iterator[str]:
    """Yield the words of a verb's usage: its name, required options, arguments."""
    arguments, options = parameters_of(verb)
    yield verb.name
    for option in options:
        if option.required:
            yield f"{option.opts[0]} {value_of(option)}"
    yield "[OPTIONS]"
    for argument in arguments:
        name = value_of(argument)
        many = "..." if argument.nargs == -1 else ""
        yield f"{name}{many}" if argument.required else f"[{name}]{many}"


def _help(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; an example is a block of its own."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        example = _example.match(" ".join(paragraph.split()))
        yield block("text", example[1]) if example else prose(paragraph)


def _heads(kind: str) -> list[str]:
    return [kind, "value", "what it does"]


def _rows(parameters: list[Any]) -> Iterator[list[str]]:
    for parameter in parameters:
        if getattr(parameter, "hidden", False):
            continue
        names = [*parameter.opts, *parameter.secondary_opts] if parameter.opts[0].startswith("-") else []
        shown = ", ".join(map(code, names)) or code(value_of(parameter))
        flag = getattr(parameter, "is_bool_flag", False)
        yield [shown, "" if flag or not names else code(value_of(parameter)), " ".join(_description(parameter))]


def _description(parameter: Any) -> Iterator[str]:  # noqa: ANN401 - Typer names no public type for it
    yield prose(parameter.help or "")
    if parameter.required:
        yield "Required."
    default = parameter.default
    if default is True:
        yield "On by default."
    elif default not in (None, False, ()) and not callable(default):
        yield f"Default: {code(str(default))}."
    if getattr(parameter, "multiple", False):
        yield "May be given several times."
    if names := variables_of(parameter):
        yield f"Environment: {', '.join(map(code, names))}."


def variables_of(parameter: Any) -> list[str]:  # noqa: ANN401 - as `_description`
    """Return the environment variables that an option reads."""
    named = parameter.envvar or []
    return [named] if isinstance(named, str) else list(named)


def value_of(parameter: Any) -> str:  # noqa: ANN401 - as `_description`
    """Return the word that represents an option's value."""
    if parameter.metavar:
        return str(parameter.metavar)
    if not parameter.opts[0].startswith("-"):
        return str(parameter.name).upper()
    return _words.get(parameter.type.name, "TEXT")
