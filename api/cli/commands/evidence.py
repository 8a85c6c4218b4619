"""evidence: material kept beside the log, and erased for good."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from api.cli.options import AsJson, AsOf, BearerToken, Url, ledger_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from api.service.evidence import EvidenceContent, EvidencePage
    from api.service.store import EventStore

app = typer.Typer(
    help="Keep material beside the log by its SHA-256 digest, read it, and erase it for good.", no_args_is_help=True
)

_Answer = TypeVar("_Answer")
Digest = Annotated[str, typer.Argument(metavar="DIGEST", help="Its SHA-256, 64 hex digits.")]


@app.command("put")
def put(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help="What to keep; - is standard input.")] = "-",
    media_type: Annotated[str | None, typer.Option(help="What kind of material it is.", metavar="TYPE/SUBTYPE")] = None,
    note: Annotated[str | None, typer.Option(help="What it is, in words; stands in the log for ever.")] = None,
    url: Url = None,
    token: BearerToken = None,
    as_json: AsJson = False,
) -> None:
    """Keep a file's bytes. Prints their digest, alone on standard output. The same bytes again add nothing.

    Example: DIGEST=$(tallystick evidence put response.txt --media-type text/plain)
    """
    from api.cli.output import print_json, say
    from api.service.evidence import Blob
    from api.text import many

    blob = Blob(_bytes_of(file), media_type, note)
    kept = _run(context, url, token, lambda store: store.put(blob))
    if as_json:
        print_json(kept)
        return
    what = "there already" if kept.duplicate else "kept"
    say(f"{many(kept.size_bytes, 'byte')} {what}, recorded at position {kept.position:,}.")
    typer.echo(kept.digest)


@app.command("get")
def get(
    context: typer.Context,
    digest: Digest,
    output: Annotated[Path | None, typer.Option(help="Write them to this file.", metavar="FILE")] = None,
    url: Url = None,
    token: BearerToken = None,
    as_json: AsJson = False,
) -> None:
    """Print the bytes of a digest as they were put, verified. Exit code 1 says that they were erased.

    Example: tallystick evidence get $DIGEST --output response.txt
    """
    import sys

    from api.cli.output import print_json, say
    from api.text import many
    from ledger.errors import InvalidQuery

    piece = _run(context, url, token, lambda store: store.evidence(digest), writable=False)
    if output is not None:
        output.write_bytes(piece.data)
        say(f"{many(len(piece.data), 'byte')} in {output}.")
    if as_json:
        print_json(_told(piece))
    elif output is None:
        if sys.stdout.isatty() and not _readable(piece.data):
            raise InvalidQuery("output", "a terminal would obey what is in these bytes.", "Name a file, or add --json.")
        sys.stdout.buffer.write(piece.data)
        sys.stdout.buffer.flush()


@app.command("erase")
def erase(
    context: typer.Context,
    digest: Digest,
    reason: Annotated[str, typer.Option(help="Why, in words; stands in the log for ever.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    url: Url = None,
    token: BearerToken = None,
    as_json: AsJson = False,
) -> None:
    """Erase the bytes of a digest for good. They cannot come back; what the log says stays as it is.

    Example: tallystick evidence erase $DIGEST --reason "it names a person" --yes
    """
    import sys

    from api.cli.output import print_json
    from api.text import many
    from ledger.errors import InvalidQuery

    if not yes and not sys.stdin.isatty():
        raise InvalidQuery("yes", "erasing is for good, and there is nobody to ask.", "Add --yes.")
    if not yes:
        typer.confirm(f"Erase {digest} for good?", abort=True, err=True)
    erased = _run(context, url, token, lambda store: store.erase(digest, reason))
    if as_json:
        print_json(erased)
        return
    when = "was before" if erased.duplicate else "is"
    typer.echo(f"{digest} ({many(erased.size_bytes, 'byte')}) {when} erased, recorded at position {erased.position:,}.")


@app.command("list")
def list_(
    context: typer.Context,
    as_of: AsOf = None,
    as_json: AsJson = False,
) -> None:
    """List what was kept and what was erased, in the order of the log.

    Example: tallystick evidence list
    """
    import asyncio

    from api.cli.output import print_json

    found = asyncio.run(_catalogue(context, as_of))
    if as_json:
        print_json(found)
    else:
        _show(found)


def _run(
    context: typer.Context,
    url: str | None,
    token: str | None,
    ask: "Callable[[EventStore], Awaitable[_Answer]]",
    *,
    writable: bool = True,
) -> _Answer:
    """Ask a verb of the file, or of the server that --url names."""
    import asyncio

    from api.cli.open_ledger import open_store

    async def asked() -> _Answer:
        async with open_store(ledger_of(context), url, token, writable=writable) as target:
            return await ask(target)

    return asyncio.run(asked())


async def _catalogue(context: typer.Context, as_of: str | None) -> "EvidencePage":
    from api.auth import OWNER
    from api.cli.open_ledger import open_reader
    from api.parameters import POSITION_MAX

    async with open_reader(ledger_of(context)) as ledger:
        return await ledger.evidence.catalogue(OWNER, 0, POSITION_MAX, await ledger.resolve(as_of))


def _bytes_of(file: str) -> bytes:
    """What a file holds, or standard input; no more than a byte over what is kept as one."""
    import sys

    from events.limits import EVIDENCE_BYTES_MAX

    if file == "-":
        return sys.stdin.buffer.read(EVIDENCE_BYTES_MAX + 1)
    with Path(file).open("rb") as opened:
        return opened.read(EVIDENCE_BYTES_MAX + 1)


def _readable(data: bytes) -> bool:
    """Whether bytes are a text without control characters but for tabs and the ends of lines."""
    text = data.decode(errors="replace")
    return "\ufffd" not in text and all(letter.isprintable() or letter in "\t\r\n" for letter in text)


def _told(piece: "EvidenceContent") -> dict[str, object]:
    """A piece of evidence for JSON: as text where it is that, else in base64."""
    told: dict[str, object] = {
        "digest": piece.digest,
        "size_bytes": len(piece.data),
        "media_type": piece.media_type,
    }
    try:
        return told | {"text": piece.data.decode()}
    except UnicodeDecodeError:
        return told | {"base64": piece.data}


def _show(page: "EvidencePage") -> None:
    from api.cli.output import cut, out, say, table
    from api.text import count, moment, one_line

    if not page.evidence:
        say("No evidence was kept.")
        return
    shown = table("digest", "bytes", "media type", "kept (UTC)", "erased (UTC)", "", right=("bytes",), wrap=("",))
    for exhibit in page.evidence:
        erased = exhibit.erased
        shown.add_row(
            exhibit.digest,
            count(exhibit.size_bytes),
            exhibit.media_type or "-",
            moment(datetime.fromisoformat(exhibit.time)),
            moment(datetime.fromisoformat(erased.time) if erased else None),
            cut(one_line(erased.reason if erased else exhibit.note)),
        )
    out().print(shown)
