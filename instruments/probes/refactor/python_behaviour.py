"""Python programs for the check of behaviour."""

from collections.abc import Mapping, Sequence

from instruments.probes.refactor.behaviour import Change, Outcome, parse_outcomes
from instruments.probes.refactor.hidden_inputs import Arguments
from instruments.probes.refactor.parsed_source import Declaration, ParsedSource
from instruments.sandbox.process import MIB, PYTHON_LIMITS, run_in_sandbox


class PythonProgram:
    """A module, and the function of it that is called.

    A change of a function is another source text: the statement is the first of the function's body. So it takes
    effect whatever decorators or assignments make of the function's name.
    """

    def __init__(self, source: ParsedSource, entry: Declaration) -> None:
        self._encoded = source.encoded
        self._entry = entry.name if not entry.owner_type else f"{entry.owner_type}.{entry.name}"
        self._changes: Mapping[Declaration, list[Change]] = {
            function: [(str(_body_start(function)), statement) for statement in _statements(function)]
            for function in source.functions
        }

    def changes(self, function: Declaration) -> Sequence[Change]:
        """Let the function fail, return None, or return one of its parameters."""
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


class PythonRunner:
    """Makes Python programs."""

    def program(self, source: ParsedSource, entry: Declaration) -> PythonProgram:
        """Return the module as it is: it is run whole."""
        return PythonProgram(source, entry)


def _statements(function: Declaration) -> list[str]:
    names = [parameter.name for parameter in function.parameters if parameter.name]
    return ["raise SystemError", "return None", *(f"return {name}" for name in names)]


def _body_start(function: Declaration) -> int:
    """Return the byte offset of the first statement of a function."""
    body = function.node.child_by_field_name("body")
    assert body is not None, "only functions with a body are declarations"
    return next(child.start_byte for child in body.named_children if not child.is_extra)
