"""What an empty answer says about names in its filter that nothing in the ledger has."""

from collections.abc import Sequence

import msgspec
from msgspec import UnsetType

from api.service.ledger import View
from api.service.unknown_names import find_unknown_names
from projections.calibration.calibration_filter import CalibrationFilter
from projections.decisions.decision_index import DecisionIndex
from projections.decisions.decision_selection import DecisionSelection
from tallystick.shapes.parts import UnknownName


def unknown_json(names: Sequence[UnknownName] | UnsetType) -> dict[str, object]:
    """Return the field `unknownNames`: parameter, value and the most similar name; nothing, if all are known."""
    return {"unknownNames": msgspec.to_builtins(names)} if names else {}


async def name_unknown(view: View, selection: DecisionSelection | CalibrationFilter) -> dict[str, object]:
    """Return the field `unknownNames` for the filter of an empty answer."""
    projection, _ = await view.at(DecisionIndex)
    asked = {name: getattr(selection, name) for name in ("agent", "category", "project", "feature")}
    return unknown_json(find_unknown_names({**asked, "tag": getattr(selection, "tags", ())}, projection.names()))
