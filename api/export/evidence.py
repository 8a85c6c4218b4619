"""Collect the evidence of an export: the digests that its events name, and their bytes."""

import re
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from api.auth import OWNER
from api.service.evidence import EvidenceService
from ledger import Page
from ledger.errors import Damaged, Gone

STORED = "evidence.stored.v1"

_named = re.compile(rb'"([0-9a-f]{64})"')


class ExportedEvidence(NamedTuple):
    """Evidence that the ledger kept at the checkpoint; `data` is None if its bytes cannot be read."""

    digest: str
    data: bytes | None


async def evidence_of(
    evidence: EvidenceService, pages: AsyncIterator[Page], size: int
) -> AsyncIterator[ExportedEvidence]:
    """Yield the evidence that some events name, each once, as of a size of the log.

    Evidence that was erased up to then is left out. Evidence that was erased since, or is damaged, has no bytes.
    Memory: 32 bytes for each digest seen.
    """
    seen: set[bytes] = set()
    async for page in pages:
        named = dict.fromkeys(_named.findall(page.ndjson))
        new = [digest for digest in named if bytes.fromhex(digest.decode()) not in seen]
        seen.update(bytes.fromhex(digest.decode()) for digest in new)
        for digest in await _kept(evidence, [digest.decode() for digest in new], size):
            yield ExportedEvidence(digest, await _bytes_of(evidence, digest))


async def _kept(evidence: EvidenceService, digests: Sequence[str], size: int) -> list[str]:
    """Return the digests whose evidence was kept as of a size of the log."""
    found = await evidence.known(digests)
    return [
        digest
        for digest, known in found.items()
        if known.position <= size and (known.erasure is None or known.erased_position > size)
    ]


async def _bytes_of(evidence: EvidenceService, digest: str) -> bytes | None:
    try:
        return (await evidence.get(digest, OWNER)).data
    except (Gone, Damaged):
        return None
