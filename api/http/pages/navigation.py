"""The links that every page has."""

from collections.abc import Sequence
from typing import NamedTuple

from api.principal import Principal


class NavigationLink(NamedTuple):
    """A link of the navigation: its section, address and label, and whether the shown page is in that section."""

    section: str
    address: str
    label: str
    current: bool = False


LINKS: Sequence[NavigationLink] = (
    NavigationLink("overview", "/ui", "Overview"),
    NavigationLink("decisions", "/ui/decisions", "Decisions"),
    NavigationLink("reviews", "/ui/reviews", "Reviews"),
    NavigationLink("calibration", "/ui/calibration", "Calibration"),
    NavigationLink("models", "/ui/models", "Models"),
    NavigationLink("evaluations", "/ui/evaluations", "Evaluations"),
    NavigationLink("log", "/ui/log", "Log"),
    NavigationLink("proof", "/ui/proof", "Proof"),
    NavigationLink("operate", "/ui/operate", "Operate"),
)


def links_for(caller: Principal, section: str) -> Sequence[NavigationLink]:
    """Return the links that a caller may follow: all if it may read. One of them may be that of the shown page."""
    if caller.scopes.isdisjoint({"read", "admin"}):
        return []
    return [link._replace(current=link.section == section) for link in LINKS]
