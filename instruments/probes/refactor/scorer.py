"""The refactor probes: the model improves messy code; the scorer counts the changes on syntax trees."""

from functools import cached_property

from instruments.probes.probe import Probe
from instruments.probes.refactor.call_graph import References, find_entry
from instruments.probes.refactor.comment_count import find_comments
from instruments.probes.refactor.go import GO
from instruments.probes.refactor.language import Language
from instruments.probes.refactor.parsed_source import Declaration, ParsedSource
from instruments.probes.refactor.parser import parse_source
from instruments.probes.refactor.python import PYTHON
from instruments.probes.refactor.renames import name_pairs
from instruments.probes.score import ProbeScore

WEIGHTS = {
    "renames": (0.3, 6),
    "function_splits": (0.25, 3),
    "comments_added": (0.2, 4),
    "structural_changes": (0.25, 4),
}
"""For each count, its share of the total, and the count from which it has the whole share."""

STRUCTURE = {"type": "constant", "constant": "constant", "error": "error"}
"""The structural kind that a declaration adds, by the kind of the declaration."""


class CodeCounts:
    """Counts of the declarations that the function in place of the original reaches, and of the others."""

    def __init__(self, source: ParsedSource, language: Language, original: Declaration) -> None:
        references = References(source, language)
        self.source = source
        self.entry = find_entry(source, references, original, language)
        reached = references.reachable_from(self.entry)
        unreached = set(source.declarations) - reached
        self.functions = sum(declaration.kind == "function" for declaration in reached)
        self.unreached = sum(declaration.kind == "function" for declaration in unreached)
        self.closures = sum(declaration.closures for declaration in reached)
        self.comments = len(find_comments(source, unreached, language))
        self.structure = {STRUCTURE[declaration.kind] for declaration in reached if declaration.kind in STRUCTURE}
        self.structure.update(*(declaration.features for declaration in reached))


class RefactorScorer:
    """Counts the changes of a refactoring: renames, new functions, comments, structure.

    The original is source text with one function that is not an external entry. The score is a function of the two
    texts, the same in any process.
    """

    def __init__(self, id: str, version: str, language: Language, original: str) -> None:  # noqa: A002
        self.id = id
        self.version = version
        self._language = language
        self._text = original

    @cached_property
    def _original(self) -> CodeCounts:
        source = parse_source(self._text, self._language)
        assert source is not None, f"the original of {self.id} is not code"
        return CodeCounts(source, self._language, source.functions[0])

    def score(self, output: str) -> ProbeScore:
        """Score any text. The score is not valid if `parse_source` does not accept the text."""
        source = parse_source(output, self._language)
        if source is None:
            return ProbeScore(valid=False)
        before = self._original
        after = CodeCounts(source, self._language, before.entry)
        pairs = name_pairs(before.entry, before.source, after.entry, source, self._language)
        counts = {
            "renames": sum(bool(new_names) and name not in new_names for name, new_names in pairs),
            "function_splits": max(0, after.functions - before.functions),
            "comments_added": max(0, after.comments - before.comments),
            "structural_changes": len(after.structure - before.structure),
        }
        return ProbeScore(
            valid=True,
            total=sum(weight * min(1.0, counts[label] / enough) for label, (weight, enough) in WEIGHTS.items()),
            counts=counts,
            apart={
                "removed": sum(not new_names for _, new_names in pairs),
                "unreached": after.unreached,
                "closures": after.closures,
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
