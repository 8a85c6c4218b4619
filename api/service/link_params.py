"""Query parameters of links between decisions, for HTTP and the command line."""

from collections.abc import Mapping
from typing import NamedTuple

from api.parameters import choice_list_parameter, choice_parameter, integer_parameter
from api.service.decision_links import DEPTH_MAX
from api.service.event_params import LIMIT, Parameters
from projections.decisions.link_graph import DIRECTIONS, LINK_TYPES, LinkSelection

DEPTH = integer_parameter("depth", "The number of steps to follow links.", 1, DEPTH_MAX, default=1)
DIRECTION = choice_parameter("direction", "Which links of a decision to follow.", DIRECTIONS, default="both")
EDGE_TYPE = choice_list_parameter("edge_type", "Links of these types, separated by commas.", LINK_TYPES)

NEIGHBORS_PARAMETERS: Parameters = (DIRECTION, EDGE_TYPE, LIMIT)
GRAPH_PARAMETERS: Parameters = (DEPTH, *NEIGHBORS_PARAMETERS)


class GraphQuery(NamedTuple):
    """How far to follow which links, and the largest number of links to return."""

    depth: int
    selection: LinkSelection
    limit: int


def parse_graph_query(parameters: Mapping[str, str]) -> GraphQuery:
    """Parse the parameters of a graph, or of neighbours. Errors: InvalidQuery."""
    selection = LinkSelection(DIRECTION.read(parameters), EDGE_TYPE.read(parameters))
    return GraphQuery(DEPTH.read(parameters), selection, LIMIT.read(parameters))
