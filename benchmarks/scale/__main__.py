"""`python -m benchmarks.scale`: print the tables of decision 82. It measures nothing, and takes some seconds."""

import sys
import textwrap

from benchmarks.scale.costs import MEASURED, SOURCES, Assumptions, measured
from benchmarks.scale.tables import all_tables


def main() -> int:
    """Print the inputs and the tables."""
    for figure in MEASURED:
        print(f"{figure.name:<20}{figure.value:>12.6g}  {figure.meaning} ({figure.source})")
    for letter, source in SOURCES.items():
        print(f"({letter}) {source}")
    for table in all_tables(measured(), Assumptions()):
        print(f"\n{textwrap.fill(table.title, 80)}\n")
        print("\n".join(table.lines()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
