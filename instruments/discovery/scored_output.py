"""Extract the part of an answer that a probe scores: the code of one fence, or the text without the identity."""

import re
from collections.abc import Sequence

from instruments.discovery.code_fences import CodeBlock
from instruments.discovery.identity_parser import states_identity
from instruments.probes import Probe

LABELS = {
    "go": frozenset({"go", "golang"}),
    "python": frozenset({"py", "py3", "python", "python3"}),
}
"""The labels of code fences, by language."""

_function_start = {
    "go": re.compile(r"^[ \t]*func[ \t(]", re.MULTILINE),
    "python": re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]", re.MULTILINE),
}
_code_start = {
    "go": re.compile(r"^(?:package |import [\"(]|func[ \t(]|type \w+ |const[ (]|var[ (]|//|/\*)", re.MULTILINE),
    "python": re.compile(r"^(?:import \w|from \w[\w.]* import|(?:async )?def |class \w|@\w|\"\"\"|''')", re.MULTILINE),
}


def mark_unfenced_code(blocks: Sequence[CodeBlock], probe: Probe) -> list[CodeBlock]:
    """Return the blocks, with code outside fences as labelled blocks.

    If a probe asks for code and no fence contains any, all text from the first line of code on is code, except an
    identity at the very end.
    """
    language = probe.language
    if language is None or any(_language_rank(block, language) for block in blocks):
        return list(blocks)
    marked: list[CodeBlock] = []
    for block in blocks:
        first_line = _code_start[language].search(block.text) if block.label is None else None
        if first_line is None or _function_start[language].search(block.text, first_line.start()) is None:
            marked.append(block)
            continue
        start = _comment_start(block.text, first_line.start())
        code, identity = _split_trailing_identity(block.text[start:])
        marked += [
            CodeBlock(block.text[:start]),
            CodeBlock(_trim_trailing_prose(code, language), language),
            CodeBlock(identity),
        ]
    return marked


def extract_output(blocks: Sequence[CodeBlock], probe: Probe) -> str | None:
    """Return the part of an answer's blocks to score; None if none is of the requested kind.

    The blocks must not contain identities.
    """
    return _extract_text(blocks) if probe.language is None else _extract_code(blocks, probe, probe.language)


def _extract_code(blocks: Sequence[CodeBlock], probe: Probe, language: str) -> str | None:
    """Return the block that fits the language best, of several the largest; the task's own code only if it is all."""
    fitting = [block for block in blocks if _language_rank(block, language)]
    answered = [block for block in fitting if block.text.strip() != probe.stimulus.strip()]
    best = max(answered or fitting, key=lambda block: (_language_rank(block, language), len(block.text)), default=None)
    return None if best is None else best.text.rstrip() + "\n"


def _language_rank(block: CodeBlock, language: str) -> int:
    """Return how well a block fits a language: 0 not at all, 1 by its label, 2 by a function in it, 3 by both."""
    if block.label is None:
        return 0
    labelled = block.label in LABELS[language]
    foreign = any(block.label in labels for name, labels in LABELS.items() if name != language)
    declares = not foreign and _function_start[language].search(block.text) is not None
    return labelled + 2 * declares


def _extract_text(blocks: Sequence[CodeBlock]) -> str | None:
    """Return all text with its fences; a fence around the whole text is left out."""
    if len(blocks) == 1:
        return blocks[0].text.strip() or None
    parts = [block.text.strip() if block.label is None else _fenced(block) for block in blocks]
    return "\n\n".join(part for part in parts if part) or None


def _fenced(block: CodeBlock) -> str:
    return f"```{block.label}\n{block.text.rstrip()}\n```"


def _comment_start(text: str, start: int) -> int:
    """Return the offset where the `#` lines directly above an offset begin."""
    while start and text[text.rfind("\n", 0, start - 1) + 1] == "#":
        start = text.rfind("\n", 0, start - 1) + 1
    return start


def _split_trailing_identity(code: str) -> tuple[str, str]:
    """Split code from an identity that follows it after an empty line; the identity is empty if there is none."""
    at = code.rfind("\n\n{")
    identity = code[at:] if at >= 0 else ""
    return (code[:at] + "\n", identity) if identity and states_identity(identity.strip()) else (code, "")


def _trim_trailing_prose(code: str, language: str) -> str:
    """Cut the prose after Go code, whose last line ends with a brace or a bracket; leave other code as it is."""
    if language != "go":
        return code
    lines = code.rstrip().splitlines(keepends=True)
    last = next((number for number in range(len(lines), 0, -1) if lines[number - 1].rstrip()[-1:] in ("}", ")")), 0)
    return "".join(lines[:last]) or code
