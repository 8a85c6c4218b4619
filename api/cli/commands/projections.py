"""projections: list the projections, or show one."""

from typing import TYPE_CHECKING, Annotated

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.open_ledger import ask
from api.cli.options import AsOf, argument
from api.cli.output import make_table, open_console, print_json, print_line
from api.text_format import format_count, to_json
from ledger.errors import InvalidQuery

if TYPE_CHECKING:
    from api.service.projections import ProjectionList, ProjectionState


@verb(server=True, reads=True)
def projections(
    target: LedgerTarget,
    name: Annotated[str | None, argument("One projection; without it, all.", "[NAME]")] = None,
    as_of: AsOf = None,
) -> None:
    """List the projections, or show one.

    For one projection it prints the digest of its state and its summary.

    Example: tallystick projections calibration --as-of 2026-11-01
    """
    import msgspec

    from api.service.projections import ProjectionList

    answer = _list(target, as_of) if name is None else _show(target, name, as_of)
    if target.json:
        print_json(answer)
    elif not isinstance(answer, ProjectionList):
        print_line(msgspec.json.format(to_json(answer)))
    else:
        table = make_table("projection", "version", "position", "reads", right=("position",), wrap=("reads",))
        for info in answer.projections:
            table.add_row(info.name, str(info.version), format_count(info.position), ", ".join(info.types))
        open_console().print(table)


def _list(target: LedgerTarget, as_of: str | None) -> "ProjectionList":
    from api.service.projections import get_projections
    from projections.shared_params import NoParams

    if as_of is not None:
        raise InvalidQuery("as_of", "needs the name of a projection.", "Write: tallystick projections NAME --as-of ...")
    return ask(target, get_projections, NoParams())


def _show(target: LedgerTarget, name: str, as_of: str | None) -> "ProjectionState":
    from api.service.projections import ProjectionQuery, get_projection

    return ask(target, get_projection, ProjectionQuery(name=name), as_of)
