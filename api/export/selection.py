"""What an export is asked for, as parameters of a request or options of the command line."""

from collections.abc import Mapping
from importlib.util import find_spec

import msgspec

from api.export.manifest import FORMATS, Filters, Format
from api.parameters import check_names, parse_choice
from api.service.query_params import parse_event_query
from events.envelope import agent_of, timestamp
from ledger import LogReader, Query, moment_of
from ledger.errors import InvalidQuery, NotFound

PARAMETERS = ("since", "until", "type", "subject", "agent", "format", "gzip", "evidence")

FLAGS = ("false", "true")


class ExportSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Which events, and how they are written."""

    query: Query
    format: Format = "ndjson"
    gzipped: bool = False
    evidence: bool = False

    @property
    def filters(self) -> Filters:
        """The filters, as the manifest tells them."""
        query = self.query
        return Filters(
            since=timestamp(moment_of(query.since_us)) if query.since_us is not None else None,
            until=timestamp(moment_of(query.until_us)) if query.until_us is not None else None,
            types=query.types,
            subjects=query.subjects,
            agent=agent_of(query.source) if query.source is not None else None,
        )

    @property
    def complete(self) -> bool:
        """Whether nothing was left out."""
        return self.filters == Filters()

    async def check(self, reader: LogReader) -> None:
        """Errors: NotFound, for a stream or an agent of which the log holds nothing: it is more likely misspelt."""
        for subject in self.query.subjects:
            if not (await reader.read(Query(subjects=(subject,), limit=1))).positions:
                raise NotFound(f"{subject} is not in the log.", "Streams are named KIND/ID, as in decision/3f2a9c1e.")
        source = self.query.source
        if source is not None and not (await reader.read(Query(source=source, limit=1))).positions:
            raise NotFound(f"{agent_of(source)} has recorded nothing here.", "The agent's name stands in its token.")


def parse_export_selection(parameters: Mapping[str, str]) -> ExportSelection:
    """What parameters ask for. Errors: InvalidQuery, naming the parameter."""
    check_names(parameters.keys(), PARAMETERS)
    chosen = {name: parameters[name] for name in ("since", "until", "type", "subject") if name in parameters}
    if "agent" in parameters:
        chosen["source"] = parameters["agent"]
    query = parse_event_query(chosen)
    if query.since_us is not None and query.until_us is not None and query.since_us > query.until_us:
        raise InvalidQuery("since", "begins after until ends.", "Exchange them.")
    format_ = parse_choice("format", parameters.get("format"), FORMATS, "ndjson")
    gzipped = parse_choice("gzip", parameters.get("gzip"), FLAGS, "false") == "true"
    if format_ == "parquet":
        if gzipped:
            raise InvalidQuery("gzip", "a Parquet file is compressed by itself.", "Leave gzip out.")
        if find_spec("pyarrow") is None:
            advice = "Install it where the export is made: pip install 'tallystick[parquet]'."
            raise InvalidQuery("format", "parquet needs pyarrow, which is not installed.", advice)
    evidence = parse_choice("evidence", parameters.get("evidence"), FLAGS, "false") == "true"
    return ExportSelection(query=query, format=format_, gzipped=gzipped, evidence=evidence)
