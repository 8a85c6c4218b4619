"""README.md of an export: its files, and how to verify them without Tallystick.

It contains two programs of twenty lines of plain Python. Our tests run them on exports, and on exports that were
tampered with. It contains no text that an agent wrote.
"""

from string import Template

from api.export.manifest import (
    CHECKPOINT,
    EARLIER,
    EVIDENCE,
    FORMAT,
    LEAVES,
    MANIFEST,
    PROOFS,
    WITNESSED,
    events_name,
)
from api.export.selection import ExportSelection

_PAGE = Template("""\
# An export of a Tallystick ledger

Tallystick records the decisions of AI agents in one append-only log. An event is a line of JSON. The lines are the
leaves of a Merkle tree (RFC 6962, SHA-256), and the ledger signs its root. This export has $events of the log, and
everything needed to verify them without Tallystick and without a network.

|file|what it is|
|-|-|
$files

The format is `$format`. `$manifest` is not signed. The root in `$checkpoint` proves the events: the program below
computes it again from the lines. The signature proves the root, if you have the key from another
source than this export.

## Verify the events

Save this as `verify.py`, and run it in this folder with Python 3.11 or newer$needs: `python3 verify.py`. It prints
`whole`, or prints what is wrong and exits with code 1.

```python
$program```

$proven

## Verify the signature

This needs `pip install cryptography`. Save it as `signed.py`, and pass the verifier key that you have from the
ledger's operator: `python3 signed.py KEY`. Without KEY it uses the one in `$manifest`, which a forger would have
replaced.

```python
$signature```
$cosigned""")

_COSIGNED = """
## Verify the cosignature of a witness

`$witnessed` has the signatures of the ledger and of a witness, an independent service. Save this as `cosigned.py`, and
pass the verifier key that you have from the witness's operator: `python3 cosigned.py KEY`.

```python
$cosignature```
"""

_EVENTS = {
    "ndjson": "the events in order of position, each as the line that is stored",
    "csv": "the events as a table. Its column `line` has the stored line, in base64 if a spreadsheet could read a part"
    " of it as a formula; base64 never begins with `{`. The other columns are for reading: an apostrophe is put before"
    " anything that could begin a formula. Verify the file before you save it in a spreadsheet: that changes its bytes",
    "parquet": "the events as a table. Its column `line` has the stored line; the other columns are for reading",
}

_ABOUT = {
    LEAVES: "SHA-256 of 0x00 and the line, 32 bytes for each event: if the root is wrong, it shows which line is",
    PROOFS: "for each event, in that order, the proof that it is in the log at its position (RFC 6962, 2.1.1)",
    CHECKPOINT: "the signed note: the log's name, its number of events, and their root (C2SP tlog-checkpoint)",
    EARLIER: f"a note published before it; `consistency` in `{MANIFEST}` proves that the log continues it"
    " (RFC 6962, 2.1.2)",
    WITNESSED: "the newest note that a witness has cosigned (C2SP tlog-cosignature); the log continues it",
    f"{EVIDENCE}/": "the evidence that events name by digest, unless it was erased. A file's name is its SHA-256:"
    ' `for f in *; do echo "$f  $f"; done | sha256sum --check`',
    MANIFEST: "the filters, counts, the verifier key, and the size and SHA-256 of each file except the evidence",
}

_LINES = {
    "ndjson": """\
lines = (line.rstrip(b"\\n") for line in $open("$name", "rb"))
""",
    "csv": """\
csv.field_size_limit(1 << 20)
rows = csv.DictReader($open("$name", "rt", newline="", encoding="utf-8-sig"))
lines = (text.encode() if text[0] == "{" else base64.b64decode(text) for text in (row["line"] for row in rows))
""",
    "parquet": """\
batches = pyarrow.parquet.ParquetFile("$name").iter_batches(columns=["line"])
lines = (line.as_py().encode() for batch in batches for line in batch["line"])
""",
}

_BEGINNING = """\
import $modules

def check(right, what): return right or sys.exit(f"WRONG: {what}")
def sha256(*parts): return hashlib.sha256(b"".join(parts)).digest()
$climb
for name, file in json.load(open("manifest.json"))["files"].items():
    check(hashlib.file_digest(open(name, "rb"), "sha256").hexdigest() == file["sha256"], f"the file {name}")
origin, size, root = open("checkpoint", encoding="utf-8").read().split("\\n")[:3]
"""

_WHOLE = """\
position, roots = 0, []
for position, line in enumerate(lines, 1):
    check(json.loads(line)["position"] == position, f"position {position}")
    node, pairs = sha256(b"\\0", line), position
    while pairs % 2 == 0:
        node, pairs = sha256(b"\\1", roots.pop(), node), pairs // 2
    roots.append(node)
while len(roots) > 1:
    roots[-2:] = [sha256(b"\\1", *roots[-2:])]
check(position == int(size) and base64.b64decode(root) == (roots or [sha256()])[0], "the root is another")
print("whole: all", size, "events of", origin)
"""

_CLIMB = """
def climb(node, index, size, proof):
    if size == 1: return node
    half, sibling = 1 << (size - 1).bit_length() - 1, proof.pop()
    if index < half:
        return sha256(b"\\1", climb(node, index, half, proof), sibling)
    return sha256(b"\\1", sibling, climb(node, index - half, size - half, proof))
"""

_CHOSEN = """\
position, count = 0, 0
for count, (line, proof) in enumerate(zip(lines, map(json.loads, open("proofs.ndjson")), strict=True), 1):
    check(position < json.loads(line)["position"] == proof["position"] <= int(size), f"what follows {position}")
    position, hashes = proof["position"], [base64.b64decode(text) for text in proof["hashes"]]
    found = climb(sha256(b"\\0", line), position - 1, int(size), hashes)
    check(found == base64.b64decode(root) and not hashes, f"the event at position {position}, or its proof")
print("whole:", count, "of the", size, "events of", origin)
"""

_SIGNATURE = """\
import base64, json, sys
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

key = sys.argv[1] if len(sys.argv) > 1 else json.load(open("manifest.json"))["verifier"]
name, key_id, public = key.split("+", 2)
text, _, signatures = open("checkpoint", encoding="utf-8").read().rpartition("\\n\\n")
found = [line.split(" ")[2] for line in signatures.split("\\n") if line.startswith(f"\u2014 {name} ")]
found = [held[4:] for held in map(base64.b64decode, found) if held[:4].hex() == key_id]
if not found or text.split("\\n")[0] != name:
    sys.exit("WRONG: not signed with this key")
try:
    Ed25519PublicKey.from_public_bytes(base64.b64decode(public)[1:]).verify(found[0], f"{text}\\n".encode())
except InvalidSignature:
    sys.exit("WRONG: the signature is not of this checkpoint")
print("signed by", name)
"""

_COSIGNATURE = """\
import base64, datetime, sys
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

name, key_id, public = sys.argv[1].split("+", 2)
text, _, signatures = open("checkpoint.witnessed", encoding="utf-8").read().rpartition("\\n\\n")
found = [line.split(" ")[2] for line in signatures.split("\\n") if line.startswith(f"\u2014 {name} ")]
found = [held[4:] for held in map(base64.b64decode, found) if held[:4].hex() == key_id]
if not found:
    sys.exit("WRONG: not cosigned with this key")
seconds = int.from_bytes(found[0][:8], "big")
try:
    message = f"cosignature/v1\\ntime {seconds}\\n{text}\\n".encode()
    Ed25519PublicKey.from_public_bytes(base64.b64decode(public)[1:]).verify(found[0][8:], message)
except InvalidSignature:
    sys.exit("WRONG: the cosignature is not of this checkpoint")
moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
print("the first", text.split("\\n")[1], "events cosigned by", name, "at", moment)
"""

_PROVEN_WHOLE = """\
`whole` means: these are all events of the log up to the checkpoint's size; none is changed, missing, added or moved."""

_PROVEN_CHOSEN = """\
`whole` means: each event here is in the log at its position, unchanged. It does not prove that every event that matches
the filters is here: only a complete export proves that."""


def readme(selection: ExportSelection, *, earlier: bool, witnessed: bool) -> str:
    """Return the text; `earlier` and `witnessed` say whether the export has an earlier and a cosigned checkpoint."""
    complete = selection.complete
    name = events_name(selection.format, gzipped=selection.gzipped)
    present = {PROOFS: not complete, EARLIER: earlier, WITNESSED: witnessed, f"{EVIDENCE}/": selection.evidence}
    cosigned = Template(_COSIGNED).substitute(witnessed=WITNESSED, cosignature=_COSIGNATURE) if witnessed else ""
    return _PAGE.substitute(
        events="all events" if complete else "some events",
        files="\n".join(f"|`{file}`|{about}|" for file, about in _files(selection, name, present).items()),
        format=FORMAT,
        manifest=MANIFEST,
        checkpoint=CHECKPOINT,
        needs=" with `pip install pyarrow`" if selection.format == "parquet" else "",
        program=program(selection),
        proven=_PROVEN_WHOLE if complete else _PROVEN_CHOSEN,
        signature=_SIGNATURE,
        cosigned=cosigned,
    )


def program(selection: ExportSelection) -> str:
    """Return the program that verifies the events of an export."""
    modules = ["base64", "hashlib", "json", "sys"]
    if selection.format == "csv":
        modules.append("csv")
    if selection.format == "parquet":
        modules.append("pyarrow.parquet")
    if selection.gzipped:
        modules.append("gzip")
    beginning = Template(_BEGINNING).substitute(
        modules=", ".join(sorted(modules)), climb="" if selection.complete else _CLIMB
    )
    lines = Template(_LINES[selection.format]).substitute(
        open="gzip.open" if selection.gzipped else "open",
        name=events_name(selection.format, gzipped=selection.gzipped),
    )
    return beginning + lines + (_WHOLE if selection.complete else _CHOSEN)


def _files(selection: ExportSelection, events: str, present: dict[str, bool]) -> dict[str, str]:
    """Return a description of each file of an export; `present` says which of those that may be missing it has."""
    described = {name: about for name, about in _ABOUT.items() if present.get(name, True)}
    return {events: _EVENTS[selection.format]} | described
