"""witness: somebody else who saw what was signed."""

from typing import Annotated

import typer

from api.commands.options import AsJson, ledger_of


def witness(
    context: typer.Context,
    url: Annotated[str, typer.Option(help="The witness's address, before /add-checkpoint.", metavar="WITNESS")],
    key: Annotated[str, typer.Option(help="The witness's verifier key.", metavar="VKEY")],
    as_json: AsJson = False,
) -> None:
    """Ask a witness (C2SP tlog-witness) to cosign the newest checkpoint, and keep what it says beside the ledger.

    A witness that was shown another history of this log refuses: exit code 1.

    Example: tallystick witness --url https://witness.example.com --key witness.example.com/w1+04d2d833+BD1A...
    """
    import asyncio

    from api.printing import many, moment, print_json
    from api.reading import proving
    from api.witnessing import Cosigned, ask
    from ledger import Verifier

    verifier = Verifier.parse(key)

    async def asked() -> Cosigned:
        async with proving(ledger_of(context)) as house:
            return await ask(house, url, verifier)

    cosigned = asyncio.run(asked())
    if as_json:
        print_json(cosigned)
    else:
        events = many(cosigned.size, "event")
        typer.echo(f"{cosigned.witness} has cosigned {events} of {cosigned.origin} at {moment(cosigned.time)} UTC.")
