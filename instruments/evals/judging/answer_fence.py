r"""Show an untrusted answer to a judge: as one line of JSON between two delimiters that its author cannot know.

The answer becomes a JSON string. Letters and punctuation stay as they are. `<`, `>` and `&`, the delimiter's name, and
every character that controls, hides or reorders text are escaped as in `\u003c`, so that nothing inside can look like a
delimiter, a tag or another line.
"""

import json
import re
import unicodedata
from typing import Any

FENCE = "tallystick-answer"
"""The name of the delimiters."""

ANSWER_CHARS_MAX = 200_000
"""Characters of an answer that a judge gets. A longer one is not judged, since it would be judged in part."""

QUOTE_LETTERS_MIN = 2

AUTHOR_KEYS = ("model", "reported_model", "confidence")
"""What an answer states about itself. A judge does not see it, so that it cannot favour a model."""

_escaped_categories = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_markup = frozenset("<>&")
_fence_name = re.compile(re.escape(FENCE), re.IGNORECASE)
_white_space = re.compile(r"\s+")
_written_escape = re.compile(r"\\u([0-9a-fA-F]{4})")


def answer_text(answer: dict[str, Any]) -> str:
    """Return an answer as the judge reads it: one line for each text or value, after its place."""
    shown = {name: value for name, value in answer.items() if name not in AUTHOR_KEYS}
    return "\n".join(_lines("", shown)) or "(The answer is empty.)"


def fenced(text: str, nonce: str) -> str:
    """Return a text as JSON string between delimiters with a nonce: always three lines."""
    return f"<{FENCE} {nonce}>\n{json_line(text)}\n</{FENCE} {nonce}>"


def json_line(text: str) -> str:
    """Return a text as a JSON string on one line, without markup and without invisible characters."""
    text = _fence_name.sub(lambda found: f"{found[0][0]}\u200d{found[0][1:]}", text)
    return '"' + "".join(map(_escape, text)) + '"'


def contains_quote(text: str, quote: str) -> bool:
    """Return whether a quote occurs in an answer's text word for word; white space may differ.

    A judge may quote what it was shown, where some characters are written as escapes. A quote needs two letters or
    digits of the answer itself: the places before its texts are ours.
    """
    wanted = _normalized(quote)
    places = (line.partition(": ")[0] for line in text.split("\n") if ": " in line)
    place = next((place for place in places if wanted == place or wanted.startswith(f"{place}:")), "")
    if sum(map(str.isalnum, wanted.removeprefix(place))) < QUOTE_LETTERS_MIN:
        return False
    return wanted in _normalized(text) or _unescaped(wanted) in _normalized(text)


def _lines(path: str, value: object) -> list[str]:
    if isinstance(value, dict):
        return [
            line for name, inner in value.items() for line in _lines(f"{path}.{name}" if path else str(name), inner)
        ]
    if isinstance(value, list):
        return [line for number, inner in enumerate(value) for line in _lines(f"{path}[{number}]", inner)]
    return [f"{path}: {value if isinstance(value, str) else json.dumps(value)}"]


def _escape(letter: str) -> str:
    if letter in '"\\\n':
        return "\\n" if letter == "\n" else f"\\{letter}"
    if letter in _markup or (letter != " " and unicodedata.category(letter) in _escaped_categories):
        units = letter.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
    return letter


def _normalized(text: str) -> str:
    return _white_space.sub(" ", text).strip()


def _unescaped(text: str) -> str:
    text = _written_escape.sub(lambda found: chr(int(found[1], 16)), text)
    return _normalized(text.replace("\\n", " ").replace('\\"', '"'))
