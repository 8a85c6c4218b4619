"""What views read of the evidence beside the log."""

from collections.abc import Collection

from api.access import OWNER
from api.operations import House
from ledger.errors import Damaged, Gone


async def kept(house: House, wanted: Collection[str], named: Collection[str] = ()) -> dict[str, bytes | None]:
    """The bytes of the digests wanted, as far as they are to be had; None for what is erased, also of those named.

    Erased is erased, also in a view of the past: the bytes are to be had no more.
    """
    known = await house.evidence.known(sorted({*wanted, *named}))
    found: dict[str, bytes | None] = {digest: None for digest, one in known.items() if one.erasure is not None}
    for digest in set(wanted) & known.keys() - found.keys():
        try:
            found[digest] = (await house.evidence.get(digest, OWNER)).data
        except Gone:
            found[digest] = None
        except Damaged:
            """Its digest is shown; asking for it says what is wrong."""
    return found
