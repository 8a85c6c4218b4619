"""README.md of an export: its files, and how to verify them without Tallystick.

It contains two programs of twenty lines of plain Python. Our tests run them on exports, and on exports that were
tampered with. It contains no text that an agent wrote.
"""

from api.export.manifest import FORMAT, events_name
from api.export.selection import ExportSelection


def readme(selection: ExportSelection, *, earlier: bool, witnessed: bool) -> str:
    """Return the text; `earlier` and `witnessed` say whether the export has an earlier and a cosigned checkpoint."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only an export loads it

    environment = Environment(
        loader=PackageLoader(__package__, ""),
        autoescape=False,  # noqa: S701 - Markdown, of which no part comes from others
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    modules = ["base64", "hashlib", "json", "sys"]
    modules += {"csv": ["csv"], "parquet": ["pyarrow.parquet"]}.get(selection.format, [])
    modules += ["gzip"] if selection.gzipped else []
    return environment.get_template("readme.md.j2").render(
        version=FORMAT,
        complete=selection.complete,
        format=selection.format,
        events=events_name(selection.format, gzipped=selection.gzipped),
        evidence=selection.evidence,
        earlier=earlier,
        witnessed=witnessed,
        modules=", ".join(sorted(modules)),
        open="gzip.open" if selection.gzipped else "open",
    )
