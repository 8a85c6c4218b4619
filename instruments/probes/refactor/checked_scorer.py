"""The refactor probes with their second scorer: code that computes something else scores 0, and padding nothing."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from msgspec import structs

from instruments.probes.probe import Probe, Scorer
from instruments.probes.refactor.behaviour import Outcome, Program, Runner, compare_behaviour
from instruments.probes.refactor.call_graph import References, find_entry
from instruments.probes.refactor.comment_count import find_comments
from instruments.probes.refactor.comment_credit import count_credited
from instruments.probes.refactor.go import GO
from instruments.probes.refactor.go_behaviour import GoRunner
from instruments.probes.refactor.hidden_inputs import Arguments, hidden_arguments
from instruments.probes.refactor.language import Language
from instruments.probes.refactor.parsed_source import Declaration, ParsedSource
from instruments.probes.refactor.parser import parse_source
from instruments.probes.refactor.python import PYTHON
from instruments.probes.refactor.python_behaviour import PythonRunner
from instruments.probes.refactor.renames import name_pairs
from instruments.probes.refactor.scorer import REFACTOR_GO, REFACTOR_PYTHON, STRUCTURE, WEIGHTS
from instruments.probes.score import ProbeScore, Unscored
from instruments.sandbox.process import SandboxUnavailable

BEHAVIOUR_SHARE = 0.4
"""The total of code that does what the original does and changes nothing else. The changes share the rest."""

SCORES_KEPT = 256
"""Scores that are cached: one takes a second."""


class Reached(NamedTuple):
    """The declarations that the function in place of the original reaches, without functions that do nothing."""

    entry: Declaration
    declarations: set[Declaration]
    others: set[Declaration]
    """All other declarations; comments of theirs and of idle functions do not count."""

    @property
    def helpers(self) -> list[Declaration]:
        """The functions other than the entry, in order."""
        functions = (each for each in self.declarations if each.kind == "function" and each is not self.entry)
        return sorted(functions, key=lambda each: each.start)

    def without(self, idle: frozenset[Declaration]) -> "Reached":
        """Return the same with some functions as others."""
        return Reached(self.entry, self.declarations - idle, self.others | idle)


class CheckedRefactorScorer:
    """Runs an answer on hidden arguments, and counts the changes of a refactoring that does what the original does.

    The counts are those of `RefactorScorer`, without functions that can be replaced by nothing and comments that
    restate. A score depends on the text alone; without a sandbox there is none.
    """

    def __init__(self, first: Scorer, version: str, original: str, language: Language, runner: Runner) -> None:
        self.id = first.id
        self.version = version
        self._text = original
        self._language = language
        self._runner = runner
        self._scores: dict[str, ProbeScore] = {}

    @cached_property
    def _original(self) -> tuple[ParsedSource, Reached, Program]:
        source = parse_source(self._text, self._language)
        assert source is not None, f"the original of {self.id} is not code"
        reached = _reach(source, source.functions[0], self._language)
        return source, reached, self._runner.program(source, reached.entry)

    def score(self, output: str) -> ProbeScore | Unscored:
        """Score any text. It is not valid if it does not parse, and unscored if it cannot be run here."""
        known = self._scores.get(output)
        if known is None:
            source = parse_source(output, self._language)
            try:
                known = ProbeScore(valid=False) if source is None else self._score_source(output, source)
            except SandboxUnavailable as error:
                return Unscored(str(error))
            if len(self._scores) >= SCORES_KEPT:
                self._scores.clear()
            self._scores[output] = known
        return known

    def _score_source(self, output: str, source: ParsedSource) -> ProbeScore:
        reached = _reach(source, self._original[1].entry, self._language)
        calls = hidden_arguments(self.id, output)
        program = self._runner.program(source, reached.entry)
        behaviour = compare_behaviour(self._expected(calls), program, reached.entry, reached.helpers, calls)
        score = self._count(source, reached, behaviour.idle)
        counts = dict.fromkeys(WEIGHTS, 0) if reached.entry in behaviour.idle else score.counts or {}
        return structs.replace(
            score,
            total=_total(counts) if behaviour.is_kept else 0.0,
            counts=counts,
            dimensions={"behaviour": behaviour.right / behaviour.calls},
        )

    def _expected(self, calls: Sequence[Arguments]) -> list[Outcome]:
        outcomes = self._original[2].run([None], calls)
        if not outcomes or len(outcomes[0]) != len(calls):
            raise SandboxUnavailable("the original does not run in the sandbox")
        return outcomes[0]

    def _count(self, source: ParsedSource, reached: Reached, idle: frozenset[Declaration]) -> ProbeScore:
        original, before, _ = self._original
        after = reached.without(idle)
        pairs = name_pairs(before.entry, original, after.entry, source, self._language)
        comments = find_comments(source, after.others, self._language)
        credited = count_credited(comments, source, self._language)
        return ProbeScore(
            valid=True,
            counts={
                "renames": sum(bool(new_names) and name not in new_names for name, new_names in pairs),
                "function_splits": len(after.helpers),
                "comments_added": credited,
                "structural_changes": len(_structure(after.declarations) - _structure(before.declarations)),
            },
            apart={
                "removed": sum(not new_names for _, new_names in pairs),
                "unreached": sum(each.kind == "function" for each in reached.others),
                "closures": sum(each.closures for each in after.declarations),
                "idle_helpers": len(idle),
                "restating_comments": len(comments) - credited,
            },
        )


def _reach(source: ParsedSource, original: Declaration, language: Language) -> Reached:
    references = References(source, language)
    entry = find_entry(source, references, original, language)
    reached = references.reachable_from(entry)
    return Reached(entry, reached, set(source.declarations) - reached)


def _structure(declarations: set[Declaration]) -> set[str]:
    """Return the structural kinds of some declarations."""
    kinds = {STRUCTURE[each.kind] for each in declarations if each.kind in STRUCTURE}
    return kinds.union(*(each.features for each in declarations))


def _total(counts: dict[str, int]) -> float:
    """Return the total of code that does what the original does. Comments weigh at most as much as other changes."""
    shares = {label: weight * min(1.0, counts[label] / enough) for label, (weight, enough) in WEIGHTS.items()}
    comments = shares.pop("comments_added")
    changes = sum(shares.values())
    return round(BEHAVIOUR_SHARE + (1 - BEHAVIOUR_SHARE) * (changes + min(comments, changes)), 6)


def _checked(probe: Probe, language: Language, runner: Runner) -> Probe:
    """Return a probe with the second version of its scorer beside the first."""
    scorer = CheckedRefactorScorer(probe.scorer, "2", probe.stimulus, language, runner)
    return structs.replace(probe, scorer=scorer, older_scorers=(probe.scorer,))


REFACTOR_GO_CHECKED = _checked(REFACTOR_GO, GO, GoRunner())
REFACTOR_PYTHON_CHECKED = _checked(REFACTOR_PYTHON, PYTHON, PythonRunner())
"""The same tasks; their scorer also checks the behaviour."""
