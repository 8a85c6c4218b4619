"""A battery: several probes in one prompt, so that the model that names itself answers all of them.

A router may send each prompt to another model, so a second prompt could not ask the same one. The answer has one part
for each probe, each below a line of its own. A part that is missing is a declined answer to its probe.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from instruments.discovery.code_fences import CodeBlock, split_blocks
from instruments.discovery.identity_parser import IdentityClaims, find_identities
from instruments.discovery.scored_output import extract_output, mark_unfenced_code
from instruments.probes import Probe

BATTERY_PROMPT_VERSION = "battery-1"
"""Raised whenever a byte of a battery's prompt changes."""

_INSTRUCTION = """\
The task has {count} parts, which do not depend on each other. Answer each part as if it were the only one. Begin the
answer to part 1 with the line

=== PART 1 ===

and the answers to the other parts with such a line with their number. Answer every part, in this order.
"""

_marker = re.compile(r"^[ \t]*={2,}[ \t]*PART[ \t]+(\d{1,3})[ \t]*={2,}[ \t]*$", re.MULTILINE)
_heading = re.compile(r"^[ \t]*(?:#+|\*\*|__)[ \t]*part[ \t]+(\d{1,3})\b[^\n]{0,60}$", re.MULTILINE | re.IGNORECASE)
_fence = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)


class Battery(Probe, frozen=True, kw_only=True):
    """Several probes as one task. Its id, version, stimulus and scorer are those of the first probe."""

    probes: tuple[Probe, ...]
    """The probes, in the order of the parts."""


class BatteryAnswer(NamedTuple):
    """The identities that an answer claims, and the output for each probe; None for a part that is missing."""

    identities: IdentityClaims
    outputs: list[str | None]


def make_battery(probes: Sequence[Probe]) -> Probe:
    """Return several probes as one task; a single probe is itself."""
    first = probes[0]
    if len(probes) == 1:
        return first
    parts = [f"Part {number}:\n\n{probe.prompt}" for number, probe in enumerate(probes, 1)]
    return Battery(
        id=first.id,
        version=first.version,
        kind="text",
        language=None,
        stimulus=first.stimulus,
        prompt="\n\n".join([_INSTRUCTION.format(count=len(probes)), *parts]),
        scorer=first.scorer,
        probes=tuple(probes),
    )


def probes_of(probe: Probe) -> tuple[Probe, ...]:
    """Return the probes of a battery; of a single probe, itself."""
    return probe.probes if isinstance(probe, Battery) else (probe,)


def read_parts(text: str, battery: Probe) -> BatteryAnswer:
    """Find the identities and the output of each part of an answer, or of the whole; linear in its length.

    The identity is before the first part, or else anywhere.
    """
    if not isinstance(battery, Battery):
        identities = find_identities(mark_unfenced_code(split_blocks(text), battery))
        return BatteryAnswer(identities, [extract_output(identities.rest, battery)])
    before, parts = _split_parts(text, len(battery.probes))
    identities = find_identities(split_blocks(before))
    stated_before = bool(identities.claims or identities.complaints)
    if not stated_before:
        identities = find_identities(split_blocks(text))
    outputs: list[str | None] = []
    for probe, part in zip(battery.probes, parts, strict=True):
        blocks: Sequence[CodeBlock] = mark_unfenced_code(split_blocks(part or ""), probe)
        outputs.append(extract_output(blocks if stated_before else find_identities(blocks).rest, probe))
    return BatteryAnswer(identities, outputs)


def _split_parts(text: str, count: int) -> tuple[str, list[str | None]]:
    """Return the text before the first part, and the text of each part.

    The marker that the prompt asks for begins a part anywhere. An answer without any may use headings (`## Part 2`)
    outside of code fences. The first marker of a number is used.
    """
    markers = list(_marker.finditer(text)) or _headings(text)
    found: dict[int, re.Match[str]] = {}
    for marker in markers:
        if 1 <= int(marker[1]) <= count:
            found.setdefault(int(marker[1]), marker)
    starts = sorted(found.items(), key=lambda item: item[1].start())
    parts: list[str | None] = [None] * count
    for place, (number, marker) in enumerate(starts):
        end = starts[place + 1][1].start() if place + 1 < len(starts) else len(text)
        parts[number - 1] = text[marker.end() : end].strip("\n")
    return text[: starts[0][1].start()] if starts else text, parts


def _headings(text: str) -> list[re.Match[str]]:
    """Return the headings of parts that are outside of code fences."""
    fences = [match.start() for match in _fence.finditer(text)]
    headings, passed = [], 0
    for heading in _heading.finditer(text):
        while passed < len(fences) and fences[passed] < heading.start():
            passed += 1
        if passed % 2 == 0:
            headings.append(heading)
    return headings
