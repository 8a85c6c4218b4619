"""Scenarios as they are when they are loaded, for tests that need no files but the investigation."""

from pathlib import Path

from instruments.evals.scenario import Description, Expectations, Expected, Scenario
from tests.api.service.ledgers import digest_of


def scenario(
    root: Path,
    title: str,
    *,
    data: bytes = b'{"alert": {"fingerprint": "c0ffee"}}',
    about: str = "Image pull",
    **more: str,
) -> Scenario:
    """A scenario with an investigation of these bytes; its fixture's digest is of these and of what it is called."""
    folder = root / title
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "investigation.json").write_bytes(data)
    expected = Expectations(root_cause=Expected(patterns=("tag",), match_type="substring"))
    given = {"family": "image-pull", "failure_type": "ImagePullBackOff", **more}
    return Scenario(
        id=title.replace("/", "."),
        title=title,
        folder=folder,
        mode=title.partition("/")[2] or None,
        about=Description(
            name=about,
            expected_outcomes=expected,
            family=given["family"],
            failure_type=given["failure_type"],
            description=given.get("description"),
            captured_at=given.get("captured_at"),
            captured_by=given.get("captured_by"),
            source=given.get("source"),
        ),
        investigation={"alert": {"fingerprint": "c0ffee"}},
        captured=None,
        fixture_digest=digest_of(data + about.encode()),
        expectation_digest=digest_of(b"expected"),
        investigation_digest=digest_of(data),
    )
