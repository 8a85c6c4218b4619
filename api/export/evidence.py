"""Collect the evidence of an export: the digests that its events name, and their bytes."""

import re
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from api.principal import OWNER
from api.service.evidence import EvidenceService
from ledger.errors import Damaged, Gone
from ledger.log import LogPage

STORED = "evidence.stored.v1"

_quoted_digest = re.compile(rb'"([0-9a-f]{64})"')


class ExportedEvidence(NamedTuple):
    """Evidence that was not erased at the checkpoint; `data` is None if its bytes cannot be read."""

    digest: str
    data: bytes | None


async def evidence_of(
    evidence: EvidenceService, pages: AsyncIterator[LogPage], size: int
) -> AsyncIterator[ExportedEvidence]:
    """Yield each evidence that some events name once, as it was when the log had `size` events.

    Evidence that was erased before is left out. Evidence that was erased later, or is damaged, has no bytes.
    Memory: 32 bytes for each digest seen.
    """
    seen: set[bytes] = set()
    async for page in pages:
        digests = [digest.decode() for digest in dict.fromkeys(_quoted_digest.findall(page.ndjson))]
        new = [digest for digest in digests if bytes.fromhex(digest) not in seen]
        seen.update(map(bytes.fromhex, new))
        for digest in await _kept(evidence, new, size):
            yield ExportedEvidence(digest, await _bytes_of(evidence, digest))


async def _kept(evidence: EvidenceService, digests: Sequence[str], size: int) -> list[str]:
    """Return the digests whose evidence was stored and not erased when the log had `size` events."""
    states = await evidence.known(digests)
    return [
        digest
        for digest, state in states.items()
        if state.position <= size and (state.erasure is None or state.erased_position > size)
    ]


async def _bytes_of(evidence: EvidenceService, digest: str) -> bytes | None:
    try:
        return (await evidence.get(digest, OWNER)).data
    except (Gone, Damaged):
        return None
