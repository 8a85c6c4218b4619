"""Whether refactored code does what the original does, and which of its functions do nothing.

Both are run in the sandbox on hidden arguments. A program's outcomes are lines of JSON that this process compares with
those of the original: the program never has the right ones. Go programs are in `go_behaviour.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from instruments.probes.refactor.hidden_inputs import Arguments
from instruments.probes.refactor.parsed_source import Declaration, ParsedSource
from instruments.sandbox.process import MIB, PYTHON_LIMITS, run_in_sandbox

Change = tuple[str, str]
"""A function by its place in the program, and what it does instead of its work; the first change of each is to fail."""

CHECKED_FUNCTIONS_MAX = 20
"""The most functions of an answer that are checked; others are taken to do nothing."""

CONSTANT = (
    "@(lambda work, kept=[]: lambda *given, **named: kept[kept[0] is None] if kept else "
    "(kept.append(None), kept.__setitem__(0, work(*given, **named)), kept[kept[0] is None])[2])"
)
"""A decorator that lets a function return its first result to every call. It fails (IndexError) if there is none."""

RUNS_MAX = 8
"""The most runs of one program. A run ends early if the program exits or exceeds a limit."""

Outcome = Mapping[str, Any]
NO_OUTCOME: Outcome = {}


class Behaviour(NamedTuple):
    """How many hidden calls have the original's outcome, of how many; and the functions that do nothing."""

    right: int
    calls: int
    idle: frozenset[Declaration]
    failed_imports: int = 0
    """How many of the calls failed because the sandbox does not have a module that the program imports."""

    @property
    def is_kept(self) -> bool:
        """Whether every call has the original's outcome."""
        return self.right == self.calls


class Program(Protocol):
    """A program that can run in the sandbox."""

    def changes(self, function: Declaration) -> Sequence[Change]:
        """Return changes of a function, of which none keeps all outcomes if the function does anything."""

    def run(self, changes: Sequence[Change | None], calls: Sequence[Arguments]) -> list[list[Outcome]]:
        """Return the outcomes of the calls under each change (None: unchanged), as far as there are any.

        Errors: SandboxUnavailable.
        """


MakeProgram = Callable[[ParsedSource, Declaration], Program]
"""Makes a program of a source text, whose given function is called."""


def compare_behaviour(
    expected: Sequence[Outcome],
    program: Program,
    entry: Declaration,
    helpers: Sequence[Declaration],
    calls: Sequence[Arguments],
) -> Behaviour:
    """Run a program and compare it with the original's outcomes.

    If all are equal, change each helper in turn: one that can be changed without a difference does nothing. So does an
    entry that can fail without a difference: something else has taken its name.
    Errors: SandboxUnavailable.
    """
    outcomes = (program.run([None], calls) or [[]])[0]
    right = sum(_equal(*pair) for pair in zip(expected, [*outcomes, *[NO_OUTCOME] * len(expected)], strict=False))
    if right < len(expected):
        return Behaviour(right, len(expected), frozenset(), sum(map(_is_failed_import, outcomes)))
    checked = list(helpers[:CHECKED_FUNCTIONS_MAX])
    pending = [(entry, change) for change in program.changes(entry)[:1]]
    pending += [(helper, change) for helper in checked for change in program.changes(helper)]
    idle = set(helpers[CHECKED_FUNCTIONS_MAX:]) | {helper for helper in checked if not program.changes(helper)}
    for _ in range(RUNS_MAX):
        if not pending:
            break
        runs = program.run([change for _, change in pending], calls)
        complete = sum(len(run) == len(expected) for run in runs)
        for (helper, _), run in zip(pending[:complete], runs, strict=False):
            if all(map(_equal, expected, run)):
                idle.add(helper)
        pending = pending[complete + 1 :]  # the change after the complete ones ended the program: a difference
    return Behaviour(right, len(expected), frozenset(idle | {helper for helper, _ in pending}))


def parse_outcomes(data: bytes, calls: int) -> list[list[Outcome]]:
    """Split what a program wrote into outcomes, of `calls` for each run. A damaged line ends them."""
    outcomes: list[Outcome] = []
    for line in data.splitlines():
        try:
            outcome = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            break
        outcomes.append(outcome if isinstance(outcome, dict) else NO_OUTCOME)
    return [outcomes[start : start + calls] for start in range(0, len(outcomes), calls)]


def _equal(expected: Outcome, found: Outcome) -> bool:
    """Whether an outcome is the expected one. An exception may be of a class below the expected one."""
    wanted, got = expected.get("outcome"), found.get("outcome")
    if isinstance(wanted, dict) and isinstance(got, dict) and "raised" in wanted and "raised" in got:
        kinds = got["raised"]
        is_kind = isinstance(kinds, list) and wanted["raised"][0] in kinds and wanted["text"] == got.get("text")
        return is_kind and expected.get("arguments") == found.get("arguments")
    return expected == found


def _is_failed_import(outcome: Outcome) -> bool:
    """Whether a call, or the loading of the program, failed because a module cannot be imported."""
    inner = outcome.get("outcome", outcome)
    kinds = inner.get("raised") if isinstance(inner, dict) else None
    return isinstance(kinds, list) and "ImportError" in kinds


class PythonProgram:
    """A Python module, and the function of it that is called.

    A change of a function is another source text: the statement is the first of the function's body, or the decorator
    the innermost. So it takes effect whatever decorators or assignments make of the function's name.
    """

    def __init__(self, source: ParsedSource, entry: Declaration) -> None:
        self._encoded = source.encoded
        self._entry = entry.name if not entry.owner_type else f"{entry.owner_type}.{entry.name}"
        self._changes: Mapping[Declaration, list[Change]] = {
            function: [
                *((str(_body_start(function)), statement) for statement in _statements(function)),
                (str(function.node.start_byte), CONSTANT),
            ]
            for function in source.functions
        }

    def changes(self, function: Declaration) -> Sequence[Change]:
        """Let the function fail, return None, one of its parameters, or the same to every call."""
        return self._changes[function]

    def run(self, changes: Sequence[Change | None], calls: Sequence[Arguments]) -> list[list[Outcome]]:
        """Load and call the module once for each change."""
        request = {
            "job": "python", "sources": [self._source(change) for change in changes], "entry": self._entry,
            "calls": calls, "root_bytes": MIB, "needs_namespaces": False, "limits": PYTHON_LIMITS,
        }  # fmt: skip
        return parse_outcomes(run_in_sandbox(request).data, len(calls))

    def _source(self, change: Change | None) -> str:
        if change is None:
            return self._encoded.decode("utf-8", "replace")
        start = int(change[0])
        indentation = self._encoded[self._encoded.rfind(b"\n", 0, start) + 1 : start]
        end = b"; " if indentation.strip() else b"\n" + indentation
        changed = self._encoded[:start] + change[1].encode() + end + self._encoded[start:]
        return changed.decode("utf-8", "replace")


def _statements(function: Declaration) -> list[str]:
    names = [parameter.name for parameter in function.parameters if parameter.name]
    return ["raise SystemError", "return None", *(f"return {name}" for name in names)]


def _body_start(function: Declaration) -> int:
    """Return the byte offset of the first statement of a function."""
    body = function.node.child_by_field_name("body")
    assert body is not None, "only functions with a body are declarations"
    return next(child.start_byte for child in body.named_children if not child.is_extra)
