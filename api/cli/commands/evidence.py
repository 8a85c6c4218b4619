"""evidence: store, print, erase and list the files that are kept beside the log."""

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import show, use_answers, use_store
from api.cli.options import AsOf, argument, flag, option
from api.cli.output import open_console, print_bytes, print_json, print_note, table_of, truncate
from api.text_format import one_line, pluralize
from ledger.errors import InvalidQuery

if TYPE_CHECKING:
    from api.service.evidence import EvidenceContent, StoredEvidence
    from api.service.evidence_list import EvidencePage

Digest = Annotated[str, argument("The SHA-256 digest, 64 hex digits.", "DIGEST")]


@verb(server=True)
def put(
    target: LedgerTarget,
    file: Annotated[str, argument("The file to store; - is standard input.", "[FILE|-]")] = "-",
    media_type: Annotated[str | None, option("The media type.", "TYPE/SUBTYPE")] = None,
    note: Annotated[str | None, option("A description. It stays in the log permanently.")] = None,
) -> None:
    """Store the bytes of a file and print their digest.

    The digest alone is on standard output. Storing the same bytes again adds nothing.

    Example: DIGEST=$(tallystick evidence put response.txt --media-type text/plain)
    """
    from api.service.evidence import Blob
    from events.limits import EVIDENCE_BYTES_MAX
    from ledger.regular_file import read_input

    blob = Blob(read_input(file, EVIDENCE_BYTES_MAX + 1), media_type, note)
    show(target, use_store(target, lambda store: store.put(blob)), _print_stored)


def _print_stored(stored: "StoredEvidence") -> None:
    state = "there already" if stored.duplicate else "stored"
    print_note(f"{pluralize(stored.size_bytes, 'byte')} {state}, recorded at position {stored.position:,}.")
    typer.echo(stored.digest)


@verb(server=True, reads=True)
def get(
    target: LedgerTarget,
    digest: Digest,
    output: Annotated[Path | None, option("Write the bytes to this file.", "FILE")] = None,
) -> None:
    """Print the bytes of a digest, verified.

    Exit code 1: they were erased.

    Example: tallystick evidence get $DIGEST --output response.txt
    """
    from ledger.private_file import make_private_file

    content = use_store(target, lambda store: store.evidence(digest), writable=False)
    if output is not None:
        if not output.exists():
            make_private_file(output)
        output.write_bytes(content.data)
        print_note(f"{pluralize(len(content.data), 'byte')} in {output}.")
    if target.json:
        print_json(_json_fields(content))
    elif output is None:
        if sys.stdout.isatty() and not is_readable(content.data):
            detail = "the bytes contain control characters, which a terminal would obey."
            raise InvalidQuery("output", detail, "Name a file, or add --json.")
        print_bytes(content.data)


@verb(server=True)
def erase(
    target: LedgerTarget,
    digest: Digest,
    reason: Annotated[str, option("The reason. It stays in the log permanently.")],
    yes: Annotated[bool, flag("--yes", "Do not ask for confirmation.")] = False,
) -> None:
    """Erase the bytes of a digest permanently.

    They cannot be restored. The events that name them do not change.

    Example: tallystick evidence erase $DIGEST --reason "it names a person" --yes
    """
    if not yes and not sys.stdin.isatty():
        raise InvalidQuery("yes", "erasing is permanent, and nobody can confirm it here.", "Add --yes.")
    if not yes:
        typer.confirm(f"Erase {digest} permanently?", abort=True, err=True)
    erased = use_store(target, lambda store: store.erase(digest, reason))
    when = f"{'was already' if erased.duplicate else 'is'} erased, recorded at position {erased.position:,}"
    show(target, erased, lambda _: typer.echo(f"{digest} ({pluralize(erased.size_bytes, 'byte')}) {when}."))


@verb(server=True, reads=True)
def list_evidence(target: LedgerTarget, as_of: AsOf = None) -> None:
    """List stored and erased evidence.

    In the order of the log.

    Example: tallystick evidence list
    """
    from api.service.evidence_list import list_all_evidence

    show(target, use_answers(target, as_of, list_all_evidence), _print_evidence)


def is_readable(data: bytes) -> bool:
    """Return whether bytes are text, without control characters other than tabs and line ends."""
    text = data.decode(errors="replace")
    return "\ufffd" not in text and all(letter.isprintable() or letter in "\t\r\n" for letter in text)


def _json_fields(content: "EvidenceContent") -> dict[str, object]:
    """Return a piece of evidence for JSON: as text if it is UTF-8, otherwise in base64."""
    fields: dict[str, object] = {
        "digest": content.digest,
        "size_bytes": len(content.data),
        "media_type": content.media_type,
    }
    try:
        return fields | {"text": content.data.decode()}
    except UnicodeDecodeError:
        return fields | {"base64": content.data}


def _print_evidence(page: "EvidencePage") -> None:
    if not page.evidence:
        print_note("No evidence is stored.")
        return
    table = table_of(
        page.evidence,
        {"digest": "digest", "bytes": "size_bytes", "media type": "media_type",
         "stored (UTC)": lambda piece: datetime.fromisoformat(piece.time),
         "erased": lambda piece: f"{datetime.fromisoformat(piece.erased.time):%Y-%m-%d}" if piece.erased else "-",
         "": lambda piece: truncate(one_line(piece.erased.reason if piece.erased else piece.note))},
        right=("bytes",), wrap=("",), drop=("", "media type", "stored (UTC)", "bytes"),
    )  # fmt: skip
    open_console().print(table)
