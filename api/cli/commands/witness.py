"""witness: ask a witness to cosign the newest checkpoint."""

from typing import Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.output import print_json
from api.text_format import format_time, pluralize


@verb()
def witness(
    target: LedgerTarget,
    url: Annotated[str, typer.Option(help="The witness's address, before /add-checkpoint.", metavar="WITNESS")],
    key: Annotated[str, typer.Option(help="The witness's verifier key.", metavar="VKEY")],
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

    cosigned = asyncio.run(cosign())
    if target.json:
        print_json(cosigned)
    else:
        events = pluralize(cosigned.size, "event")
        typer.echo(
            f"{cosigned.witness} has cosigned {events} of {cosigned.origin} at {format_time(cosigned.time)} UTC."
        )
