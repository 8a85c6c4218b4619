"""The refactor probe: messy code is to be made better, and what was done to it is counted on syntax trees."""

from functools import cached_property

from instruments.probes.probe import Probe
from instruments.probes.refactor.call_graph import References, entry_of
from instruments.probes.refactor.comments import comments_in
from instruments.probes.refactor.go import GO
from instruments.probes.refactor.language import Language
from instruments.probes.refactor.parser import read
from instruments.probes.refactor.python import PYTHON
from instruments.probes.refactor.renames import pairs_of
from instruments.probes.refactor.source import Declaration, ParsedSource
from instruments.probes.score import ProbeScore

WEIGHTS = {
    "renames": (0.3, 6),
    "function_splits": (0.25, 3),
    "comments_added": (0.2, 4),
    "structural_changes": (0.25, 4),
}
"""What each count gives to the total at most, and from which number on it gives no more."""

STRUCTURE = {"type": "constant", "constant": "constant", "error": "error"}
"""Which structural kind a declaration is that the entry reaches."""


class ParsedAnswer:
    """What a text holds, as seen from the function that stands for the original."""

    def __init__(self, source: ParsedSource, language: Language, original: Declaration) -> None:
        references = References(source, language)
        self.source = source
        self.entry = entry_of(source, references, original, language)
        reached = references.reached_from(self.entry)
        unreached = set(source.declarations) - reached
        self.functions = sum(found.kind == "function" for found in reached)
        self.unreached = sum(found.kind == "function" for found in unreached)
        self.closures = sum(found.closures for found in reached)
        self.comments = comments_in(source, unreached, language)
        self.structure = {STRUCTURE[found.kind] for found in reached if found.kind in STRUCTURE}
        self.structure.update(*(found.features for found in reached))


class RefactorScorer:
    """Counts what a refactoring did to an original: names, functions, comments, structure.

    The original is a text of the language with one function that is not called from outside. Every output gets the
    same score in any process: it is a function of the two texts.
    """

    def __init__(self, id: str, version: str, language: Language, original: str) -> None:  # noqa: A002
        self.id = id
        self.version = version
        self._language = language
        self._text = original

    @cached_property
    def _original(self) -> ParsedAnswer:
        source = read(self._text, self._language)
        assert source is not None, f"the original of {self.id} is no code"
        return ParsedAnswer(source, self._language, source.functions[0])

    def score(self, output: str) -> ProbeScore:
        """The score of any text: invalid where it is longer than OUTPUT_BYTES_MAX, no code, or declares no function."""
        source = read(output, self._language)
        if source is None:
            return ProbeScore(valid=False)
        before = self._original
        after = ParsedAnswer(source, self._language, before.entry)
        pairs = pairs_of(before.entry, before.source, after.entry, source, self._language)
        counts = {
            "renames": sum(bool(now) and name not in now for name, now in pairs),
            "function_splits": max(0, after.functions - before.functions),
            "comments_added": max(0, after.comments - before.comments),
            "structural_changes": len(after.structure - before.structure),
        }
        return ProbeScore(
            valid=True,
            total=sum(most * min(1.0, counts[label] / enough) for label, (most, enough) in WEIGHTS.items()),
            counts=counts,
            apart={
                "removed": sum(not now for _, now in pairs),
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
