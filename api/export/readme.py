"""README.md of an export: what is in it, and how anybody verifies it without us.

Its programs keep what it promises: twenty lines of plain Python, which our tests run on exports, and on exports that
were tampered with. Nothing that an agent wrote stands in it.
"""

from string import Template

from api.export.manifest import CHECKPOINT, EARLIER, EVIDENCE, FORMAT, LEAVES, MANIFEST, PROOFS, events_name
from api.export.selection import ExportSelection

_PAGE = Template("""\
# An export of a Tallystick ledger

Tallystick keeps what AI agents say in one log, to which events are only ever added. An event is a line of JSON; the
lines are the leaves of a Merkle tree (RFC 6962, SHA-256), and the ledger signs its root. Here $are, and all
that it takes to verify them without Tallystick and without a network.

|file|what it is|
|-|-|
$files

The format is `$format`. Nobody signs `$manifest`: what proves the events is the root in `$checkpoint`, worked out anew
from the lines; and what proves the root is its signature, by a key that reached you by another way than this export.

## Verify the events

Save this as `verify.py`, and run it in this folder by Python 3.11 or newer$needs: `python3 verify.py`. It says
`whole`, or ends with exit code 1 and says what is wrong.

```python
$program```

$proven

## Verify the signature

This needs `pip install cryptography`. Save it as `signed.py`, and give it the verifier key that you have of the
ledger's operator: `python3 signed.py KEY`. Without KEY it takes the one in `$manifest`, which whoever forges an export
would have replaced.

```python
$signature```
""")

_EVENTS = {
    "ndjson": "the events, in order of position: a line each, as it is stored",
    "csv": "the events as a table. Its column `line` holds the line as it is stored, or in base64, which never begins"
    " with `{`, where a spreadsheet could take a part of it for a formula. The other columns are for reading: where a"
    " formula could begin, an apostrophe stands before it. Verify the file as it came: saved again, it is another",
    "parquet": "the events as a table. Its column `line` holds the line as it is stored; the others are for reading",
}

_ABOUT = {
    LEAVES: "SHA-256 of 0x00 and the line, 32 bytes for each event: where the root is wrong, it tells which line is",
    PROOFS: "for each event, in that order, the proof that it stands in the log at its position (RFC 6962, 2.1.1)",
    CHECKPOINT: "the signed note: the log's name, how many events it has, and their root (C2SP tlog-checkpoint)",
    EARLIER: f"a note published before it; `consistency` in `{MANIFEST}` proves that the log went on from there"
    " (RFC 6962, 2.1.2)",
    f"{EVIDENCE}/": "what events name by digest, unless it was erased. A file's name is its SHA-256:"
    ' `for f in *; do echo "$f  $f"; done | sha256sum --check`',
    MANIFEST: "what was asked for, counts, the verifier key, and size and SHA-256 of the files but for the evidence",
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

_PROVEN_WHOLE = """\
What it says `whole` of are all events of the log up to the checkpoint's size: none is changed, missing, added or
moved."""

_PROVEN_CHOSEN = """\
What it says `whole` of is each event here: it stands in the log at its position, and is not changed. That no event is
missing which the filters in the manifest ask for, only a complete export proves."""


def readme(selection: ExportSelection, *, earlier: bool) -> str:
    """The page of an export; whether it holds an `earlier` checkpoint."""
    complete = selection.complete
    name = events_name(selection.format, gzipped=selection.gzipped)
    return _PAGE.substitute(
        are="are all its events" if complete else "are some of its events",
        files="\n".join(f"|`{file}`|{about}|" for file, about in _files(selection, name, earlier=earlier).items()),
        format=FORMAT,
        manifest=MANIFEST,
        checkpoint=CHECKPOINT,
        needs=" with `pip install pyarrow`" if selection.format == "parquet" else "",
        program=program(selection),
        proven=_PROVEN_WHOLE if complete else _PROVEN_CHOSEN,
        signature=_SIGNATURE,
    )


def program(selection: ExportSelection) -> str:
    """The program that verifies the events of an export."""
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


def _files(selection: ExportSelection, events: str, *, earlier: bool) -> dict[str, str]:
    """The files of an export, and what each is."""
    left_out = {
        name
        for name, there in (
            (PROOFS, not selection.complete),
            (EARLIER, earlier),
            (f"{EVIDENCE}/", selection.evidence),
        )
        if not there
    }
    return {events: _EVENTS[selection.format]} | {name: about for name, about in _ABOUT.items() if name not in left_out}
