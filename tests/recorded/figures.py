"""What the command line prints about the old ledger."""

import json
import re
from pathlib import Path

import msgspec

from tests.api.cli.command import done
from tests.recorded.difference import encoded, lines_of
from tests.recorded.old_ledger import COMMANDS
from tests.recorded.texts import strings_of, without_texts

_varying = re.compile(r'("elapsed_ms":)\d+')


class PrintedFigures(msgspec.Struct, frozen=True):
    """A command, and the JSON that it printed."""

    command: str
    out: msgspec.Raw


def figures(ledger: Path) -> bytes:
    """Return a line for each of `COMMANDS`, without texts for people."""
    sent = {text for line in lines_of(done(ledger, "log", "--json").out) for text in strings_of(json.loads(line))}
    printed = []
    for words in COMMANDS:
        out = without_texts(done(ledger, *words, "--json").text.rstrip("\n"), sent)
        printed.append(PrintedFigures(" ".join(words), msgspec.Raw(_varying.sub(r'\1"<ms>"', out).encode())))
    return encoded(printed)
