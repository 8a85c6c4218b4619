"""Print the names of hosts."""

from api.cli.output import open_console, table_of
from api.cli.render.calibration import format_as_of
from api.service.wrappers import WrapperList
from api.text_format import one_line


def print_wrappers(answer: WrapperList) -> None:
    """Print the stated names as a table, and the default list as text."""
    console = open_console()
    if answer.stated:
        table = table_of(
            answer.stated,
            {"name": lambda one: one_line(one.name or one.key), "host": "wrapper", "sightings": "sightings",
             "note": "note"},
            right=("sightings",), wrap=("name", "note"), drop=("note",),
        )  # fmt: skip
        console.print(table)
    else:
        console.print("You declared no name: tallystick model wrapper add NAME")
    console.print(f"\nBy default: {', '.join(answer.defaults)}.")
    console.print()
    console.print(format_as_of(answer.as_of), style="dim")
