"""The part of an answer that a probe scores: the code in one of its fences, or the text beside the identity."""

import re
from collections.abc import Sequence

from instruments.discovery.code_fences import CodeBlock
from instruments.discovery.identity_parser import states_identity
from instruments.probes import Probe

LABELS = {
    "go": frozenset({"go", "golang"}),
    "python": frozenset({"py", "py3", "python", "python3"}),
}
"""What a fence may be labelled with, by language."""

_declares = {
    "go": re.compile(r"^[ \t]*func[ \t(]", re.MULTILINE),
    "python": re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]", re.MULTILINE),
}
_begins = {
    "go": re.compile(r"^(?:package |import [\"(]|func[ \t(]|type \w+ |const[ (]|var[ (]|//|/\*)", re.MULTILINE),
    "python": re.compile(r"^(?:import \w|from \w[\w.]* import|(?:async )?def |class \w|@\w|\"\"\"|''')", re.MULTILINE),
}


def bare_code(blocks: Sequence[CodeBlock], probe: Probe) -> list[CodeBlock]:
    """The blocks, with code that stands in no fence as if it stood in one.

    Where a probe asks for code and no fence holds any, what follows the first line of code in a text is code, but for
    an identity that stands as the answer's last word.
    """
    language = probe.language
    if language is None or any(_rank(block, language) for block in blocks):
        return list(blocks)
    made: list[CodeBlock] = []
    for block in blocks:
        begun = _begins[language].search(block.text) if block.label is None else None
        if begun is None or _declares[language].search(block.text, begun.start()) is None:
            made.append(block)
            continue
        start = _with_comments(block.text, begun.start())
        code, after = _without_last_word(block.text[start:])
        made += [CodeBlock(block.text[:start]), CodeBlock(_trimmed(code, language), language), CodeBlock(after)]
    return made


def output_of(blocks: Sequence[CodeBlock], probe: Probe) -> str | None:
    """What is scored of an answer's blocks, identities taken out; None where there is nothing of the kind asked for."""
    return _text(blocks) if probe.language is None else _code(blocks, probe, probe.language)


def _code(blocks: Sequence[CodeBlock], probe: Probe, language: str) -> str | None:
    """The fence that fits the language best, the largest of several; the task's own code only where it is all."""
    fitting = [block for block in blocks if _rank(block, language)]
    answered = [block for block in fitting if block.text.strip() != probe.stimulus.strip()]
    best = max(answered or fitting, key=lambda block: (_rank(block, language), len(block.text)), default=None)
    return None if best is None else best.text.rstrip() + "\n"


def _rank(block: CodeBlock, language: str) -> int:
    """How well a block fits a language: 0 not at all, 1 by its label, 2 by a function in it, 3 by both."""
    if block.label is None:
        return 0
    labelled = block.label in LABELS[language]
    foreign = any(block.label in labels for name, labels in LABELS.items() if name != language)
    declares = not foreign and _declares[language].search(block.text) is not None
    return labelled + 2 * declares


def _text(blocks: Sequence[CodeBlock]) -> str | None:
    """All text beside the identity; that of the one fence where all stands in it, else with the fences around."""
    if len(blocks) == 1:
        return blocks[0].text.strip() or None
    parts = [block.text.strip() if block.label is None else _fenced(block) for block in blocks]
    return "\n\n".join(part for part in parts if part) or None


def _fenced(block: CodeBlock) -> str:
    return f"```{block.label}\n{block.text.rstrip()}\n```"


def _with_comments(text: str, start: int) -> int:
    """Where the lines of `#` begin that stand right above a place."""
    while start and text[text.rfind("\n", 0, start - 1) + 1] == "#":
        start = text.rfind("\n", 0, start - 1) + 1
    return start


def _without_last_word(code: str) -> tuple[str, str]:
    """Code, and the identity that stands alone behind it after an empty line, if one does."""
    at = code.rfind("\n\n{")
    after = code[at:] if at >= 0 else ""
    return (code[:at] + "\n", after) if after and states_identity(after.strip()) else (code, "")


def _trimmed(code: str, language: str) -> str:
    """Code without the words behind it, where its last line shows: Go's ends with a brace or a bracket."""
    if language != "go":
        return code
    lines = code.rstrip().splitlines(keepends=True)
    last = next((number for number in range(len(lines), 0, -1) if lines[number - 1].rstrip()[-1:] in ("}", ")")), 0)
    return "".join(lines[:last]) or code
