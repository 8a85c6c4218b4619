"""Exports as users make them, and what a forger does to one."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

from msgspec import structs

from api.export import open_export, parse_selection, write_export
from api.export.manifest import (
    MANIFEST,
    FileSum,
    Manifest,
    decode_manifest,
    encode_manifest,
)
from api.service.ledger import LedgerService
from ledger.transparency.merkle import leaf_hash, leaf_hashes
from ledger.transparency.signed_note import Checkpoint, Signer
from ledger.transparency.tiles import TreeEdge
from tests.support.event_loop import run

Change = Callable[[bytes], bytes]


def export_all(ledger: Path, wanted: Mapping[Path, Mapping[str, str]]) -> None:
    """Export a ledger to some places, each with its parameters, as the command does it."""

    async def made() -> None:
        service = await LedgerService.open(ledger, writable=True)
        try:
            for output, parameters in wanted.items():
                async with open_export(service, parse_selection(parameters)) as export:
                    await write_export(export, output, lambda done, total: None)
        finally:
            await service.close()

    run(made())


def edit(export: Path, name: str, change: Change) -> None:
    """Change a file of an export in a folder."""
    file = export / name
    file.write_bytes(change(file.read_bytes()))


def manifest_of(export: Path) -> Manifest:
    return decode_manifest((export / MANIFEST).read_bytes())


def restate(export: Path, **fields: object) -> None:
    """Write the manifest again as one who knows its form: sums of the files as they are now, and other fields."""
    manifest = manifest_of(export)
    files = {
        name: FileSum(len(data), sha256(data).hexdigest())
        for name, data in ((name, (export / name).read_bytes()) for name in manifest.files if (export / name).exists())
    }
    (export / MANIFEST).write_bytes(encode_manifest(structs.replace(manifest, **{"files": files, **fields})))


def lines_of(export: Path) -> list[bytes]:
    return (export / "events.ndjson").read_bytes().split(b"\n")[:-1]


def put_lines(export: Path, lines: Sequence[bytes]) -> None:
    (export / "events.ndjson").write_bytes(b"".join(line + b"\n" for line in lines))


def forge(export: Path, lines: Sequence[bytes], signer: Signer | None = None) -> None:
    """Put other lines into a complete export, and make all that goes with them; with a key of one's own, sign it."""
    put_lines(export, lines)
    (export / "leaves").write_bytes(b"".join(map(leaf_hash, lines)))
    types: dict[str, int] = {}
    for line in lines:
        kind = line.partition(b'"type":"')[2].partition(b'"')[0].decode()
        types[kind] = types.get(kind, 0) + 1
    fields: dict[str, object] = {"events": len(lines), "last": len(lines), "types": dict(sorted(types.items()))}
    if signer is not None:
        edge, _ = TreeEdge().grow(leaf_hashes(lines))
        checkpoint = Checkpoint(signer.verifier.name, len(lines), edge.root())
        (export / "checkpoint").write_bytes(signer.sign(checkpoint.text()).encode())
        (export / "checkpoint.witnessed").unlink(missing_ok=True)
        fields |= {"size": checkpoint.size, "root": checkpoint.root, "verifier": str(signer.verifier)}
    restate(export, **fields)


def zipped(export: Path, output: Path) -> Path:
    """A folder as a ZIP."""
    with ZipFile(output, "w", ZIP_STORED) as archive:
        for file in sorted(export.rglob("*")):
            if file.is_file():
                archive.write(file, str(file.relative_to(export)))
    return output


def copied(export: Path, folder: Path) -> Path:
    """A copy that a test may change."""
    copy = folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(export, copy)
    return copy
