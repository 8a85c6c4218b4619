"""probe prompt and probe analyze: discovery piece by piece."""

from typing import Annotated

import typer

from api.commands.options import ledger_of

ProbeId = Annotated[
    str | None,
    typer.Option("--probe", help="The probe to ask.  \\[default: refactor-go]", metavar="ID", show_default=False),
]


def prompt(
    probe: ProbeId = None,
    exclude_file: Annotated[
        str | None,
        typer.Option(
            help="Who must not answer: a JSON array of identities or names, or one name a line; - is standard input.",
            metavar="FILE|-",
        ),
    ] = None,
) -> None:
    """Print the prompt that asks a model who it is, and gives it a probe's task. Nothing is written.

    Example: tallystick probe prompt --exclude-file seen.txt | some-model > answer.txt
    """
    from api.printing import print_line
    from api.probing import prompt_of

    print_line(prompt_of(probe, exclude_file).rstrip("\n").encode())


def analyze(
    context: typer.Context,
    response_file: Annotated[str, typer.Option(help="One answer; - is standard input.", metavar="FILE|-")],
    probe: ProbeId = None,
) -> None:
    """Print what one answer is, as JSON: identity, key, code, score, known, wrapper, verdict. Nothing is written.

    The verdict is identified, wrapper, refused, empty or unparsable; the exit code is 0 where a model is identified,
    1 otherwise. Known is a model that is registered in the ledger, where there is one.

    Example: tallystick probe analyze --response-file answer.txt || echo "nobody"
    """
    import asyncio

    from api.printing import print_json
    from api.probing import analyzed, read

    found = asyncio.run(analyzed(read(response_file, "response_file"), probe, ledger_of(context)))
    print_json(found)
    if found.verdict != "identified":
        raise typer.Exit(1)
