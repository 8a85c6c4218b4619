"""Run a function of a Python program on given arguments, inside the sandbox.

The program shares this process, so it can write any result that it likes. It cannot know the right ones: they are not
here.
"""

import contextlib
import importlib
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

MODULES = frozenset(
    {
        "__future__", "abc", "argparse", "array", "bisect", "calendar", "cmath", "codecs", "collections",
        "collections.abc", "contextlib", "copy", "csv", "dataclasses", "datetime", "decimal", "difflib", "doctest",
        "enum", "fractions", "functools", "hashlib", "heapq", "html", "inspect", "io", "itertools", "json", "locale",
        "logging", "logging.config", "math", "numbers", "operator", "os", "pathlib", "pprint", "random", "re",
        "secrets", "statistics", "string", "struct", "sys", "textwrap", "threading", "time", "traceback", "types",
        "typing", "unicodedata", "unittest", "uuid", "warnings", "weakref",
    }
)  # fmt: skip
"""Modules of the standard library that a program may import: they calculate, or can do nothing in the sandbox."""

ALWAYS = ("collections.abc", "dataclasses", "enum", "functools", "itertools", "math", "operator", "re", "typing")

_word = re.compile(r"\w+")

Call = Sequence[Any]


def load_modules(sources: Sequence[str]) -> None:
    """Import what source texts may import: once the process is locked, no file can be read.

    That is each allowed module of whose name all parts are words of a source, however an import is written. A word that
    is no import loads a module that the program does not see.
    """
    words = {word for source in sources for word in _word.findall(source)}
    for name in sorted(MODULES):
        if name in ALWAYS or words.issuperset(name.split(".")):
            importlib.import_module(name)


def run_calls(sources: Sequence[str], entry: str, calls: Sequence[Call], result: int) -> None:
    """Load each program and call its function with each arguments; write every outcome as a line of JSON."""
    sys.path.clear()
    for source in sources:
        lines = [json.dumps(outcome) for outcome in _outcomes(source, entry, calls)]
        data = memoryview("".join(f"{line}\n" for line in lines).encode())
        while data:
            data = data[os.write(result, data) :]


def _outcomes(source: str, entry: str, calls: Sequence[Call]) -> list[object]:
    module = ModuleType("answer")
    sys.modules["answer"] = module
    try:
        exec(compile(source, "answer.py", "exec"), module.__dict__)  # noqa: S102 - this is the sandbox
        function = _find(module, entry)
    except BaseException as error:  # noqa: BLE001 - whatever the program raises is its outcome
        return [_raised(error)] * len(calls)
    return [_outcome(function, arguments) for arguments in calls]


def _outcome(function: Callable[..., object], arguments: Call) -> object:
    given = json.loads(json.dumps(arguments))
    try:
        value = _encoded(function(*given))
    except BaseException as error:  # noqa: BLE001 - whatever the program raises is its outcome
        value = _raised(error)
    return {"outcome": value, "arguments": _encoded(tuple(given))}


def _find(module: ModuleType, name: str) -> Callable[..., Any]:
    """Return a function of the module, or of an instance of a class: `CLASS.METHOD`."""
    first, _, method = name.partition(".")
    found = getattr(module, first)
    if method:
        found = getattr(found() if isinstance(found, type) else found, method)
    assert callable(found)
    return found  # type: ignore[no-any-return]


def _encoded(value: object) -> object:
    """Return a value in a form of JSON that keeps its type."""
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": str(int(value))}
    if isinstance(value, str):
        return {"str": str(value)}
    if isinstance(value, tuple):
        return {"tuple": [_encoded(item) for item in value]}
    if isinstance(value, list):
        return {"list": [_encoded(item) for item in value]}
    return {"other": type(value).__name__}


def _raised(error: BaseException) -> object:
    text = ""
    with contextlib.suppress(BaseException):
        text = str(error)
    return {"raised": [kind.__name__ for kind in type(error).__mro__], "text": text}
