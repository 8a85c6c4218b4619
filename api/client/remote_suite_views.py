"""The views of a server about the suite versions that runs kept."""

from typing import TYPE_CHECKING

from api.client.remote_decision_views import RemoteDecisionViews, id_segment

if TYPE_CHECKING:
    pass


class RemoteSuiteViews(RemoteDecisionViews):
    """The views of a server, now or as of a position or time as text. Errors: those of `RemoteStore.view`."""

    async def suite_file(self, version: str, path: str) -> bytes:
        """Return the bytes of a file of a suite version."""
        return await self._store.get(f"{_path(version)}/file", {"path": path, **self._as_of})


def _path(version: str) -> str:
    return f"/suites/{id_segment(version, 'suite version')}"
