"""The refactor probes with their second scorer: code that computes something else scores 0, and padding nothing."""

from collections.abc import Sequence
from functools import cached_property

from msgspec import structs

from instruments.probes.probe import Probe
from instruments.probes.refactor.behaviour import MakeProgram, Outcome, Program, PythonProgram, compare_behaviour
from instruments.probes.refactor.comment_count import find_comments
from instruments.probes.refactor.comment_credit import count_credited
from instruments.probes.refactor.go import GO
from instruments.probes.refactor.go_behaviour import GoProgram
from instruments.probes.refactor.hidden_inputs import Arguments, hidden_arguments
from instruments.probes.refactor.language import Language
from instruments.probes.refactor.parsed_source import Declaration, ParsedSource
from instruments.probes.refactor.parser import parse_source
from instruments.probes.refactor.python import PYTHON
from instruments.probes.refactor.scorer import REFACTOR_GO, REFACTOR_PYTHON, WEIGHTS, RefactorScorer
from instruments.probes.score import ProbeScore, Unscored
from instruments.sandbox.process import SandboxUnavailable

BEHAVIOUR_SHARE = 0.4
"""The total of code that does what the original does and changes nothing else. The changes share the rest."""

SCORES_KEPT = 256
"""Scores that are cached: one takes a second."""


class CheckedRefactorScorer(RefactorScorer):
    """Runs an answer on hidden arguments, and counts the changes of a refactoring that does what the original does.

    The counts are those of `RefactorScorer`, without functions that can be replaced by nothing and comments that
    restate. A score depends on the text alone; without a sandbox there is none.
    """

    def __init__(self, id: str, version: str, language: Language, original: str, make: MakeProgram) -> None:  # noqa: A002
        super().__init__(id, version, language, original)
        self._make_program = make
        self._scores: dict[str, ProbeScore] = {}

    @cached_property
    def _original_program(self) -> Program:
        source, reached = self.original
        return self._make_program(source, reached.entry)

    def score(self, output: str) -> ProbeScore | Unscored:
        """Score any text. It is not valid if it does not parse, and unscored if it cannot be run here."""
        known = self._scores.get(output)
        if known is None:
            source = parse_source(output, self.language)
            try:
                known = ProbeScore(valid=False) if source is None else self._score_source(output, source)
            except SandboxUnavailable as error:
                return Unscored(str(error))
            if len(self._scores) >= SCORES_KEPT:
                self._scores.clear()
            self._scores[output] = known
        return known

    def _score_source(self, output: str, source: ParsedSource) -> ProbeScore:
        reached = self.find_reached(source, self.original[1].entry)
        calls = hidden_arguments(self.id, output)
        program = self._make_program(source, reached.entry)
        behaviour = compare_behaviour(self._expected(calls), program, reached.entry, reached.helpers, calls)
        idle = behaviour.idle | {helper for helper in reached.helpers if _only_passes(helper, self.language)}
        after = reached.without(idle)
        comments = find_comments(source, after.others, self.language)
        credited = count_credited(comments, source, self.language)
        score = self.count_changes(source, after, credited)
        apart = {"unreached": sum(each.kind == "function" for each in reached.others)}
        apart |= {"idle_helpers": len(idle), "restating_comments": len(comments) - credited}
        if behaviour.failed_imports:
            apart["failed_imports"] = behaviour.failed_imports
        counts = dict.fromkeys(WEIGHTS, 0) if reached.entry in behaviour.idle else score.counts or {}
        return structs.replace(
            score,
            total=_total(counts) if behaviour.is_kept else 0.0,
            counts=counts,
            dimensions={"behaviour": behaviour.right / behaviour.calls},
            apart=(score.apart or {}) | apart,
        )

    def _expected(self, calls: Sequence[Arguments]) -> list[Outcome]:
        outcomes = self._original_program.run([None], calls)
        if not outcomes or len(outcomes[0]) != len(calls):
            raise SandboxUnavailable("the original does not run in the sandbox")
        return outcomes[0]


def _only_passes(function: Declaration, language: Language) -> bool:
    """Whether a function only returns literals, or puts its parameters into containers or takes them out."""
    body = function.node.child_by_field_name("body")
    pending = [] if body is None else [body]
    while pending:
        node = pending.pop()
        if node.type in language.element_kinds:
            is_assigned = node.parent is not None and node.parent.child_by_field_name("left") == node
            if is_assigned or node.named_children[-1].type not in language.literal_kinds:
                return False
        elif node.type not in language.literal_kinds | language.passing_kinds and not node.is_extra:
            return False
        pending += node.named_children
    return True


def _total(counts: dict[str, int]) -> float:
    """Return the total of code that does what the original does. Comments weigh at most as much as other changes."""
    shares = {label: weight * min(1.0, counts[label] / enough) for label, (weight, enough) in WEIGHTS.items()}
    comments = shares.pop("comments_added")
    changes = sum(shares.values())
    return round(BEHAVIOUR_SHARE + (1 - BEHAVIOUR_SHARE) * (changes + min(comments, changes)), 6)


def _checked(probe: Probe, language: Language, make_program: MakeProgram) -> Probe:
    """Return a probe with the second version of its scorer beside the first."""
    scorer = CheckedRefactorScorer(probe.id, "2", language, probe.stimulus, make_program)
    return structs.replace(probe, scorer=scorer, older_scorers=(probe.scorer,))


REFACTOR_GO_CHECKED = _checked(REFACTOR_GO, GO, GoProgram)
REFACTOR_PYTHON_CHECKED = _checked(REFACTOR_PYTHON, PYTHON, PythonProgram)
"""The same tasks; their scorer also checks the behaviour."""
