"""The readers of formats, and which of them reads a file."""

from api.importers.results.deepeval_reader import DEEPEVAL
from api.importers.results.imported_run import ImportedFile
from api.importers.results.inspect_reader import INSPECT
from api.importers.results.lm_eval_reader import LM_EVAL
from api.importers.results.promptfoo_reader import PROMPTFOO
from api.importers.results.source_file import ResultsReader, SourceFile
from ledger.errors import InvalidQuery

READERS: tuple[ResultsReader, ...] = (INSPECT, LM_EVAL, PROMPTFOO, DEEPEVAL)


def read_results(source: SourceFile, format_: str | None = None) -> ImportedFile:
    """Read a file in the named format, or in the one that its content shows. Errors: InvalidQuery, InvalidEvent."""
    for reader in READERS:
        if reader.format == format_ or (format_ is None and reader.recognizes(source)):
            return reader.read(source)
    names = ", ".join(reader.format for reader in READERS)
    if format_ is not None:
        raise InvalidQuery("format", f"{format_!r} is not one of {names}.", "Use one of these, or leave it out.")
    titles = ", ".join(reader.title for reader in READERS)
    raise source.fault(
        f"its content is in none of the known formats ({titles}).", f"Name the format with --format: {names}."
    )
