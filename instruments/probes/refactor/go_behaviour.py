"""Go programs for the check of behaviour: the answer as a package, and a main program that calls it."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256

from tree_sitter import Parser, QueryCursor

from instruments.probes.refactor.behaviour import Change, Outcome, parse_outcomes
from instruments.probes.refactor.go import GO
from instruments.probes.refactor.hidden_inputs import Arguments
from instruments.probes.refactor.language import grammar_of, query_of
from instruments.probes.refactor.parsed_source import Declaration, ParsedSource, node_text
from instruments.sandbox.go_build import PACKAGES, build_go, run_go

_QUERY = """
(package_clause) @clause
(import_spec name: (_)? @alias path: (_) @path)
(selector_expression operand: (identifier) @package)
(qualified_type package: (package_identifier) @package)
"""

_MAIN = """\
package main

import (
	"answer"
	"encoding/json"
	"os"
)

type call struct {
	Values  []int
	Label   string
	Verbose bool
}

type arguments struct {
	Values []int `json:"values"`
	Label  []byte `json:"label"`
}

type outcome struct {
	Total     int       `json:"total"`
	Text      []byte    `json:"text"`
	Error     []byte    `json:"error"`
	Failed    bool      `json:"failed"`
	Panicked  bool      `json:"panicked"`
}

type line struct {
	Outcome   outcome   `json:"outcome"`
	Arguments arguments `json:"arguments"`
}

func one(c call) (found line) {
	defer func() {
		if recover() != nil {
			found.Outcome = outcome{Panicked: true}
		}
	}()
	total, text, err := answer.Call@(c.Values, c.Label, c.Verbose)
	found.Outcome = outcome{Total: total, Text: []byte(text), Failed: err != nil}
	found.Arguments = arguments{c.Values, []byte(c.Label)}
	if err != nil {
		found.Outcome.Error = []byte(err.Error())
	}
	return found
}

func main() {
	var given struct {
		Changes []int
		Calls   []call
	}
	results := os.NewFile(3, "results")
	if json.NewDecoder(os.Stdin).Decode(&given) != nil {
		os.Exit(1)
	}
	for _, change := range given.Changes {
		answer.Change@ = change
		for _, c := range given.Calls {
			c.Values = append([]int{}, c.Values...)
			data, err := json.Marshal(one(c))
			if err != nil {
				os.Exit(1)
			}
			results.Write(append(data, '\\n'))
		}
	}
}
"""


class GoProgram:
    """A Go file, and the function of it that is called. It is compiled once, when it first runs.

    Each changed function has its changes at its beginning, behind a number that the main program sets.
    """

    def __init__(self, source: ParsedSource, entry: Declaration) -> None:
        self._source = source
        self._entry = entry
        self._suffix = sha256(source.encoded).hexdigest()[:16]
        self._bodies: Mapping[Declaration, list[tuple[Change, str]]] = {
            function: _changed_bodies(function, str(number)) for number, function in enumerate(source.functions)
        }
        every = [change for bodies in self._bodies.values() for change, _ in bodies]
        self._numbers = {change: number for number, change in enumerate(every, 1)}

    def changes(self, function: Declaration) -> Sequence[Change]:
        """Let the function panic, return zero values, or return its parameters; none if they do not compile."""
        return [] if self._changed is None else [change for change, _ in self._bodies[function]]

    def run(self, changes: Sequence[Change | None], calls: Sequence[Arguments]) -> list[list[Outcome]]:
        """Run the compiled program; a program that does not compile has no outcomes."""
        program = self._changed or self._plain
        if program is None:
            return []
        numbers = [0 if change is None else self._numbers[change] for change in changes]
        named = [{"Values": values, "Label": label, "Verbose": verbose} for values, label, verbose in calls]
        return parse_outcomes(run_go(program, {"Changes": numbers, "Calls": named}).data, len(calls))

    @cached_property
    def _changed(self) -> bytes | None:
        insertions = {}
        for function, bodies in self._bodies.items():
            body = function.node.child_by_field_name("body")
            assert body is not None, "only functions with a body are declarations"
            cases = (f"if Change{self._suffix} == {self._numbers[change]} {{ {work} }};" for change, work in bodies)
            insertions[body.start_byte + 1] = " ".join(cases)
        return self._build(insertions)

    @cached_property
    def _plain(self) -> bytes | None:
        return self._build({})

    def _build(self, insertions: Mapping[int, str]) -> bytes | None:
        text, entry = _as_package(self._source, insertions), self._entry
        receiver = "" if entry.owner_type is None else f"var receiver {entry.owner_type}; "
        function = entry.name if entry.owner_type is None else f"receiver.{entry.name}"
        call = f"""package answer
var Change{self._suffix} int
func Call{self._suffix}(a []int, b string, c bool) (int, string, error) {{ {receiver}return {function}(a, b, c) }}
"""
        return build_go({"answer.go": text, "call.go": call}, _MAIN.replace("@", self._suffix))


def _changed_bodies(function: Declaration, name: str) -> list[tuple[Change, str]]:
    """Return the changes of a function, each with the statement that does it.

    Each result is the zero value of its type, or the first or another parameter of that type.
    """
    types = [result.type or "" for result in function.results]
    zeros = [f"*new({kind})" for kind in types]
    bodies = {"panic": 'panic("")', "zero": f"return {', '.join(zeros)}"}
    for parameter in function.parameters:
        if parameter.name not in {None, "_"} and parameter.type in types:
            values = [
                f"{parameter.name}" if kind == parameter.type else zero for kind, zero in zip(types, zeros, strict=True)
            ]
            bodies[f"{parameter.name}"] = f"return {', '.join(values)}"
    return [((name, work), statement) for work, statement in bodies.items()]


def _as_package(source: ParsedSource, insertions: Mapping[int, str]) -> str:
    """Return a file as part of the package `answer`, with insertions by offset, and with imports that it leaves out."""
    encoded = source.encoded
    root = Parser(grammar_of(GO)).parse(encoded + b"\n").root_node
    captures = QueryCursor(query_of(GO, _QUERY)).captures(root)
    paths = [node_text(node).strip('"`') for node in captures.get("path", ())]
    imported = {path.rpartition("/")[2] for path in paths} | {node_text(node) for node in captures.get("alias", ())}
    known = {path.rpartition("/")[2]: path for path in PACKAGES}
    used = {node_text(node) for node in captures.get("package", ())}
    declared = {name for each in source.declarations for name in (*each.names, *each.variables)}
    missing = sorted(known[name] for name in (used & known.keys()) - imported - declared)
    head = "package answer;" + "".join(f' import "{path}";' for path in missing)
    parts: list[bytes] = []
    end = 0
    for clause in captures.get("clause", ()):
        parts.append(encoded[end : clause.start_byte] + head.encode().removesuffix(b";"))
        end = clause.end_byte
    if not parts:
        parts.append(f"{head}\n".encode())
    for offset, text in sorted(insertions.items()):
        parts.append(encoded[end:offset] + text.encode())
        end = offset
    return b"".join([*parts, encoded[end:]]).decode("utf-8", "replace")
