"""A judge without a language model: a criterion is met if the answer has a quarter of its reference's words.

It shows the contract of a judge that is a command: the prompt on standard input, one JSON object on standard output.
As a judge it is poor, since it knows words and no meaning: use a language model for real verdicts.
"""

import json
import re
import sys

WORD = re.compile(r"[a-z]{4,}")
FENCE = re.compile(r"^<tallystick-answer ([0-9a-f]+)>\n(.*)\n</tallystick-answer \1>$", re.MULTILINE)
ENOUGH = 1 / 4
"""The share of the reference's words that meets a criterion."""


def judge(criterion: dict[str, str], answer: str) -> dict[str, object]:
    """Return the verdict on one criterion."""
    wanted = set(WORD.findall((criterion.get("reference") or criterion["question"]).lower()))
    lines = answer.split("\n")
    best = max(lines, key=lambda line: len(wanted & set(WORD.findall(line.lower()))))
    found = wanted & set(WORD.findall(answer.lower()))
    share = len(found) / max(1, len(wanted))
    passed = share >= ENOUGH
    return {
        "criterion": criterion["criterion"],
        "passed": passed,
        "confidence": round(0.5 + abs(share - ENOUGH) / 2, 2),
        "reason": f"It has {len(found)} of {len(wanted)} words of the reference.",
        "quote": best if passed else None,
    }


prompt = sys.stdin.read()
match = FENCE.search(prompt)
assert match is not None, "the prompt has an answer between delimiters"
head = prompt[: match.start()]
criteria = [json.loads(line) for line in head.split("\n") if line.startswith('{"criterion": ')]
print(json.dumps({"verdicts": [judge(criterion, json.loads(match[2])) for criterion in criteria]}))
