"""What Prometheus has scraped in the minutes before, and the alerts of examples/postgresql that fire then."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

HEALTHY: Mapping[str, str] = MappingProxyType(
    {
        'up{job="tallystick", instance="a"}': "1x200",
        'up{job="tallystick", instance="b"}': "1x200",
        'tallystick_head_position{job="tallystick", instance="a"}': "1000+100x200",
        'tallystick_head_position{job="tallystick", instance="b"}': "990+100x200",
        'tallystick_checkpoint_events{job="tallystick", instance="a"}': "900+100x200",
        'tallystick_checkpoint_events{job="tallystick", instance="b"}': "100+0x200",
        'tallystick_queue_events{job="tallystick", instance="a"}': "0 40 0 0 10 0x195",
        'tallystick_signing_refused{job="tallystick", instance="a"}': "0x200",
        'tallystick_projection_lag_seconds{job="tallystick", instance="a"}': "0x200",
        'tallystick_limit{job="tallystick", instance="a", limit="feeds"}': "512x200",
        'tallystick_limit{job="tallystick", instance="a", limit="refusals-per-client"}': "0x200",
        'tallystick_limit_use{job="tallystick", instance="a", limit="feeds"}': "3x200",
        'tallystick_limit_use{job="tallystick", instance="a", limit="refusals-per-client"}': "0x200",
        'tallystick_webhooks_failing{job="tallystick", instance="a"}': "0x200",
        'tallystick_http_requests_total{job="tallystick", instance="a", method="POST", status="201"}': "0+50x200",
        'tallystick_http_requests_total{job="tallystick", instance="a", method="POST", status="503"}': "7x200",
        'tallystick_http_request_seconds_bucket{job="tallystick", endpoint="post_events", le="0.01"}': "0+50x200",
        'tallystick_http_request_seconds_bucket{job="tallystick", endpoint="post_events", le="1.0"}': "0+50x200",
        'tallystick_http_request_seconds_bucket{job="tallystick", endpoint="post_events", le="2.5"}': "0+50x200",
        'tallystick_http_request_seconds_bucket{job="tallystick", endpoint="post_events", le="+Inf"}': "0+50x200",
        'patroni_primary{scope="tallystick", instance="n1"}': "1x200",
        'patroni_primary{scope="tallystick", instance="n2"}': "0x200",
        'patroni_primary{scope="tallystick", instance="n3"}': "0x200",
        'patroni_quorum_standby{scope="tallystick", instance="n1"}': "0x200",
        'patroni_quorum_standby{scope="tallystick", instance="n2"}': "1x200",
        'patroni_quorum_standby{scope="tallystick", instance="n3"}': "1x200",
        'patroni_is_paused{scope="tallystick", instance="n1"}': "0x200",
    }
)
"""The series of two servers and three nodes, every 10 s, in promtool's notation. Server b has signed nothing lately."""

SLOW = 'tallystick_http_request_seconds_bucket{job="tallystick", endpoint="post_events", le='


class AlertCase(NamedTuple):
    """Series that differ from HEALTHY (None: missing), and the alerts that fire after half an hour."""

    name: str
    changed: Mapping[str, str | None]
    firing: frozenset[str]


def _case(name: str, changed: Mapping[str, str | None], *firing: str) -> AlertCase:
    unknown = changed.keys() - HEALTHY.keys()
    assert not unknown, unknown
    return AlertCase(name, changed, frozenset(firing))


CASES = (
    _case("healthy", {}),
    _case("one server down", {'up{job="tallystick", instance="b"}': "0x200"}, "TallystickDown"),
    _case(
        "all servers down",
        {'up{job="tallystick", instance="a"}': "0x200", 'up{job="tallystick", instance="b"}': "0x200"},
        "TallystickDown", "TallystickAllDown",
    ),
    _case(
        "the log is shorter than before",
        {
            'tallystick_head_position{job="tallystick", instance="a"}': "90000+1x150 50000+1x50",
            'tallystick_head_position{job="tallystick", instance="b"}': "90000+1x150 50000+1x50",
            'tallystick_checkpoint_events{job="tallystick", instance="a"}': "90000+1x200",
        },
        "TallystickEventsLost",
    ),
    _case(
        "a server signs nothing",
        {'tallystick_signing_refused{job="tallystick", instance="a"}': "1x200"},
        "TallystickNothingSigned",
    ),
    _case(
        "the newest checkpoint is old",
        {'tallystick_checkpoint_events{job="tallystick", instance="a"}': "900+100x140 14900x60"},
        "TallystickSigningBehind",
    ),
    _case(
        "appends wait",
        {
            'tallystick_queue_events{job="tallystick", instance="a"}': "0x150 500x50",
            'tallystick_head_position{job="tallystick", instance="a"}': "1000+100x150 16000x50",
            'tallystick_head_position{job="tallystick", instance="b"}': "1000+100x150 16000x50",
        },
        "TallystickAppendsWait",
    ),
    _case(
        "appends fail",
        {
            'tallystick_http_requests_total{job="tallystick", instance="a", method="POST", status="503"}':
            "7x150 8+1x50"
        },
        "TallystickAppendsFail",
    ),
    _case(
        "appends are slow",
        {f'{SLOW}"0.01"}}': "0x200", f'{SLOW}"1.0"}}': "0+40x200"},
        "TallystickAppendsSlow",
    ),
    _case(
        "a server does not see new events",
        {'tallystick_head_position{job="tallystick", instance="b"}': "990+100x150 15990x50"},
        "TallystickServerBehind",
    ),
    _case(
        "views are behind",
        {'tallystick_projection_lag_seconds{job="tallystick", instance="a"}': "0+1x200"},
        "TallystickViewsBehind",
    ),
    _case(
        "a limit is near",
        {'tallystick_limit_use{job="tallystick", instance="a", limit="feeds"}': "500x200"},
        "TallystickLimitNear",
    ),
    _case(
        "a webhook fails",
        {'tallystick_webhooks_failing{job="tallystick", instance="a"}': "1x200"},
        "TallystickWebhooksFail",
    ),
    _case(
        "no leader", {'patroni_primary{scope="tallystick", instance="n1"}': "0x200"}, "PostgresNoLeader"
    ),
    _case(
        "two leaders", {'patroni_primary{scope="tallystick", instance="n2"}': "1x200"}, "PostgresTwoLeaders"
    ),
    _case(
        "one standby is left",
        {'patroni_quorum_standby{scope="tallystick", instance="n3"}': "0x200"},
        "PostgresOneStandbyLeft",
    ),
    _case(
        "no standby confirms",
        {
            'patroni_quorum_standby{scope="tallystick", instance="n2"}': None,
            'patroni_quorum_standby{scope="tallystick", instance="n3"}': "0x200",
        },
        "PostgresNoQuorumStandby",
    ),
    _case("paused", {'patroni_is_paused{scope="tallystick", instance="n1"}': "1x200"}, "PatroniPaused"),
)  # fmt: skip
