"""The views of a server about the suite versions that runs kept."""

from typing import TYPE_CHECKING

from api.client.remote_decision_views import Parameters, RemoteDecisionViews, id_segment

if TYPE_CHECKING:
    from api.service.evaluation.suite_comparison import SuiteComparison
    from api.service.evaluation.suite_queries import KeptScenarioAnswer, SuiteVersionAnswer, SuiteVersionPage


class RemoteSuiteViews(RemoteDecisionViews):
    """The views of a server, now or as of a position or time as text. Errors: those of `RemoteStore.view`."""

    async def suite_versions(self, parameters: Parameters) -> "SuiteVersionPage":
        """Return a page of suite versions."""
        from api.service.evaluation.suite_queries import SuiteVersionPage

        return await self._store.view("/suites", SuiteVersionPage, {**parameters, **self._as_of})

    async def suite_version(self, version: str, parameters: Parameters) -> "SuiteVersionAnswer":
        """Return a suite version, with a page of its scenarios."""
        from api.service.evaluation.suite_queries import SuiteVersionAnswer

        return await self._store.view(_path(version), SuiteVersionAnswer, {**parameters, **self._as_of})

    async def kept_scenario(self, version: str, scenario_id: str) -> "KeptScenarioAnswer":
        """Return a scenario of a suite version, with its files."""
        from api.service.evaluation.suite_queries import KeptScenarioAnswer

        path = f"{_path(version)}/scenarios/{id_segment(scenario_id, 'scenario')}"
        return await self._store.view(path, KeptScenarioAnswer, self._as_of)

    async def suite_file(self, version: str, path: str) -> bytes:
        """Return the bytes of a file of a suite version."""
        return await self._store.get(f"{_path(version)}/file", {"path": path, **self._as_of})

    async def suite_comparison(self, baseline: str, candidate: str) -> "SuiteComparison":
        """Return what differs between two suite versions."""
        from api.service.evaluation.suite_comparison import SuiteComparison

        parameters = {"baseline": baseline, "candidate": candidate, **self._as_of}
        return await self._store.view("/suites/compare", SuiteComparison, parameters)


def _path(version: str) -> str:
    return f"/suites/{id_segment(version, 'suite version')}"
