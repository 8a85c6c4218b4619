"""witness: ask a witness to cosign the newest checkpoint."""

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import show
from api.cli.options import option
from api.text_format import format_time, pluralize

if TYPE_CHECKING:
    from api.service.witness import CosignResult


@verb()
def witness(
    target: LedgerTarget,
    url: Annotated[str, option("The witness's address, before /add-checkpoint.", "WITNESS")],
    key: Annotated[str, option("The witness's verifier key.", "VKEY")],
) -> None:
    """Ask a witness to cosign the newest checkpoint.

    The witness speaks C2SP tlog-witness. Its signature is stored beside the ledger. A witness that has seen another
    history of this log refuses: exit code 1.

    Example: tallystick witness --url https://witness.example.com --key witness.example.com/w1+04d2d833+BD1A...
    """
    import asyncio

    from api.service.ledger import open_for_signing
    from api.service.witness import CosignResult, request_cosignature
    from ledger.transparency.signed_note import Verifier

    verifier = Verifier.parse(key)

    async def cosign() -> CosignResult:
        async with open_for_signing(target.place) as service:
            return await request_cosignature(service, url, verifier)

    show(target, asyncio.run(cosign()), _print_cosigned)


def _print_cosigned(cosigned: "CosignResult") -> None:
    events = pluralize(cosigned.size, "event")
    typer.echo(f"{cosigned.witness} has cosigned {events} of {cosigned.origin} at {format_time(cosigned.time)} UTC.")
