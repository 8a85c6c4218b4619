"""Read the links of an installation: `related_to` of decision files, and the lines of graph files.

A line of a graph file is a link as JSON. CSTP appends to the file, and of the lines with the same two decisions and the
same type the last one counts.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec

from api.importers.cstp.coerce import Coercion
from api.importers.cstp.other_files import first_line
from api.importers.cstp.report import CstpImportResult
from api.importers.values import InvalidValue, parse_stream_id
from api.service.link_target import WEIGHT_MIN, weight_of_distance
from events.decode_error_messages import DECODE_ERRORS
from events.link import LinkType
from events.payload import Label

SYSTEM = "system"
"""By this name, CSTP's graph says that a link comes from `related_to`."""

GRAPH_SUFFIX = ".jsonl"
GRAPH_NAMES = ("graph.jsonl", "graph_edges.jsonl")

_DISTANCE_MAX = 1 - WEIGHT_MIN
_SEED_NAMES = {"source": "source_id", "target": "target_id", "type": "edge_type"}
"""The names that the seed of CSTP's demonstration has for these fields."""


class _Edge(msgspec.Struct, kw_only=True):
    source_id: str
    target_id: str
    edge_type: LinkType
    weight: float | None = None
    created_at: datetime | None = None
    created_by: Label | None = None
    context: str | None = None


class SourceLink(_Edge, kw_only=True):
    """A link as a file states it. `related` says that it comes from `related_to`, and not from a graph file."""

    file: str
    field: str
    related: bool = False

    @property
    def key(self) -> tuple[str, str, LinkType]:
        """What a later link replaces: the same two decisions, and the same type."""
        return self.source_id, self.target_id, self.edge_type


class _Related(msgspec.Struct):
    id: str
    summary: str | None = None
    distance: Annotated[float, msgspec.Meta(ge=0)] | None = None


def read_related(value: object, decision_id: str, file: str, coercion: Coercion) -> list[SourceLink]:
    """Return the links in the field `related_to` of a decision; report what does not fit."""
    if value in (None, "", [], {}):
        return []
    if not isinstance(value, list):
        coercion.add_loss("related_to", value, "a list")
        return []
    links = (_read_related(item, f"related_to[{index}]", decision_id, coercion) for index, item in enumerate(value))
    return [
        SourceLink(
            file=file,
            field=field,
            source_id=decision_id,
            target_id=related.id,
            edge_type="relates_to",
            weight=weight_of_distance(related.distance),
            context=related.summary,
            created_by=SYSTEM,
            related=True,
        )
        for field, related in filter(None, links)
    ]


def _read_related(item: object, field: str, decision_id: str, coercion: Coercion) -> tuple[str, _Related] | None:
    fields = {"id": item} if isinstance(item, str) else item
    if not isinstance(fields, dict):
        coercion.add_loss(field, item, "an object with an id")
        return None
    values = coercion.fields(_Related, fields, field)
    if values is None or not _check_ends({"id": values["id"]}, decision_id, field, coercion):
        return None
    related = _Related(**values)
    if related.distance is not None and related.distance > _DISTANCE_MAX:
        allowed = f"at most {_DISTANCE_MAX:g}; the link gets the least weight, as in CSTP's graph"
        coercion.add_loss(f"{field}.distance", related.distance, allowed)
    return field, related


def _check_ends(ends: Mapping[str, str], other: str | None, field: str, coercion: Coercion) -> bool:
    """Return whether the ends of a link can be two decisions; report it if not."""
    for name, value in ends.items():
        try:
            parse_stream_id(value)
        except InvalidValue as error:
            coercion.add_loss(f"{field}.{name}", value, str(error), left_out=field)
            return False
        if value == other:
            coercion.add_loss(f"{field}.{name}", value, "another decision", left_out=field)
            return False
        other = value
    return True


def is_graph_file(path: Path) -> bool:
    """Return whether a file of JSON lines is a graph: by its name, or by its first line."""
    return path.name in GRAPH_NAMES or _rename(first_line(path)).keys() >= _EDGE_ENDS


_EDGE_ENDS = {"source_id", "target_id"}


def read_graph(path: Path, report: CstpImportResult) -> Iterator[SourceLink]:
    """Yield the links of a graph file, in order; report every line that is not one."""
    coercion = Coercion(report, str(path), None)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip() and (link := _read_line(line, number, str(path), coercion)) is not None:
                    yield link
    except OSError as error:
        coercion.add_loss("file", error.strerror, "a file that can be read")


def _read_line(line: bytes, number: int, file: str, coercion: Coercion) -> SourceLink | None:
    place = f"line {number}"
    fields = _decode(line)
    if not isinstance(fields, dict):
        text = line.decode("utf-8", "backslashreplace").strip()
        coercion.add_loss(place, text, "a link as a JSON object")
        return None
    values = coercion.fields(_Edge, _rename(fields), place)
    ends = {name: values[name] for name in ("source_id", "target_id")} if values is not None else {}
    if values is None or not _check_ends(ends, None, place, coercion):
        return None
    link = SourceLink(file=file, field=place, **values)
    if link.weight is not None and not 0 < link.weight <= 1:
        coercion.add_loss(f"{place}.weight", link.weight, "above 0 and at most 1")
        link.weight = None
    return link


def _decode(line: bytes) -> Any:  # noqa: ANN401 - any JSON
    try:
        return msgspec.json.decode(line)
    except DECODE_ERRORS:
        return None


def _rename(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a line by the names of CSTP's server."""
    return {name if (other := _SEED_NAMES.get(name)) is None or other in fields else other: value
            for name, value in fields.items()}  # fmt: skip
