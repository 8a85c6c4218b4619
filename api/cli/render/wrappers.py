"""Print the names of hosts."""

from api.cli.output import make_table, open_console
from api.cli.render.calibration import format_as_of
from api.service.wrappers import WrapperList
from api.text_format import format_count, one_line


def print_wrappers(answer: WrapperList) -> None:
    """Print the stated names as a table, and the default list as text."""
    console = open_console()
    if answer.stated:
        table = make_table(
            "name", "host", "sightings", "note", right=("sightings",), wrap=("name", "note"), drop=("note",)
        )
        for one in answer.stated:
            sightings = "-" if one.sightings is None else format_count(one.sightings)
            table.add_row(one_line(one.name or one.key), "yes" if one.wrapper else "no", sightings, one_line(one.note))
        console.print(table)
    else:
        console.print("You declared no name: tallystick model wrapper add NAME")
    console.print(f"\nBy default: {', '.join(answer.defaults)}.")
    console.print()
    console.print(format_as_of(answer.as_of), style="dim")
