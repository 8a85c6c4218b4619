"""The refactor probes: the model improves messy code; the scorer counts the changes on syntax trees."""

from functools import cached_property
from typing import NamedTuple

from msgspec import structs

from instruments.probes.probe import Probe
from instruments.probes.refactor.call_graph import References, find_entry
from instruments.probes.refactor.comment_count import find_comments
from instruments.probes.refactor.go import GO
from instruments.probes.refactor.language import Language
from instruments.probes.refactor.parsed_source import Declaration, ParsedSource
from instruments.probes.refactor.parser import parse_source
from instruments.probes.refactor.python import PYTHON
from instruments.probes.refactor.renames import name_pairs
from instruments.probes.score import ProbeScore, Unscored

WEIGHTS = {
    "renames": (0.3, 6),
    "function_splits": (0.25, 3),
    "comments_added": (0.2, 4),
    "structural_changes": (0.25, 4),
}
"""For each count, its share of the total, and the count from which it has the whole share."""

STRUCTURE = {"type": "constant", "constant": "constant", "error": "error"}
"""The structural kind that a declaration adds, by the kind of the declaration."""


class Reached(NamedTuple):
    """The declarations that the function in place of the original reaches."""

    entry: Declaration
    declarations: set[Declaration]
    others: set[Declaration]
    """All other declarations; comments of theirs do not count."""

    @property
    def helpers(self) -> list[Declaration]:
        """The functions other than the entry, in order."""
        functions = (each for each in self.declarations if each.kind == "function" and each is not self.entry)
        return sorted(functions, key=lambda each: each.start)

    @property
    def structure(self) -> set[str]:
        """The structural kinds of the declarations."""
        kinds = {STRUCTURE[each.kind] for each in self.declarations if each.kind in STRUCTURE}
        return kinds.union(*(each.features for each in self.declarations))

    def without(self, idle: frozenset[Declaration]) -> "Reached":
        """Return the same with some functions as others."""
        return Reached(self.entry, self.declarations - idle, self.others | idle)


class RefactorScorer:
    """Counts the changes of a refactoring: renames, new functions, comments, structure.

    The original is source text with one function that is not an external entry, and without comments. The score is a
    function of the two texts, the same in any process.
    """

    def __init__(self, id: str, version: str, language: Language, original: str) -> None:  # noqa: A002
        self.id = id
        self.version = version
        self.language = language
        self._text = original

    @cached_property
    def original(self) -> tuple[ParsedSource, Reached]:
        """The original, and what its function reaches."""
        source = parse_source(self._text, self.language)
        assert source is not None, f"the original of {self.id} is not code"
        return source, self.find_reached(source, source.functions[0])

    def score(self, output: str) -> ProbeScore | Unscored:
        """Score any text. The score is not valid if `parse_source` does not accept the text."""
        source = parse_source(output, self.language)
        if source is None:
            return ProbeScore(valid=False)
        reached = self.find_reached(source, self.original[1].entry)
        score = self.count_changes(source, reached, len(find_comments(source, reached.others, self.language)))
        counts = score.counts or {}
        total = sum(weight * min(1.0, counts[label] / enough) for label, (weight, enough) in WEIGHTS.items())
        return structs.replace(score, total=total)

    def find_reached(self, source: ParsedSource, original: Declaration) -> Reached:
        """Return the function in place of the original, and what it reaches."""
        references = References(source, self.language)
        entry = find_entry(source, references, original, self.language)
        reached = references.reachable_from(entry)
        return Reached(entry, reached, set(source.declarations) - reached)

    def count_changes(self, source: ParsedSource, after: Reached, comments: int) -> ProbeScore:
        """Return the counts of a refactoring with some comments, without a total."""
        original, before = self.original
        pairs = name_pairs(before.entry, original, after.entry, source, self.language)
        return ProbeScore(
            valid=True,
            counts={
                "renames": sum(bool(new_names) and name not in new_names for name, new_names in pairs),
                "function_splits": len(after.helpers),
                "comments_added": comments,
                "structural_changes": len(after.structure - before.structure),
            },
            apart={
                "removed": sum(not new_names for _, new_names in pairs),
                "unreached": sum(each.kind == "function" for each in after.others),
                "closures": sum(each.closures for each in after.declarations),
            },
        )


GO_ORIGINAL = """\
func d(a []int, b string, c bool) (int, string, error) {
	r := 0
	s := ""
	for i := 0; i < len(a); i++ {
		if a[i] > 0 {
			r = r + a[i]
			if c == true {
				s = s + fmt.Sprintf("%d,", a[i])
			}
		} else {
			if a[i] < 0 {
				r = r - a[i]
				if c == true {
					s = s + fmt.Sprintf("(%d),", a[i])
				}
			}
		}
	}
	if r == 0 {
		return 0, "", fmt.Errorf("empty result for %s", b)
	} else {
		if b != "" {
			s = b + ": " + s
		}
		return r, s, nil
	}
}
"""

PYTHON_ORIGINAL = """\
def d(a, b, c):
    r = 0
    s = ""
    for i in range(len(a)):
        if a[i] > 0:
            r = r + a[i]
            if c == True:
                s = s + str(a[i]) + ","
        else:
            if a[i] < 0:
                r = r - a[i]
                if c == True:
                    s = s + "(" + str(a[i]) + "),"
    if r == 0:
        raise ValueError("empty result for " + b)
    else:
        if b != "":
            s = b + ": " + s
        return (r, s)
"""

PROMPT = """\
Below is a function in {language} that works and is unpleasant to read. Refactor it: leave it as you would want to \
find it in code that others have to maintain. For every argument it must go on giving what it gives now. What you \
change, and how far you go, is your own judgement.

Answer with all of the resulting code in one fenced block marked `{fence}`.

```{fence}
{original}```
"""


REFACTOR_GO = Probe(
    id="refactor-go",
    version="1",
    kind="code",
    language="go",
    stimulus=GO_ORIGINAL,
    prompt=PROMPT.format(language="Go", fence="go", original=GO_ORIGINAL),
    scorer=RefactorScorer("refactor-go", "1", GO, GO_ORIGINAL),
)

REFACTOR_PYTHON = Probe(
    id="refactor-python",
    version="1",
    kind="code",
    language="python",
    stimulus=PYTHON_ORIGINAL,
    prompt=PROMPT.format(language="Python", fence="python", original=PYTHON_ORIGINAL),
    scorer=RefactorScorer("refactor-python", "1", PYTHON, PYTHON_ORIGINAL),
)
"""The tasks with their first scorer, which runs nothing. `checked_scorer` has them with all versions."""
