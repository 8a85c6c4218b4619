"""decisions and decision: list decisions, and show one with its history."""

from typing import Annotated

import typer

from api.cli.ledger_target import LedgerTarget, verb
from api.cli.options import (
    ORDERS,
    OUTCOMES,
    Agent,
    AsOf,
    Category,
    Feature,
    Limit,
    Model,
    Offset,
    Project,
    Since,
    Stakes,
    Until,
    Window,
    choice,
    given,
)

STATUSES = ("pending", "reviewed", "retracted")
RETRIEVAL_MODES = ("semantic", "keyword", "hybrid")
SORTS = ("created_at", "confidence", "category", "stakes", "status")

Cluster = Annotated[str | None, typer.Option(help="Only decisions of this cluster.", metavar="NAME")]
Retrieval = Annotated[str | None, choice("Rank the search by its meaning, by its words, or by both.", RETRIEVAL_MODES)]
HybridWeight = Annotated[
    float | None, typer.Option(help="The weight of the meaning in the mode hybrid; 0.7 without it.", min=0, max=1)
]
Embedding = Annotated[
    str | None,
    typer.Option(help="The vector of the search: a JSON array, or 32-bit floats in Base64.", metavar="NUMBERS"),
]
EmbeddingModel = Annotated[
    str | None, typer.Option(help="The model that made the vector of the search.", metavar="NAME")
]


@verb(server=True, reads=True)
def decisions(
    target: LedgerTarget,
    *,
    agent: Agent = None,
    category: Category = None,
    stakes: Stakes = None,
    project: Project = None,
    feature: Feature = None,
    cluster: Cluster = None,
    model: Model = None,
    status: Annotated[str | None, choice("Only decisions with this status.", STATUSES, also=("",))] = None,
    outcome: Annotated[str | None, choice("Only decisions with this outcome.", OUTCOMES, also=("",))] = None,
    tag: Annotated[str | None, typer.Option(help="Only decisions with one of these tags, separated by commas.")] = None,
    since: Since = None,
    until: Until = None,
    window: Window = None,
    search: Annotated[str | None, typer.Option(help="Only decisions whose texts contain all of these words.")] = None,
    retrieval_mode: Retrieval = None,
    hybrid_weight: HybridWeight = None,
    embedding: Embedding = None,
    embedding_model: EmbeddingModel = None,
    sort: Annotated[str | None, choice("Sort by this field.", SORTS)] = None,
    order: Annotated[str | None, choice("Sort in this order.", ORDERS)] = None,
    limit: Limit = None,
    offset: Offset = None,
    as_of: AsOf = None,
) -> None:
    """List decisions.

    The newest comes first; with --retrieval-mode the best match of --search. The meaning is compared by a server with
    an embeddings endpoint, or with --embedding.

    Example: tallystick decisions --agent claude --status pending --stakes high
    """
    from api.cli.open_ledger import answer_as_of
    from api.cli.output import print_json
    from api.cli.render.decisions import print_decisions
    from api.service.decision_search import find_decisions
    from api.service.search_params import parse_decision_search
    from ledger import system_clock

    parameters = given(
        agent=agent, category=category, stakes=stakes, project=project, feature=feature, cluster=cluster,
        model=model, status=status, outcome=outcome,
        tag=tag, since=since, until=until, window=window, search=search, sort=sort, order=order,
        limit=limit, offset=offset, retrieval_mode=retrieval_mode,
        hybrid_weight=None if hybrid_weight is None else str(hybrid_weight),
        embedding=embedding, embedding_model=embedding_model,
    )  # fmt: skip
    query = parse_decision_search(parameters, system_clock())
    page = answer_as_of(
        target,
        as_of,
        lambda view: find_decisions(view, query),
        lambda server: server.decisions(parameters),
    )
    if target.json:
        print_json(page)
    else:
        print_decisions(page)


@verb(server=True, reads=True)
def decision(
    target: LedgerTarget,
    decision_id: Annotated[str, typer.Argument(metavar="ID", help="The id, or an unambiguous beginning of it.")],
    as_of: AsOf = None,
) -> None:
    """Show one decision with its history.

    Example: tallystick decision 3f2a9c1e
    """
    from api.cli.open_ledger import answer_as_of
    from api.cli.output import print_json
    from api.cli.render.decisions import print_decision
    from api.service.decisions import find_decision

    state = answer_as_of(
        target,
        as_of,
        lambda view: find_decision(view, decision_id, prefix=True),
        lambda server: server.decision(decision_id),
    )
    if target.json:
        print_json(state)
    else:
        print_decision(state)
