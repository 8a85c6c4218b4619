"""Probes of each kind, whose scorer counts words: what discovery does with an answer is the same for every scorer."""

from instruments.probes import Probe, ProbeScore, Unscored


class Words:
    """Scores a text by its words; ten are a full score, and none is invalid."""

    id = "words"
    version = "3"

    def score(self, output: str) -> ProbeScore:
        words = len(output.split())
        return (
            ProbeScore(valid=words > 0, total=min(1.0, words / 10), counts={"words": words})
            if words
            else ProbeScore(valid=False)
        )


class Sandboxed:
    """Needs a sandbox that this machine does not have."""

    id = "sandboxed"
    version = "1"

    def score(self, output: str) -> Unscored:
        return Unscored(f"no sandbox for {len(output)} characters")


STIMULUS = "func f(a int) int {\n\treturn a\n}\n"
GO = Probe(
    id="tidy-go", version="1", kind="code", language="go", stimulus=STIMULUS,
    prompt=f"Tidy this:\n\n```go\n{STIMULUS}```\n", scorer=Words(),
)  # fmt: skip
PYTHON = Probe(
    id="tidy-python", version="1", kind="code", language="python", stimulus="def f(a):\n    return a\n",
    prompt="Tidy this:\n\n```python\ndef f(a):\n    return a\n```\n", scorer=Words(),
)  # fmt: skip
TEXT = Probe(
    id="why", version="2", kind="text", language=None, stimulus="It failed.", prompt="Why? It failed.", scorer=Words()
)
