"""Verify an export: compare its files with its manifest, and its lines with its checkpoint.

The manifest is not signed and proves nothing, but its statements must be true. The lines of a complete export must give
the signed root; in a filtered export each line has a proof. `leaves` is never trusted: if the root differs, it shows
which line is wrong.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from msgspec import UNSET

from api.export.manifest import (
    CHECKPOINT,
    EARLIER,
    EVIDENCE,
    FORMAT,
    LEAVES,
    MANIFEST,
    MANIFEST_BYTES_MAX,
    PROOFS,
    README,
    WITNESSED,
    ConsistencyProof,
    Filters,
    Manifest,
    decode_manifest,
    encode_manifest,
)
from api.progress import ReportProgress
from api.verify.event_lines import pages_of
from api.verify.line_checks import CompleteCheck, LineCheck, SelectionCheck
from api.verify.package import UNREADABLE, HashedReader, Package, open_hashed, open_package
from events.decode_error_messages import DECODE_ERRORS
from ledger.errors import UnusableExport
from ledger.transparency.merkle import verify_consistency
from ledger.transparency.signed_note import Checkpoint, Verifier
from ledger.verify import (
    EvidenceCheck,
    FileFindings,
    Findings,
    LineHeader,
    LineHeaders,
    OrderCheck,
    SignatureCheck,
    bundled_key,
)

NOTE_BYTES_MAX = 1 << 20

FORMAT_CHARS_MAX = 80
"""Characters of an unknown format that an error quotes."""

OnPage = Callable[[list[bytes], list[LineHeaders]], None]
"""Called with each verified page of lines, and their headers."""


def verify_export(
    findings: Findings,
    path: Path,
    *,
    key: Verifier | None = None,
    earlier: bytes | None = None,
    witnesses: Sequence[Verifier] = (),
    progress: ReportProgress = lambda done, total: None,
    on_page: OnPage | None = None,
) -> FileFindings:
    """Verify an export, in a folder or a ZIP; add faults to `findings`.

    `earlier` is a checkpoint that was published before. Each of `witnesses` must have cosigned a checkpoint. `on_page`
    is called with every page after it was checked.
    Errors: UnusableExport, if it is not an export at all.
    """
    with open_package(path) as package:
        manifest, raw = read_manifest(package, path)
        export = _Export(findings, package, manifest, key=key, earlier=earlier, witnesses=witnesses)
        return export.run(raw, progress, on_page)


def read_manifest(package: Package, path: Path) -> tuple[Manifest, bytes]:
    """Read the manifest; return it and its bytes. Errors: UnusableExport."""
    try:
        with package.open(MANIFEST) as file:
            raw = file.read(MANIFEST_BYTES_MAX + 1)
    except KeyError:
        raise UnusableExport(
            f"{path} has no {MANIFEST}: it is not an export, or not a complete copy of one.",
            "The manifest is written last: export again, or copy all of it.",
        ) from None
    except UNREADABLE as error:
        raise UnusableExport(f"{MANIFEST} of {path} cannot be read: {error}.", "Copy the export again.") from error
    try:
        manifest = decode_manifest(raw)
    except DECODE_ERRORS as error:
        raise UnusableExport(f"{MANIFEST} of {path} is not a manifest: {error}.", "Copy the export again.") from error
    if manifest.format != FORMAT:
        raise UnusableExport(
            f"{path} has the format {manifest.format[:FORMAT_CHARS_MAX]!r}; this version reads {FORMAT}.",
            "Use a newer Tallystick.",
        )
    return manifest, raw


class _Export:
    """Verifies one export once."""

    def __init__(
        self,
        findings: Findings,
        package: Package,
        manifest: Manifest,
        *,
        key: Verifier | None,
        earlier: bytes | None,
        witnesses: Sequence[Verifier],
    ) -> None:
        self._findings = findings
        self._package = package
        self._manifest = manifest
        self._statements = findings.check("manifest", "statements")
        self._files = findings.check("files", "files")
        self._notes = SignatureCheck(findings)
        self._evidence = EvidenceCheck()
        self._checkpoint: Checkpoint | None = None
        self._key = key
        self._earlier = earlier
        self._witnesses = witnesses

    def run(self, raw: bytes, progress: ReportProgress, on_page: OnPage | None) -> FileFindings:
        """Verify everything."""
        manifest = self._manifest
        self._claim(raw == encode_manifest(manifest), "its bytes are not as an export writes them.")
        self._check_names()
        self._read_notes()
        lines: LineCheck
        if manifest.complete:
            lines = CompleteCheck(self._findings, self._notes, LineHeader if on_page is None else LineHeaders)
        else:
            lines = SelectionCheck(self._findings, manifest, self._checkpoint)
        self._read_lines(lines, lambda: progress(lines.order.events, manifest.events), on_page)
        self._check_counts(lines.order)
        self._check_evidence()
        self._check_file_sum(README)
        return FileFindings(lines.order.events, lines.root, self._key)

    def _claim(self, holds: bool, detail: str) -> None:
        """Check a statement of the manifest."""
        self._statements.count += 1
        if not holds:
            self._statements.fault(f"{MANIFEST}: {detail}")

    def _check_names(self) -> None:
        """Check that the files are those that the manifest names."""
        manifest, names = self._manifest, self._package.names()
        self._events_name = next((name for name in manifest.files if name.startswith("events.")), "events.ndjson")
        expected = {self._events_name, LEAVES, CHECKPOINT, README} | ({PROOFS} if not manifest.complete else set())
        if manifest.consistency is not None:
            expected.add(EARLIER)
        if WITNESSED in manifest.files or manifest.witnessed is not UNSET:
            expected.add(WITNESSED)
        self._claim(set(manifest.files) == expected, f"its files are not {', '.join(sorted(expected))}.")
        existing = {name for name in names if not name.startswith(f"{EVIDENCE}/")}
        for name in sorted(Counter(names) - Counter(set(names))):
            self._files.fault(f"{name} is there more than once.")
        for name in sorted(expected - existing):
            self._files.fault(f"{name} is missing.")
        for name in sorted(existing - expected - {MANIFEST}):
            self._findings.notes.append(f"{name} is not part of the export and was ignored.")

    def _read_notes(self) -> None:
        """Check the checkpoint, and that it continues the earlier ones."""
        manifest = self._manifest
        self._checkpoint = self._read_note(CHECKPOINT)
        if self._checkpoint is not None:
            stated = Checkpoint(manifest.origin, manifest.size, manifest.root)
            self._claim(stated == self._checkpoint, "origin, size or root differs from the checkpoint.")
        consistency = manifest.consistency
        if consistency is not None and not manifest.complete:
            proven = self._continues(self._read_note(EARLIER), consistency)
            self._claim(proven, f"its consistency does not prove that the checkpoint continues {EARLIER}.")
        if WITNESSED in manifest.files:
            cosigned = self._read_note(WITNESSED)
            proven = manifest.complete or self._continues(cosigned, manifest.witnessed or None)
            self._claim(proven, f"its `witnessed` does not prove that the checkpoint continues {WITNESSED}.")
        if self._earlier is not None:
            earlier = self._notes.read(self._earlier, "the earlier checkpoint")
            if earlier is not None and not manifest.complete:
                self._compare_earlier(earlier)
        if self._key is None:
            self._key = bundled_key(self._findings, manifest.verifier, MANIFEST)
        else:
            self._claim(manifest.verifier == str(self._key), "its verifier is not the key that was given.")
        self._notes.check_signatures(self._key)
        self._notes.check_witnesses(self._witnesses)

    def _continues(self, old: Checkpoint | None, proof: ConsistencyProof | None) -> bool:
        """Return whether a proof shows that the checkpoint continues an older one."""
        new = self._checkpoint
        return (
            old is not None
            and new is not None
            and proof is not None
            and (old.size, old.root) == (proof.size, proof.root)
            and verify_consistency(old.size, new.size, proof.hashes, old.root, new.root)
        )

    def _compare_earlier(self, earlier: Checkpoint) -> None:
        """Compare an earlier checkpoint with those in a filtered export, which proves only these."""
        proven = [(self._manifest.size, self._manifest.root)]
        if self._manifest.consistency is not None:
            proven.append((self._manifest.consistency.size, self._manifest.consistency.root))
        roots = self._findings.check("roots", "roots")
        for size, root in proven:
            if size == earlier.size:
                roots.count += 1
                if root != earlier.root:
                    roots.fault(f"at {size:,} events the root of the log differs from the earlier checkpoint.")
                return
        self._findings.notes.append(
            f"The earlier checkpoint is of {earlier.size:,} events: this filtered export does not prove that the log "
            "continues it."
        )

    def _read_note(self, name: str) -> Checkpoint | None:
        try:
            with open_hashed(self._package, name, self._files, self._manifest.files.get(name)) as file:
                data = file.read(NOTE_BYTES_MAX)
        except KeyError:
            return None
        return self._notes.read(data, name)

    def _read_lines(self, lines: LineCheck, report_progress: Callable[[], None], on_page: OnPage | None) -> None:
        """Check every page of events."""
        format_ = self._findings.check("events' file", "files")
        format_.count += 1
        with ExitStack() as stack:
            side_files = {name: self._open(stack, name) for name in lines.side_files}
            events = self._open(stack, self._events_name)
            if events is None:
                return
            for page in pages_of(self._events_name, events, format_):
                headers = lines.order.check(page)
                self._evidence.add(headers, page)
                lines.check_page(page, headers, side_files)
                if on_page is not None:
                    on_page(page, headers)
                report_progress()
            lines.order.end()
            lines.finish(side_files)

    def _open(self, stack: ExitStack, name: str) -> HashedReader | None:
        try:
            return stack.enter_context(open_hashed(self._package, name, self._files, self._manifest.files.get(name)))
        except KeyError:
            return None

    def _check_file_sum(self, name: str) -> None:
        try:
            with open_hashed(self._package, name, self._files, self._manifest.files.get(name)):
                pass
        except KeyError:
            return

    def _check_counts(self, order: OrderCheck[Any]) -> None:
        manifest = self._manifest
        detail = f"it states {manifest.events:,} events; there are {order.events:,}."
        self._claim(manifest.events == order.events, detail)
        ends = (order.first, order.last if order.events else None)
        self._claim((manifest.first, manifest.last) == ends, f"first and last are {ends[0]} and {ends[1]}.")
        self._claim(manifest.types == dict(order.types), "its counts of types differ from the events.")
        self._claim(manifest.complete == (manifest.filters == Filters()), "`complete` contradicts its filters.")

    def _check_evidence(self) -> None:
        """Check that the bytes of each evidence file match its digest, and that the manifest's counts are right."""
        manifest, prefix = self._manifest, f"{EVIDENCE}/"
        names = sorted(name for name in self._package.names() if name.startswith(prefix))
        stated = manifest.evidence
        if stated is None:
            self._claim(not names, "it does not mention the evidence in the export.")
            return
        check, size_bytes = self._findings.check("evidence", "pieces"), 0
        for name in names:
            with open_hashed(self._package, name, check, None) as file:
                actual = file.sum()
            size_bytes += actual.bytes
            digest = name.removeprefix(prefix)
            if actual.sha256 != digest:
                position, _ = self._evidence.stored.get(digest, (None, 0))
                check.fault(f"the bytes of {name} do not match its name.", position)
        self._claim((stated.files, stated.bytes) == (len(names), size_bytes), "its count of evidence is wrong.")
        if manifest.complete:
            listed = {name.removeprefix(prefix) for name in names} | set(stated.absent)
            for digest, (position, _) in self._evidence.stored.items():
                if digest not in listed:
                    check.fault(f"evidence {digest} is missing, and the manifest does not list it as absent.", position)
            for digest in sorted(listed - set(self._evidence.stored)):
                check.fault(f"no event names evidence {digest}.")
        if stated.absent:
            self._findings.notes.append(
                f"The bytes of {len(stated.absent):,} pieces of evidence could not be read when the export was made."
            )
