"""The manual page tallystick(1), from the program's own help, in the mdoc language of mandoc(1).

`python -m docs._generate.manual_page` writes it. The wheel contains it, and a test compares it with the program.
"""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs._generate.command_line import parameters_of, usage_of, value_of, variables, variables_of
from docs._generate.program import Verb, command, verbs

PAGE = Path(__file__).parent.parent / "tallystick.1"
DATED = "November 26, 2026"
WIDTH = 76
"""Characters of a line of the source; the page is laid out when it is shown."""

ALONE = ("--version", "--install-completion", "--show-completion")

HEAD = f"""\
.Dd {DATED}
.Dt TALLYSTICK 1
.Os
.Sh NAME
.Nm tallystick
.Nd a ledger for AI agents
.Sh SYNOPSIS
.Nm
.Op Ar options
.Ar verb
.Op Ar options
.Op Ar arguments
.Nm
.Fl h | \\-help | \\-version | \\-install-completion | \\-show-completion
.Sh DESCRIPTION"""

ABOUT = """
A ledger for AI agents: what they decided, how confident they were, how it turned out, and the proof. Every record is an
event in one append-only log, and every figure is computed from that log.

`tallystick serve` runs the server. The other verbs work on a ledger file, in the folder where they are called if
nothing else is said, or ask a server with --url. Each verb has --help.
"""

FILES = {
    "tallystick.db": "The ledger, unless --ledger or TALLYSTICK_LEDGER names another one. Its other files are beside "
    "it and begin with its name.",
    "tallystick.db.key": "The private key that signs checkpoints.",
    "tallystick.db.evidence/": "Stored evidence. It is part of the ledger.",
}

EXIT_STATUS = {
    "0": "Done.",
    "1": "The answer is no, or the command could not be completed now.",
    "2": "Wrong usage or unusable input; for `eval run` and `eval gate`, nothing can be judged.",
    "130": "Interrupted by Ctrl-C.",
}

EXAMPLES = {
    "Serve a ledger on http://127.0.0.1:8321:": "tallystick --ledger work.db serve",
    "Record a decision, and later how it turned out:": (
        "tallystick record 'Retry the upload' --agent scout --confidence 0.8 --id d1\n"
        "tallystick review d1 --outcome success"
    ),
    "Ask whether an agent is as good as it thinks it is:": "tallystick calibration --agent scout",
    "Verify the whole ledger:": "tallystick verify",
}

_example = re.compile(r"^Examples?: *(.*)$")


def manual_page() -> str:
    """Return the page as mdoc source."""
    return "\n".join([*_lines(), ""])


def _lines() -> Iterator[str]:
    yield HEAD
    yield from _paragraphs(ABOUT)
    yield ".Sh OPTIONS"
    yield "Every verb accepts these options, before the verb or after it:"
    yield from _parameters([each for each in command().params if each.opts[0] not in ALONE])
    yield ".Pp"
    yield "These are used without a verb:"
    yield from _parameters([each for each in command().params if each.opts[0] in ALONE])
    yield ".Sh VERBS"
    for verb in verbs():
        yield from _verb(verb)
    yield ".Sh ENVIRONMENT"
    yield from _list(dict(sorted(variables().items())))
    yield ".Sh FILES"
    yield from _list(FILES)
    yield ".Sh EXIT STATUS"
    yield from _list(EXIT_STATUS)
    yield ".Sh EXAMPLES"
    for number, (purpose, words) in enumerate(EXAMPLES.items()):
        yield from [".Pp"] * (number > 0)
        yield _escaped(purpose)
        yield from _display(words)


def _verb(verb: Verb) -> Iterator[str]:
    yield f".Ss {_escaped(verb.name.removeprefix('tallystick '))}"
    yield from _display(" ".join(usage_of(verb)))
    yield from _paragraphs(verb.command.help or "", first=False)
    common = {name for each in command().params if each.opts[0] not in ALONE for name in each.opts}
    arguments, options = parameters_of(verb)
    yield from _parameters([*arguments, *(each for each in options if not common.issuperset(each.opts))])


def _paragraphs(text: str, *, first: bool = True) -> Iterator[str]:
    """Yield the paragraphs of a help text; an example is shown as it is typed."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text.strip())):
        example = _example.match(" ".join(paragraph.split()))
        if example:
            yield ".Pp"
            yield "Example:"
            yield from _display(example[1])
        elif paragraph.strip():
            yield from [".Pp"] * (number > 0 or not first)
            yield from _prose(paragraph)


def _parameters(parameters: list[Any]) -> Iterator[str]:
    rows = {}
    for parameter in parameters:
        if getattr(parameter, "hidden", False):
            continue
        names = [*parameter.opts, *parameter.secondary_opts] if parameter.opts[0].startswith("-") else []
        value = "" if names and getattr(parameter, "is_bool_flag", False) else value_of(parameter)
        rows[", ".join(names) + " " * bool(names and value) + value] = " ".join(_description(parameter))
    if rows:
        yield from _list(rows)


def _description(parameter: Any) -> Iterator[str]:  # noqa: ANN401 - Typer names no public type for it
    yield parameter.help or ""
    if parameter.required:
        yield "Required."
    if names := variables_of(parameter):
        yield f"Environment: {', '.join(names)}."


def _list(rows: dict[str, str]) -> Iterator[str]:
    yield ".Bl -tag -width Ds"
    for name, text in rows.items():
        yield f".It {_bold(name)}"
        yield from _prose(text)
    yield ".El"


def _display(words: str) -> Iterator[str]:
    yield ".Bd -literal -offset indent"
    yield from map(_escaped, words.splitlines())
    yield ".Ed"


def _prose(text: str) -> Iterator[str]:
    """Yield each sentence on a line of its own, as mandoc asks, broken where it is long."""
    for sentence in re.split(r"(?<=[.!?])\s+", " ".join(text.replace("\\[", "[").split())):
        for line in textwrap.wrap(_escaped(sentence), WIDTH, break_long_words=False, break_on_hyphens=False):
            yield rf"\&{line}" if line[0] in ".'" else line


def _bold(text: str) -> str:
    return " ".join(rf"\fB{_escaped(word)}\fR" for word in text.split())


def _escaped(text: str) -> str:
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("`", "")
    return rf"\&{plain}" if plain[:1] in (".", "'") else plain


if __name__ == "__main__":
    PAGE.write_text(manual_page(), encoding="utf-8")
