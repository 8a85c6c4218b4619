"""Check signed notes: their log, their signatures by the trusted key, and their roots against the lines."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from ledger.errors import BadNote
from ledger.transparency.signed_note import ED25519, Checkpoint, SignedNote, Verifier
from ledger.verify.findings import Findings
from ledger.verify.merkle_rebuild import TreeRebuild

BUNDLED_KEY_NOTE = (
    "The key is the one in {where}, because none was given with --key: this proves that everything belongs together, "
    "not who signed it. Someone who forges everything forges the key, too."
)
"""The note of a verification without --key."""


TIME_MAX_S = 253_402_300_799
"""The last second of the year 9999; a cosignature may state a later one."""


class SignedRoot(NamedTuple):
    """A checkpoint and its note."""

    note: SignedNote
    checkpoint: Checkpoint


class SignatureCheck:
    """Collects signed checkpoints, by the name that messages use, and compares them with the lines."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._notes = findings.check("checkpoints", "signed notes")
        self._signatures = findings.check("signatures", "signatures")
        self._roots = findings.check("roots", "roots")
        self._signed: dict[str, SignedRoot] = {}
        self._foreign: set[str] = set()

    @property
    def right(self) -> bool:
        """Return whether there are checkpoints, and the lines have the root of each."""
        return bool(self._signed) and self._roots.right

    @property
    def sizes(self) -> list[int]:
        """Return the sizes whose roots are needed."""
        return [signed.checkpoint.size for signed in self._signed.values()]

    def read(self, data: bytes, name: str, *, foreign: bool = False) -> Checkpoint | None:
        """Read a checkpoint from the bytes of its note; add a fault and return None if they are not one.

        A `foreign` checkpoint is of another log, from which this one was imported: this log's keys did not sign it.
        """
        self._notes.count += 1
        try:
            note = SignedNote.parse(data)
            signed = SignedRoot(note, Checkpoint.parse(note.text))
        except BadNote as error:
            self._notes.fault(f"{name} is not a signed checkpoint: {error.detail}")
            return None
        self._signed[name] = signed
        if foreign:
            self._foreign.add(name)
        return signed.checkpoint

    def check_signatures(self, key: Verifier | None) -> None:
        """Check that the key signed each checkpoint, and that each is of the key's log."""
        if key is None:
            return
        for name, signed in self._signed.items():
            if name in self._foreign:
                continue
            self._signatures.count += 1
            origin = signed.checkpoint.origin
            if key.kind == ED25519 and origin != key.name:
                self._signatures.fault(f"{name} is of the log {origin}; the key is that of {key.name}.")
            elif not key.verifies(signed.note):
                self._signatures.fault(f"{name} is not signed by the key {key}.")

    def check_witnesses(self, witnesses: Sequence[Verifier]) -> None:
        """Check that each witness has cosigned a checkpoint, and note the longest one with its time."""
        for witness in witnesses:
            check = self._findings.check("cosignatures", "witnesses")
            check.count += 1
            cosigned: list[tuple[int, str, int]] = []
            for name, signed in self._signed.items():
                if (time_s := witness.cosigned_at(signed.note)) is not None:
                    cosigned.append((signed.checkpoint.size, name, time_s))
                elif witness.signatures(signed.note):
                    check.fault(f"the cosignature of {witness.name} in {name} is not one of the key {witness}.")
            if cosigned:
                size, name, time_s = max(cosigned)
                moment = datetime.fromtimestamp(min(time_s, TIME_MAX_S), UTC)
                self._findings.notes.append(
                    f"{witness.name} cosigned the first {size:,} events at {moment:%Y-%m-%d %H:%M:%S} UTC, in {name}."
                )
            elif check.right:
                check.fault(f"no checkpoint here has a cosignature of {witness.name}.")

    def compare_roots(self, rebuild: TreeRebuild, claims: str) -> None:
        """Check that the lines have the root of each checkpoint; if not, report the first altered line.

        `claims` is what messages call the claimed hashes, which the rebuild compared with the lines.
        """
        verified = 0
        for name, signed in sorted(self._signed.items(), key=lambda item: item[1].checkpoint.size):
            size, root = signed.checkpoint.size, signed.checkpoint.root
            self._roots.count += 1
            if size not in rebuild.roots:
                events, first = rebuild.edge.size, rebuild.first
                differ = f", which differ from {claims} from position {first:,} on" if first is not None else ""
                self._roots.fault(f"{name} is of {size:,} events; there are {events:,}{differ}.", first or events + 1)
                continue
            roots = rebuild.roots[size]
            if roots.lines == root:
                verified = size
                continue
            first = rebuild.first if rebuild.first is not None and rebuild.first <= size else None
            if first is None:
                hint = f", but it is after position {verified:,}" if verified else ""
                if verified < min(rebuild.agreed, size):
                    hint += f"; they agree up to position {min(rebuild.agreed, size):,}"
                self._roots.fault(
                    f"the first {size:,} lines do not give the root of {name}; {claims} do not show which of them was "
                    f"changed{hint}."
                )
            elif roots.claimed == root:
                self._roots.fault(f"the line at position {first:,} is not the one that {name} covers.", first)
            else:
                self._roots.fault(
                    f"neither the first {size:,} lines nor {claims} give the root of {name}; they first differ at "
                    f"position {first:,}.",
                    first,
                )


def bundled_key(findings: Findings, text: str, where: str) -> Verifier | None:
    """Parse the key that came with the verified material; add a fault and return None if it is not a key."""
    try:
        key = Verifier.parse(text)
    except BadNote as error:
        findings.check("signatures", "signatures").fault(f"the key in {where} is not a key: {error.detail}")
        return None
    findings.notes.append(BUNDLED_KEY_NOTE.format(where=where))
    return key
