# ruff: noqa: E501 - programs, a line each
"""Answers to the refactor probe in Python: right ones of many styles, and ones that deserve nothing."""

from instruments.probes.refactor.scorer import PYTHON_ORIGINAL as M
from tests.instruments.probes.candidates import CLASS_PYTHON, SPLIT_PYTHON, plain

MINIMAL = """\
def d(a, b, c):
    r = 0
    s = ""
    for v in a:
        if v > 0:
            r += v
            if c:
                s += f"{v},"
        elif v < 0:
            r -= v
            if c:
                s += f"({v}),"
    if r == 0:
        raise ValueError(f"empty result for {b}")
    if b:
        s = f"{b}: {s}"
    return r, s
"""

TUPLE = plain(SPLIT_PYTHON).replace("return Summary(total=total, text=text)", "return total, text")
COMMAS = TUPLE.replace('return "".join(map(closed, parts))', 'return "".join(map(closed, parts))')

COMPREHENSIONS = '''\
"""Totals with a description."""


def format_value(value: int) -> str:
    """Negative numbers are in parentheses, as in accounts."""
    return f"{value}," if value > 0 else f"({value}),"


def summarise(values: list[int], label: str, verbose: bool) -> tuple[int, str]:
    """Return the sum of the magnitudes, and a description of each part if requested.

    Raises ValueError if nothing but zeros was given.
    """
    total = sum(abs(value) for value in values)
    if total == 0:
        raise ValueError(f"empty result for {label}")
    text = "".join(format_value(value) for value in values if value) if verbose else ""
    return total, f"{label}: {text}" if label else text
'''

RIGHT = {
    "minimal": MINIMAL,
    "one loop over values": M.replace("for i in range(len(a)):", "for v in a:").replace("a[i]", "v"),
    "all names": M.replace("d(a, b, c)", "describe_total(values, label, verbose)")
    .replace("len(a)", "len(values)")
    .replace("a[i]", "values[i]")
    .replace("c == True", "verbose")
    .replace('" + b)', '" + label)')
    .replace('if b != ""', 'if label != ""')
    .replace("s = b +", "s = label +")
    .replace("r = r", "total = total")
    .replace("r = 0", "total = 0")
    .replace("r == 0", "total == 0")
    .replace("(r, s)", "(total, s)"),
    "a class": plain(CLASS_PYTHON),
    "functions, constants, an error of its own": TUPLE,
    "comprehensions": COMPREHENSIONS,
    "early return of the error": """\
def summarise(values, label, verbose):
    total = 0
    parts = []
    for value in values:
        total += abs(value)
        if not verbose or value == 0:
            continue
        parts.append(str(value) + "," if value > 0 else "(" + str(value) + "),")
    if not total:
        raise ValueError("empty result for " + label)
    prefix = label + ": " if label else ""
    return total, prefix + "".join(parts)
""",
    "a named tuple": '''\
from typing import NamedTuple


class Summary(NamedTuple):
    """What callers get, in the order in which they unpack it."""

    total: int
    text: str


def summarise(values, label, verbose):
    total = sum(map(abs, values))
    if total == 0:
        raise ValueError(f"empty result for {label}")
    text = "".join(_mark(value) for value in values if value != 0) if verbose else ""
    return Summary(total, f"{label}: {text}" if label else text)


def _mark(value):
    # accountants put losses in parentheses
    return f"{value}," if value > 0 else f"({value}),"
''',
    "functools and match": """\
import functools
import operator


def describe(number):
    match number:
        case 0:
            return ""
        case positive if positive > 0:
            return f"{positive},"
        case negative:
            return f"({negative}),"


def add_up(numbers, heading, wordy):
    amount = functools.reduce(operator.add, map(abs, numbers), 0)
    if amount == 0:
        raise ValueError("empty result for " + heading)
    words = "".join(map(describe, numbers)) if wordy else ""
    if heading != "":
        words = heading + ": " + words
    return (amount, words)
""",
}

GUTTED = {
    "nothing": 'def summarise(values, label, verbose):\n    """Sum the magnitudes and describe them."""\n    return 0, ""\n',
    "always an error": 'def d(a, b, c):\n    raise ValueError("empty result for " + b)\n',
    "none": "def d(a, b, c):\n    return None\n",
    "fine structure, no work": TUPLE.replace("sum(abs(value) for value in values)", "len(values)"),
    "no description": MINIMAL.replace('f"{v},"', '""'),
}
WRONG = {
    "wrong sign": MINIMAL.replace("r -= v", "r += v"),
    "wrong sign in full": TUPLE.replace("abs(value)", "value"),
    "zero counts as positive": MINIMAL.replace("v > 0", "v >= 0"),
    "no parentheses": MINIMAL.replace('f"({v}),"', 'f"{v},"'),
    "another error": MINIMAL.replace("ValueError", "KeyError"),
    "another message": MINIMAL.replace("empty result", "no result"),
    "a list for a tuple": MINIMAL.replace("return r, s", "return [r, s]"),
    "its argument changed": MINIMAL.replace("    for v in a:", "    a.sort()\n    for v in a:"),
    "wrong for one value": MINIMAL.replace("r += v", "r += v if v != 7 else 8"),
    "a dataclass for a tuple": plain(SPLIT_PYTHON),
    "does not load": MINIMAL + "\nundefined_name\n",
}
UNRELATED = {
    "a web handler": '''\
import http.server


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers every request with the configured greeting."""

    def do_GET(self):
        # browsers want a length
        body = self.greeting()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def greeting(self):
        return ",".join(["hello"] * 3).encode()
''',
    "a sort": "def sort(values, key, reverse):\n    # stable by construction\n    return sorted(values), key\n",
}
_NO_OPS = '''

def normalise(value):
    """Canonical representation of readings."""
    return value


def validate_label(label):
    result = label + ""
    return result


def log_progress(step):
    for _ in range(3):
        pass


def ensure(flag):
    return not not flag


def twice(value):
    return value * 1 + 0
'''
PADDED = {
    "functions that do nothing": M.replace(
        "    r = 0\n",
        "    a = normalise(a)\n    b = validate_label(b)\n    log_progress(1)\n    c = ensure(c)\n    r = twice(0)\n",
    )
    + _NO_OPS,
    "functions that nothing calls": M + _NO_OPS,
    "functions in dead code": M.replace(
        "    r = 0\n", "    if a is None:\n        normalise(a)\n        log_progress(b)\n    r = 0\n"
    )
    + _NO_OPS,
    "comments that restate": M.replace("    r = 0\n", "    # set r to zero\n    r = 0  # r is 0\n")
    .replace("            r = r + a[i]\n", "            # add a[i] to r\n            r = r + a[i]  # update r\n")
    .replace("    if r == 0:\n", "    # check if r is zero\n    if r == 0:\n")
    .replace("        return (r, s)\n", "        # return the result\n        return (r, s)\n"),
    "prose for comments": M.replace("    r = 0\n", "    # the quick brown fox\n    r = 0  # jumps over lazy dogs\n")
    .replace("    if r == 0:\n", "    # sphinx of black quartz\n    if r == 0:\n")
    .replace("        return (r, s)\n", "        # judge my vow\n        return (r, s)\n"),
    "both": M.replace(
        "    r = 0\n",
        "    # helper for values\n    a = normalise(a)\n    # the quick brown fox\n    b = validate_label(b)\n    r = 0  # test\n",
    )
    + _NO_OPS,
    "a decorator that hides a no-op": M.replace("    r = 0\n", "    r = hidden(0)\n")
    + "\n\ndef keep(function):\n    return lambda value: function(value)\n\n\n@keep\ndef hidden(value):\n    return value\n",
    "fine code whose name the original takes": COMPREHENSIONS.replace("abs(value)", "value")
    + "\n\n"
    + M.replace("def d(", "def _first(")
    + "\n\nsummarise = _first\n",
    "fine code that a decorator replaces": M.replace("def d(", "def _first(")
    + "\n\ndef replaced(_):\n    return _first\n\n\n"
    + COMPREHENSIONS.replace("def summarise", "@replaced\ndef summarise").replace("abs(value)", "value"),
    "functions that return literals": "def nought():\n    return 0\n\n\ndef comma(_=None):\n    mark = ','\n    return mark\n\n\n"
    + M.replace("r = 0\n", "r = nought()\n").replace('+ ","', "+ comma(r)"),
    "functions that return the same each time": "def one(x):\n    return 40 + len(x[:0])\n\n\ndef two():\n    return sum([20, 22])\n\n\n"
    + M.replace("    r = 0\n", "    assert one(a) + two() == 82\n    r = 0\n"),
    "functions that wrap and unwrap": "def put(x):\n    y = (x,)\n    return y\n\n\ndef take(x):\n    return x[0]\n\n\ndef box(x):\n    return [x]\n\n\n"
    + M.replace("    r = 0\n", "    a = take(put(a))\n    a = box(a)[0]\n    r = 0\n"),
    "the original": M,
}
"""These do what the original does, and nothing to make it better."""

BAD = {
    f"{kind}: {name}": answer
    for kind, answers in (("gutted", GUTTED), ("wrong", WRONG), ("unrelated", UNRELATED), ("padded", PADDED))
    for name, answer in answers.items()
}
