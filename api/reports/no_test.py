"""Why there is no test for drift, in words."""

from collections.abc import Mapping

from tallystick.shapes.history import NoTest

NO_TEST: Mapping[NoTest, str] = {
    "too few times": "too few reviews have a time that says when the decision was made",
    "too few clusters": "too few whole clusters of decisions are before or after any time",
    "all outcomes alike": "all outcomes are alike",
    "no category before and after": "no agent and category has enough reviews both before and after any time",
}
