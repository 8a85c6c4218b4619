"""The page of one model shows its profile as the JSON route has it."""

import httpx

from tests.api.http.discovery_agent import model
from tests.api.http.posts import fresh, get
from tests.api.pages.models.driven_runs import drive
from tests.api.pages.page_requests import read_page


def test_the_page_of_a_model_shows_its_profile(client: httpx.Client) -> None:
    mark = fresh()
    drive(client, *(model(f"{name}-{mark}") for name in ("alpha", "beta", "gamma")))
    (profile,) = get(client, "/profiles", model=f"beta-{mark}")["profiles"]
    page = read_page(client, "/ui/models", model=f"beta-{mark}")
    (row,) = page.rows("Profile")
    (probe,) = profile["probes"]
    assert row[0] == f"{probe['probe_id']}@{probe['probe_version']}"
    assert row[1] == str(probe["answers"])
    assert row[4:] == [f"{probe['score']:.3f}", f"{probe['percentile']:.0f}", str(probe["models"])]
    assert f"Overall {profile['overall']:.0f} of 100, over 1 probe" in page.text
