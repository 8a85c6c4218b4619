"""The selection of an export: its filters and format, from a request's parameters or the command line's options."""

from collections.abc import Mapping
from importlib.util import find_spec

import msgspec

from api.export.manifest import FORMATS, Filters, Format
from api.parameters import SINCE, UNTIL, choice_parameter, flag_parameter, text_parameter
from api.service.event_params import SUBJECT, TYPE, Parameters, parse_event_query
from events.envelope import agent_of, timestamp
from ledger.clock import moment_of
from ledger.errors import InvalidQuery
from ledger.log import Query

AGENT = text_parameter("agent", "One agent, by its name.")
FORMAT = choice_parameter("format", "The format of the events.", FORMATS, default="ndjson")
GZIP = flag_parameter("gzip", "Compress the events. Parquet is compressed already.")
EVIDENCE = flag_parameter("evidence", "Add the evidence that the events name.")

EXPORT_PARAMETERS: Parameters = (SINCE, UNTIL, TYPE, SUBJECT, AGENT, FORMAT, GZIP, EVIDENCE)


class ExportSelection(msgspec.Struct, frozen=True, kw_only=True):
    """Which events to export, and in which format."""

    query: Query
    format: Format = "ndjson"
    gzipped: bool = False
    evidence: bool = False

    @property
    def filters(self) -> Filters:
        """The filters, as the manifest names them."""
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
        """Whether the export has every event."""
        return self.filters == Filters()


def parse_selection(parameters: Mapping[str, str]) -> ExportSelection:
    """Return the selection that parameters state by name. Errors: InvalidQuery."""
    filters = {name: parameters[name] for name in ("since", "until", "type", "subject") if name in parameters}
    if AGENT.name in parameters:
        filters["source"] = parameters[AGENT.name]
    query = parse_event_query(filters)
    if query.since_us is not None and query.until_us is not None and query.since_us > query.until_us:
        raise InvalidQuery("since", "begins after until ends.", "Exchange them.")
    format_, gzipped = FORMAT.read(parameters), GZIP.read(parameters)
    if format_ == "parquet":
        if gzipped:
            raise InvalidQuery("gzip", "a Parquet file is compressed already.", "Omit gzip.")
        if find_spec("pyarrow") is None:
            advice = "Install it where the export is made: pip install 'tallystick[parquet]'."
            raise InvalidQuery("format", "parquet needs pyarrow, which is not installed.", advice)
    return ExportSelection(query=query, format=format_, gzipped=gzipped, evidence=EVIDENCE.read(parameters))
