"""Tampering with the files beside a ledger: flipped bytes, another ledger's file, an older copy, a cut, a deletion.

After each one the ledger is opened for writing, as a server opens it, and every kind of answer is asked for. An answer
must be the one that the untouched ledger gives, or an error that names what is wrong; a checkpoint or a receipt may be
another one that is just as right. (Deleting the tokens file is left out: it is a way to do without tokens.)
"""

import asyncio
import random
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from api.principal import OWNER, Unauthenticated
from api.service.calibration import get_calibration
from api.service.calibration_params import CalibrationParams
from api.service.decisions import DecisionQuery, select_decisions
from api.service.evidence import Blob
from api.service.ledger import LedgerService
from api.service.projections import ProjectionQuery, get_projection
from api.service.ranked_search import SearchQuery, search_decisions
from api.text_format import to_json
from events.errors import TallystickError
from ledger.transparency.checkpoints import store_witnessed
from ledger.transparency.keys import read_key
from ledger.transparency.receipt import Receipt
from ledger.transparency.signed_note import COSIGNATURE, Signature, SignedCheckpoint, Verifier
from projections.registry import PROJECTIONS
from tests.faults.row import Fault, Figures, Outcome, Report
from tests.support.drafts import recorded, reviewed

NAME = "ledger.db"
WORDS = ("queue", "cache", "pool", "retry", "index", "shard")
DECISIONS = 120
EVIDENCE = b"the answer as it came, in full"
DIGEST = sha256(EVIDENCE).hexdigest()
NOTED_AT_S = 1_800_000_000

LAYERS = (
    ".views.db", ".search.db", ".search.db.seal", ".checkpoint", ".witnessed", ".witnessed.seal", ".tokens",
    ".tokens.seal", ".views.key", f".evidence/{DIGEST[:2]}/{DIGEST}",
)  # fmt: skip
KINDS = ("flip", "swap", "older", "cut", "delete", "garbage")

Answers = dict[str, str]


class Made(NamedTuple):
    """A closed ledger, copies of its files from when it had half of its events, another ledger, and the answers."""

    folder: Path
    older: Path
    other: Path
    answers: Answers
    verifier: Verifier
    secret: str


def run(folder: Path, dose: int, rng: random.Random, report: Report) -> Outcome:
    """So many tamperings, each with one file."""
    made = asyncio.run(_make(folder))
    counted: Counter[str] = Counter()
    wrong: list[str] = []
    for turn in range(dose):
        layer, kind = rng.choice(LAYERS), rng.choice(KINDS)
        path = folder / "tampered" / NAME
        shutil.rmtree(path.parent, ignore_errors=True)
        shutil.copytree(made.folder, path.parent)
        _tamper(made, Path(f"{path}{layer}"), kind, rng)
        answers = asyncio.run(_ask(path, made))
        differing = [name for name, answer in answers.items() if answer not in ("refused", made.answers[name])]
        refused = "refused" in answers.values()
        verdict = "wrong" if differing else "refused" if refused else "the same answers"
        counted[f"{layer.split('/')[0]}: {verdict}"] += 1
        if differing:
            wrong.append(f"{kind} of {layer}: {', '.join(differing)}")
        report(turn + 1, dose)
    figures: Figures = {name: counted[name] for name in sorted(counted)}
    figures["wrong"] = len(wrong)
    if wrong:
        figures["the first"] = wrong[0]
    return Outcome(not wrong, figures)


def _tamper(made: Made, file: Path, kind: str, rng: random.Random) -> None:
    place = file.relative_to(file.parents[2] if ".evidence" in str(file) else file.parent)
    if kind == "delete":
        file.unlink()
    elif kind in ("swap", "older"):
        source = (made.other if kind == "swap" else made.older) / place
        if source.exists():
            shutil.copy(source, file)
        else:
            file.unlink()
    elif kind == "cut":
        file.write_bytes(file.read_bytes()[: rng.randrange(file.stat().st_size)])
    elif kind == "garbage":
        file.write_bytes(rng.randbytes(file.stat().st_size))
    else:
        data = bytearray(file.read_bytes())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        file.write_bytes(data)


async def _make(folder: Path) -> Made:
    witness = Ed25519PrivateKey.generate()
    secret = await _fill(folder / "made" / NAME, folder / "older", random.Random(1), witness)
    await _fill(folder / "other" / NAME, None, random.Random(2), witness)
    made = Made(folder / "made", folder / "older", folder / "other", {}, _verifier(folder / "made" / NAME), secret)
    shutil.copytree(made.folder, folder / "asked")
    return made._replace(answers=await _ask(folder / "asked" / NAME, made))


def _verifier(path: Path) -> Verifier:
    signer = read_key(path)
    assert signer is not None
    return signer.verifier


async def _fill(path: Path, older: Path | None, rng: random.Random, witness: Ed25519PrivateKey) -> str:
    """Write a ledger in two halves, each with every file beside it; copy the files of the first half to `older`."""
    path.parent.mkdir()
    secret = ""
    for first in (0, DECISIONS // 2):
        service = await LedgerService.open(path, writable=True)
        try:
            await service.proving.start()
            for number in range(first, first + DECISIONS // 2):
                text = f"Bound the {rng.choice(WORDS)} of the {rng.choice(WORDS)}"
                outcome = [reviewed(f"d-{number}")] if rng.random() < 0.7 else []
                await service.record([recorded(f"d-{number}", text), *outcome], OWNER)
            if first == 0:
                await service.evidence.put(Blob(EVIDENCE), OWNER)
                _, secret = service.tokens.add("scout", ("read",), service.clock())
            else:
                service.tokens.add("ranger", ("read", "append"), service.clock())
            await search_decisions(service, SearchQuery(query="queue"))
            await asyncio.to_thread(_cosign, service, await service.proving.checkpoint(), witness)
        finally:
            await service.close()
        if first == 0 and older is not None:
            shutil.copytree(path.parent, older)
    return secret


def _cosign(service: LedgerService, signed: SignedCheckpoint, witness: Ed25519PrivateKey) -> None:
    key = Verifier.of("witness.example/w1", COSIGNATURE, witness.public_key().public_bytes_raw())
    message = f"cosignature/v1\ntime {NOTED_AT_S}\n".encode() + signed.note.text.encode()
    line = Signature(key.name, key.key_id, NOTED_AT_S.to_bytes(8) + witness.sign(message))
    note = signed.note._replace(signatures=(*signed.note.signatures, line))
    store_witnessed(service.path, SignedCheckpoint(signed.checkpoint, note))


async def _ask(path: Path, made: Made) -> Answers:
    """Return every kind of answer as text: `refused` for an error that the user gets."""
    answers: Answers = {}

    async def ask(name: str, answer: Callable[[], Awaitable[object]]) -> None:
        try:
            answers[name] = repr(await answer())
        except TallystickError:
            answers[name] = "refused"

    service = await LedgerService.open(path, writable=True)
    try:
        proving = service.proving
        await proving.start()
        await ask("calibration", lambda: _json(get_calibration(service, CalibrationParams())))
        await ask("decisions", lambda: _json(select_decisions(service, DecisionQuery(limit=DECISIONS))))
        for word in WORDS:
            await ask(f"search {word}", partial(_search, service, word))
        for kind in PROJECTIONS:
            await ask(kind.name, partial(_projection, service, kind.name))
        await ask("evidence", lambda: service.evidence.get(DIGEST, OWNER))
        await ask("checkpoint", lambda: _checked(proving.checkpoint(), made, service))
        await ask("witnessed", proving.witnessed)
        await ask("receipt", lambda: _receipt(service, made))
        for secret in (made.secret, "tally_of_nobody"):
            await ask(f"token {secret[:7]}", partial(_identify, service, secret))
    finally:
        await service.close()
    return answers


async def _json(answer: Awaitable[object]) -> bytes:
    return to_json(await answer)


async def _search(service: LedgerService, word: str) -> bytes:
    return await _json(search_decisions(service, SearchQuery(query=word)))


async def _projection(service: LedgerService, name: str) -> bytes:
    return await _json(get_projection(service, ProjectionQuery(name=name)))


async def _checked(answer: Awaitable[SignedCheckpoint], made: Made, service: LedgerService) -> bool:
    """Whether a checkpoint is signed with the log's key, and the log has its root."""
    signed = await answer
    root = await service.proving.tree.root(signed.size)
    return made.verifier.verifies(signed.note) and root == signed.checkpoint.root


async def _receipt(service: LedgerService, made: Made) -> list[str]:
    receipt: Receipt = await service.proving.receipt(7)
    return receipt.faults(await service.event(7), made.verifier)


async def _identify(service: LedgerService, secret: str) -> object:
    try:
        caller = service.tokens.identify(f"Bearer {secret}")
    except Unauthenticated:
        return "unknown"
    return caller.agent, sorted(caller.scopes)


TAMPER = Fault(
    name="tamper",
    title="a file beside the ledger flipped, swapped, put back from an older copy, cut, deleted or overwritten",
    must_hold="no answer changes, or it is refused by name",
    dose=500,
    unit="tamperings",
    run=run,
)
