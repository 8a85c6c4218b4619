"""An environment without the extra `mcp`."""

from pathlib import Path

from tests.support.paths import ROOT

_MISSING = "raise ModuleNotFoundError(\"No module named '{0}'\", name='{0}')\n"


def hide_sdk(folder: Path) -> dict[str, str]:
    """Return the variables of an environment in which the SDK cannot be imported."""
    package = folder / "hidden" / "mcp"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(_MISSING.format("mcp"))
    (package.parent / "mcp_types.py").write_text(_MISSING.format("mcp_types"))
    return {"PYTHONPATH": f"{package.parent}:{ROOT}"}
