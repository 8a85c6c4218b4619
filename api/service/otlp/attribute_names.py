"""Names of the attributes that are read and written: those of the GenAI conventions of OpenTelemetry, and our own."""

EVALUATION_EVENT = "gen_ai.evaluation.result"
EVENT_NAME = "event.name"
"""The attribute that had the name of an event before log records had a field for it."""

NAME = "gen_ai.evaluation.name"
VALUE = "gen_ai.evaluation.score.value"
LABEL = "gen_ai.evaluation.score.label"
EXPLANATION = "gen_ai.evaluation.explanation"
RESPONSE_ID = "gen_ai.response.id"
ERROR_TYPE = "error.type"
OTHER_ERROR = "_OTHER"
"""The kind of failure that the conventions give one without a name."""

OPERATION = "gen_ai.operation.name"
PROVIDER = ("gen_ai.provider.name", "gen_ai.system")
AGENT = "gen_ai.agent.name"
AGENT_VERSION = "gen_ai.agent.version"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
TOOL = "gen_ai.tool.name"
CONVERSATION = "gen_ai.conversation.id"
INPUT_TOKENS = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
OUTPUT_TOKENS = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
"""The second names are those of older versions of the conventions."""

SERVICE = "service.name"
SERVICE_VERSION = "service.version"

RUN = "tallystick.run_id"
SUITE = "tallystick.suite"
SCENARIO = "tallystick.scenario_id"
ATTEMPT = "tallystick.attempt"
STATE = "tallystick.state"
POINTS = "tallystick.points"
SCORE_MAX = "tallystick.score.max"
THRESHOLD = "tallystick.pass_threshold"
PASSED = "tallystick.passed"
WEIGHT = "tallystick.weight"
SCORER_VERSION = "tallystick.scorer_version"
BASELINE = "tallystick.baseline"
RETRY = "tallystick.retry"
CONFIDENCE = "tallystick.confidence"
FIXTURE_DIGEST = "tallystick.fixture_digest"
EXPECTATION_DIGEST = "tallystick.expectation_digest"
COST_USD = "tallystick.cost_usd"
ELAPSED_NS = "tallystick.elapsed_ns"

PASS_LABELS = frozenset({"pass", "passed", "correct", "relevant"})
FAIL_LABELS = frozenset({"fail", "failed", "incorrect", "not_relevant"})
"""Score labels that tell whether an answer passed, in any case."""
