"""Use cases of projections: list, show and replay them."""

from typing import Annotated

import msgspec
from msgspec import Meta, structs

from api.service.ledger import LedgerService, View
from api.service.operation import Link, operation
from events.registry import VOCABULARY
from ledger.errors import NotFound
from projections.engine import Engine, Progress
from projections.projection import Projection
from projections.registry import PROJECTIONS
from projections.shared_params import NoParams
from tallystick.shapes.parts import AsOf


class LeftOut(msgspec.Struct, frozen=True):
    """The events that no view uses, because no append could have written their lines: `tallystick verify` lists them.

    `first` is the lowest position, and `reason` says what is wrong with it.
    """

    events: int
    first: int
    reason: str


class ProjectionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A projection, the event types that it reads, and the position up to which it has folded."""

    name: str
    version: int
    types: list[str]
    position: int
    left_out: LeftOut | msgspec.UnsetType = msgspec.UNSET
    """Absent if every event is used."""


class ProjectionList(msgspec.Struct, frozen=True):
    """Every projection, with the position up to which it is folded."""

    projections: list[ProjectionInfo]


class ProjectionState(ProjectionInfo, frozen=True, kw_only=True):
    """A projection as of a position: the digest of its state, and its summary."""

    digest: str
    as_of: AsOf
    view: dict[str, object]


class ReplayResult(msgspec.Struct, frozen=True, kw_only=True):
    """A projection folded again from position 1: its digest, and, if compared, that of the incremental state."""

    name: str
    version: int
    position: int
    digest: str
    incremental: str | None = None
    same: bool | None = None


@operation(
    "/projections",
    "projections",
    of_now=True,
    links={"projection": Link("get_projection", "name", "$response.body#/projections/0/name")},
)
async def get_projections(view: View, params: NoParams) -> ProjectionList:
    """List every projection."""
    position = await view.engine.catch_up(kinds=PROJECTIONS)
    return ProjectionList([_info(view, kind, position) for kind in PROJECTIONS])


class ProjectionQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which projection to show."""

    name: Annotated[
        str,
        Meta(description="The projection's name.", extra_json_schema={"enum": [kind.name for kind in PROJECTIONS]}),
    ]


@operation("/projections/{name}", "projections", heavy=True, errors=(404,))
async def get_projection(view: View, params: ProjectionQuery) -> ProjectionState:
    """Return one projection: the digest of its state, and its summary."""
    kind = _kind_of(params.name)
    projection, position = await view.at(kind)
    digest, summary = projection.digest(), dict(projection.summary())
    info = structs.asdict(_info(view, kind, position))
    return ProjectionState(**info, digest=digest, as_of=await view.dated(position), view=summary)


async def replay_projections(
    ledger: LedgerService,
    name: str | None = None,
    upto: int | None = None,
    *,
    check: bool = False,
    progress: Progress | None = None,
) -> list[ReplayResult]:
    """Fold one projection, or all, again from position 1; with `check`, compare with the incremental states.

    Errors: NotFound, InvalidQuery.
    """
    kinds = PROJECTIONS if name is None else (_kind_of(name),)
    target = (await ledger.reader.head()).position if upto is None else upto
    incremental = {kind.name: (await ledger.engine.at(kind, target))[0].digest() for kind in kinds} if check else {}
    folded = await Engine(ledger.reader, kinds).replay(target, progress)
    digests = ((kind, folded[kind.name].digest(), incremental.get(kind.name)) for kind in kinds)
    return [
        ReplayResult(
            name=kind.name,
            version=kind.version,
            position=target,
            digest=digest,
            incremental=incremental_digest,
            same=None if incremental_digest is None else digest == incremental_digest,
        )
        for kind, digest, incremental_digest in digests
    ]


def _kind_of(name: str) -> type[Projection]:
    """Return the projection with a name. Errors: NotFound."""
    for kind in PROJECTIONS:
        if kind.name == name:
            return kind
    names = ", ".join(kind.name for kind in PROJECTIONS)
    raise NotFound(f"There is no projection {name!r}.", f"Projections: {names}.")


def _info(view: View, kind: type[Projection], position: int) -> ProjectionInfo:
    types = [event.name for event in VOCABULARY.event_types.values() if event.current in kind.reads]
    left_out = view.engine.left_out
    missing = LeftOut(len(left_out), *min(left_out.items())) if left_out else msgspec.UNSET
    return ProjectionInfo(name=kind.name, version=kind.version, types=types, position=position, left_out=missing)
