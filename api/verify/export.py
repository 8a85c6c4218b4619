"""An export: its files against its manifest, its lines against its checkpoint.

The manifest is signed by nobody, so that it proves nothing; what it says must be so all the same. A complete export has
the root of its lines; in a filtered one each line has its proof. `leaves` is never trusted: where the root is another,
it tells which line is.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from api.export.manifest import (
    CHECKPOINT,
    EARLIER,
    EVIDENCE,
    FORMAT,
    LEAVES,
    MANIFEST,
    PROOFS,
    README,
    Filters,
    Manifest,
    decode,
    encode,
)
from api.verify.checkpoint import CheckpointCheck, CompleteCheck, SelectionCheck
from api.verify.event_files import pages_of
from api.verify.package import UNREADABLE, HashedReader, Package, package_of, summed
from events.decode_errors import UNDECODABLE
from ledger.errors import UnusableExport
from ledger.transparency.merkle import verify_consistency
from ledger.transparency.signed_note import Checkpoint, Verifier
from ledger.verify import (
    EvidenceCheck,
    FileFindings,
    Findings,
    LineHeader,
    LineHeaders,
    NoteCheck,
    OrderCheck,
    bundled_key,
)

MANIFEST_BYTES_MAX = 64 << 20
"""Far more than a manifest of all types and of very many absent pieces of evidence."""

NOTE_BYTES_MAX = 1 << 20

Progress = Callable[[int, int], None]

Took = Callable[[list[bytes], list[LineHeaders]], None]
"""Told of each page of lines, and what they say."""


def verify_export(
    account: Findings,
    path: Path,
    *,
    key: Verifier | None = None,
    earlier: bytes | None = None,
    progress: Progress = lambda done, total: None,
    took: Took | None = None,
) -> FileFindings:
    """Verify an export, in a folder or a ZIP; faults are told in the account.

    `earlier` is a checkpoint that was published before; `took` is handed every page, as it was verified.
    Errors: UnusableExport, for what is no export at all.
    """
    with package_of(path) as package:
        manifest, raw = read_manifest(package, path)
        return _Export(account, package, manifest, key, earlier).run(raw, progress, took)


def read_manifest(package: Package, path: Path) -> tuple[Manifest, bytes]:
    """The manifest, and its bytes. Errors: UnusableExport."""
    try:
        with package.open(MANIFEST) as file:
            raw = file.read(MANIFEST_BYTES_MAX)
    except KeyError:
        raise UnusableExport(
            f"{path} has no {MANIFEST}: it is no export, or not a whole one.",
            "The manifest is written last: export again, or copy all of it.",
        ) from None
    except UNREADABLE as error:
        raise UnusableExport(f"{MANIFEST} of {path} cannot be read: {error}.", "Copy the export again.") from error
    try:
        manifest = decode(raw)
    except UNDECODABLE as error:
        raise UnusableExport(f"{MANIFEST} of {path} is no manifest: {error}.", "Copy the export again.") from error
    if manifest.format != FORMAT:
        raise UnusableExport(
            f"{path} is of the format {manifest.format[:80]!r}; {FORMAT} is read here.", "Use a newer Tallystick."
        )
    return manifest, raw


class _Export:
    """One verification of one export."""

    def __init__(
        self, account: Findings, package: Package, manifest: Manifest, key: Verifier | None, earlier: bytes | None
    ) -> None:
        self._account = account
        self._package = package
        self._manifest = manifest
        self._told = account.check("manifest", "statements")
        self._files = account.check("files", "files")
        self._notes = NoteCheck(account)
        self._exhibits = EvidenceCheck()
        self._checkpoint: Checkpoint | None = None
        self._key = key
        self._earlier = earlier

    def run(self, raw: bytes, progress: Progress, took: Took | None) -> FileFindings:
        """Verify everything."""
        manifest = self._manifest
        self._claim(raw == encode(manifest), "it is not written as an export writes it.")
        self._check_names()
        self._read_notes()
        lines: CheckpointCheck
        if manifest.complete:
            lines = CompleteCheck(self._account, self._notes, LineHeader if took is None else LineHeaders)
        else:
            lines = SelectionCheck(self._account, manifest, self._checkpoint)
        self._read_lines(lines, lambda: progress(lines.run.events, manifest.events), took)
        self._check_counts(lines.run)
        self._check_evidence()
        self._check_sum(README)
        return FileFindings(lines.run.events, lines.root, self._key)

    def _claim(self, holds: bool, detail: str) -> None:
        """Something that the manifest says."""
        self._told.count += 1
        if not holds:
            self._told.fault(f"{MANIFEST}: {detail}")

    def _check_names(self) -> None:
        """Whether the files are those that the manifest names."""
        manifest, names = self._manifest, self._package.names()
        self._events_name = next((name for name in manifest.files if name.startswith("events.")), "events.ndjson")
        wanted = {self._events_name, LEAVES, CHECKPOINT, README} | ({PROOFS} if not manifest.complete else set())
        if manifest.consistency is not None:
            wanted.add(EARLIER)
        self._claim(set(manifest.files) == wanted, f"its files are not {', '.join(sorted(wanted))}.")
        there = [name for name in names if not name.startswith(f"{EVIDENCE}/")]
        for name in sorted(Counter(names) - Counter(set(names))):
            self._files.fault(f"{name} is there more than once.")
        for name in sorted(wanted - set(there)):
            self._files.fault(f"{name} is missing.")
        for name in sorted(set(there) - wanted - {MANIFEST}):
            self._account.notes.append(f"{name} is not part of the export, and was not looked at.")

    def _read_notes(self) -> None:
        """The checkpoint, and those that it must continue."""
        manifest = self._manifest
        self._checkpoint = self._read_note(CHECKPOINT)
        if self._checkpoint is not None:
            said = Checkpoint(manifest.origin, manifest.size, manifest.root)
            self._claim(said == self._checkpoint, "origin, size or root is not that of the checkpoint.")
        consistency = manifest.consistency
        if consistency is not None and not manifest.complete:
            old = self._read_note(EARLIER)
            self._claim(
                old is not None
                and self._checkpoint is not None
                and (old.size, old.root) == (consistency.size, consistency.root)
                and verify_consistency(
                    old.size, self._checkpoint.size, consistency.hashes, consistency.root, self._checkpoint.root
                ),
                f"its consistency does not prove that the checkpoint continues {EARLIER}.",
            )
        if self._earlier is not None:
            given = self._notes.read(self._earlier, "the earlier checkpoint")
            if given is not None and not manifest.complete:
                self._compare_given(given)
        if self._key is None:
            self._key = bundled_key(self._account, manifest.verifier, MANIFEST)
        else:
            self._claim(manifest.verifier == str(self._key), "its verifier is not the key that was given.")
        self._notes.check_signatures(self._key)

    def _compare_given(self, given: Checkpoint) -> None:
        """What a filtered export can tell of a checkpoint from before: only whether it is one of those in it."""
        known = [(self._manifest.size, self._manifest.root)]
        if self._manifest.consistency is not None:
            known.append((self._manifest.consistency.size, self._manifest.consistency.root))
        roots = self._account.check("roots", "roots")
        for size, root in known:
            if size == given.size:
                roots.count += 1
                if root != given.root:
                    roots.fault(f"at {size:,} events the log has another root than the earlier checkpoint says.")
                return
        self._account.notes.append(
            f"The earlier checkpoint is of {given.size:,} events: this filtered export does not prove that the log "
            "went on from there."
        )

    def _read_note(self, name: str) -> Checkpoint | None:
        try:
            with summed(self._package, name, self._files, self._manifest.files.get(name)) as file:
                data = file.read(NOTE_BYTES_MAX)
        except KeyError:
            return None
        return self._notes.read(data, name)

    def _read_lines(self, lines: CheckpointCheck, step: Callable[[], None], took: Took | None) -> None:
        """Every page of events, beside what is said of its lines."""
        format_ = self._account.check("events' file", "files")
        format_.count += 1
        with ExitStack() as stack:
            beside = {name: self._opened(stack, name) for name in lines.beside}
            events = self._opened(stack, self._events_name)
            if events is None:
                return
            for page in pages_of(self._events_name, events, format_):
                found = lines.run.check(page)
                self._exhibits.add(found, page)
                lines.take(page, found, beside)
                if took is not None:
                    took(page, found)
                step()
            lines.run.end()
            lines.judge(beside)

    def _opened(self, stack: ExitStack, name: str) -> HashedReader | None:
        try:
            return stack.enter_context(summed(self._package, name, self._files, self._manifest.files.get(name)))
        except KeyError:
            return None

    def _check_sum(self, name: str) -> None:
        try:
            with summed(self._package, name, self._files, self._manifest.files.get(name)):
                pass
        except KeyError:
            return

    def _check_counts(self, run: OrderCheck[Any]) -> None:
        manifest = self._manifest
        self._claim(manifest.events == run.events, f"it says {manifest.events:,} events; there are {run.events:,}.")
        ends = (run.first, run.last if run.events else None)
        self._claim((manifest.first, manifest.last) == ends, f"first and last are {ends[0]} and {ends[1]}.")
        self._claim(manifest.types == dict(run.types), "its counts of types are not those of the events.")
        self._claim(manifest.complete == (manifest.filters == Filters()), "`complete` is not what its filters say.")

    def _check_evidence(self) -> None:
        """Whether each file of evidence has the bytes of its digest, and they are those that the manifest says."""
        manifest, prefix = self._manifest, f"{EVIDENCE}/"
        names = sorted(name for name in self._package.names() if name.startswith(prefix))
        said = manifest.evidence
        if said is None:
            self._claim(not names, "it says nothing of the evidence that is there.")
            return
        check, size_bytes = self._account.check("evidence", "pieces"), 0
        for name in names:
            with summed(self._package, name, check, None) as file:
                found = file.sum()
            size_bytes += found.bytes
            if found.sha256 != name.removeprefix(prefix):
                place = self._exhibits.kept.get(name.removeprefix(prefix))
                check.fault(f"{name} holds other bytes than its name says.", place[0] if place else None)
        self._claim((said.files, said.bytes) == (len(names), size_bytes), "its count of evidence is another.")
        if manifest.complete:
            there = {name.removeprefix(prefix) for name in names} | set(said.absent)
            for digest, (position, _) in self._exhibits.kept.items():
                if digest not in there:
                    check.fault(f"evidence {digest} is missing, and is not told to be.", position)
            for digest in sorted(there - set(self._exhibits.kept)):
                check.fault(f"evidence {digest} is of no event.")
        if said.absent:
            self._account.notes.append(f"The bytes of {len(said.absent):,} pieces of evidence were not to be had.")
