"""The signed notes that lines are compared with: whose they are, and whether the key that is trusted signed them."""

from typing import NamedTuple

from ledger.errors import BadNote
from ledger.transparency.signed_note import ED25519, Checkpoint, SignedNote, Verifier
from ledger.verify.findings import Findings
from ledger.verify.merkle_rebuild import TreeRebuild

OWN_KEY = (
    "The key is the one in {where}, none was given with --key: this proves that all of it belongs together, not who "
    "signed it. Whoever forges all of it forges the key as well."
)
"""What a verification says that was given no key."""


class SignedRoot(NamedTuple):
    """A checkpoint, and the note that it stands in."""

    note: SignedNote
    checkpoint: Checkpoint


class NoteCheck:
    """The signed checkpoints that lines are compared with, each by what people call it."""

    def __init__(self, account: Findings) -> None:
        self._notes = account.check("checkpoints", "signed notes")
        self._signatures = account.check("signatures", "signatures")
        self._roots = account.check("roots", "roots")
        self._signed: dict[str, SignedRoot] = {}
        self._foreign: set[str] = set()

    @property
    def right(self) -> bool:
        """Whether there are some, and the lines have the root that each says."""
        return bool(self._signed) and self._roots.right

    @property
    def sizes(self) -> list[int]:
        """Those of which the root is wanted."""
        return [signed.checkpoint.size for signed in self._signed.values()]

    def read(self, data: bytes, name: str, *, foreign: bool = False) -> Checkpoint | None:
        """A checkpoint from the bytes of its note; None, with the fault told, where they are none.

        A `foreign` one is of another log, which this one was made of: no key of this one signed it.
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
        """Whether a key signed each of them, and each is of the log that the key is of."""
        for name, signed in self._signed.items() if key else ():
            assert key is not None
            if name in self._foreign:
                continue
            self._signatures.count += 1
            origin = signed.checkpoint.origin
            if key.kind == ED25519 and origin != key.name:
                self._signatures.fault(f"{name} is of the log {origin}; the key is that of {key.name}.")
            elif not key.verifies(signed.note):
                self._signatures.fault(f"{name} is not signed by the key {key}.")

    def judge(self, regrowth: TreeRebuild, locator: str) -> None:
        """Whether the lines have the root that each of them says; where not, the first line that has changed.

        `locator` is what was compared with the lines while the tree was grown, in words.
        """
        sound = 0
        for name, signed in sorted(self._signed.items(), key=lambda item: item[1].checkpoint.size):
            size, root = signed.checkpoint.size, signed.checkpoint.root
            self._roots.count += 1
            if size not in regrowth.roots:
                there, first = regrowth.edge.size, regrowth.first
                differ = f", which differ from {locator} from position {first:,} on" if first is not None else ""
                self._roots.fault(f"{name} is of {size:,} events; there are {there:,}{differ}.", first or there + 1)
                continue
            roots = regrowth.roots[size]
            if roots.lines == root:
                sound = size
                continue
            first = regrowth.first if regrowth.first is not None and regrowth.first <= size else None
            if first is None:
                behind = f", but it is behind position {sound:,}" if sound else ""
                if sound < min(regrowth.agreed, size):
                    behind += f"; they fit up to position {min(regrowth.agreed, size):,}"
                self._roots.fault(
                    f"the first {size:,} lines do not give the root of {name}; {locator} do not tell which of them was "
                    f"changed{behind}."
                )
            elif roots.claimed == root:
                self._roots.fault(f"the line at position {first:,} is not the one that {name} is of.", first)
            else:
                self._roots.fault(
                    f"neither the first {size:,} lines nor {locator} give the root of {name}; they first differ at "
                    f"position {first:,}.",
                    first,
                )


def own_key(account: Findings, text: str, where: str) -> Verifier | None:
    """The key that what is verified brings along; None, with the fault told, for a bad one."""
    try:
        key = Verifier.parse(text)
    except BadNote as error:
        account.check("signatures", "signatures").fault(f"the key in {where} is none: {error.detail}")
        return None
    account.notes.append(OWN_KEY.format(where=where))
    return key
