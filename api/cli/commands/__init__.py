"""The verbs of the command line: for each its summary, its function, and its panel in the help."""

from api.cli.lazy_group import Verb

RECORD, ASK, EVALUATE = "Record", "Ask", "Evaluate agents"
DISCOVER, PROVE, OPERATE = "Discover models", "Prove", "Operate"

IMPORT = (
    Verb("decisions", "Import decisions and their outcomes.", "imports:decisions"),
    Verb("cstp", "Import a CSTP installation: decision files, a SQLite store, or a folder with both.", "imports:cstp"),
    Verb("runs", "Import reports of discovery runs.", "imports:runs"),
    Verb("results", "Import results of evaluations by other tools.", "import_results:results"),
    Verb(
        "ledger", "Create a ledger from a complete export, or move one between a file and PostgreSQL.", "imports:ledger"
    ),
)
EVIDENCE = (
    Verb("put", "Store the bytes of a file and print their digest.", "evidence:put"),
    Verb("get", "Print the bytes of a digest, verified.", "evidence:get"),
    Verb("erase", "Erase the bytes of a digest permanently.", "evidence:erase"),
    Verb("list", "List stored and erased evidence.", "evidence:list_evidence"),
)
GUARDRAIL = (
    Verb("set", "Set the rules of a file.", "guardrail:set_file"),
    Verb("list", "List the rules, and how often each fired.", "guardrail:list_guardrails"),
    Verb("show", "Show one rule.", "guardrail:show_rule"),
    Verb("check", "Ask whether an action is allowed.", "guardrail:check"),
    Verb("retire", "Put a rule out of force.", "guardrail:retire"),
)
SUITE = (
    Verb("list", "List the versions of suites that runs used.", "eval_suite:list_versions"),
    Verb("show", "Show a version of a suite, or one of its scenarios.", "eval_suite:show"),
    Verb("save", "Write the files of a version into a new folder.", "eval_suite:save"),
    Verb("diff", "Compare two versions of a suite.", "eval_suite:diff"),
)
EVAL = (
    Verb("capture", "Capture an incident as a scenario.", "eval_capture:capture"),
    Verb("run", "Run an agent on scenarios and score its answers.", "eval_run:run"),
    Verb("show", "Show one evaluation.", "eval_show:show"),
    Verb("compare", "Compare two evaluations, scenario by scenario.", "eval_show:compare"),
    Verb("list", "List evaluations.", "eval_show:list_evaluations"),
    Verb("label", "Label an answer: whether it meets a criterion, or passes as a whole.", "eval_label:label"),
    Verb("labels", "List the judged answers that lack a label.", "eval_label:labels"),
    Verb("gate", "Check that an evaluation is not worse than its baseline.", "eval_gate:gate"),
    Verb("import", "Import labelled benchmark cases as scenarios.", "eval_import:import_cases"),
    Verb("suite", "Show, save and compare old versions of suites.", verbs=SUITE),
    Verb("export", "Export the scores of an evaluation as OpenTelemetry events.", "eval_export:export_scores"),
)
JUDGE = (
    Verb("run", "Judge the recorded answers of an evaluation.", "judge_run:run"),
    Verb("compare", "Ask a judge which of two answers is better.", "judge_run:compare"),
    Verb("report", "Report how well judges agree with the labels of people.", "judge_report:report"),
)
RUN = (
    Verb("save", "Save one report of a discovery run.", "discovery_run:save"),
    Verb("show", "Show one discovery run.", "discovery_run:show_run"),
    Verb("list", "List discovery runs.", "discovery_run:list_runs"),
)
WRAPPER = (
    Verb("add", "Declare that a name is a host's, not a model's.", "model_wrapper:add"),
    Verb("remove", "State that a name is not a host's, but a model's.", "model_wrapper:remove"),
    Verb("list", "List the names of hosts: yours, and the default list.", "model_wrapper:list_names"),
)
MODEL = (
    Verb("register", "Register a model that you know.", "model:register_model"),
    Verb("alias", "Give a registered model another name.", "model:add_alias"),
    Verb("list", "List the registered models.", "model:list_models"),
    Verb("profile", "Show how models did on every probe, and one figure over all.", "model:profile"),
    Verb("wrapper", "State which names are hosts', not models'.", verbs=WRAPPER),
)
PROBE = (
    Verb("scores", "Show how each model scored on the probes.", "probe:scores"),
    Verb("prompt", "Print a prompt that asks a model who it is and gives it a task.", "probe:prompt"),
    Verb("analyze", "Print what one answer says: identity, code, score and verdict.", "probe:analyze"),
    Verb("list", "List the probes with their scorers.", "probe:list_probes"),
    Verb("rescore", "Score stored outputs with another scorer.", "probe:rescore"),
)
KEY = (
    Verb("show", "Print the verifier key of a ledger.", "key:show_key"),
    Verb("make", "Make the key of a ledger and print its verifier key.", "key:make"),
)
TOKEN = (
    Verb("add", "Make a token and print it once.", "token:add"),
    Verb("list", "List the tokens with their agents and scopes.", "token:list_tokens"),
    Verb("revoke", "Revoke a token at once, also in a running server.", "token:revoke"),
)
LEDGER = (
    Verb("create", "Make an empty ledger, and let a role use it.", "ledger:create"),
    Verb(
        "check",
        "Check a ledger in PostgreSQL: whether it opens, how durable it is, and what the role may do.",
        "ledger:check",
    ),
    Verb("list", "List the ledgers of a database.", "ledger:list_ledgers"),
)
WEBHOOK = (
    Verb("add", "Add a webhook and print its secret once.", "webhook:add"),
    Verb("list", "List the webhooks.", "webhook:list_webhooks"),
    Verb("show", "Show a webhook and how its events ended.", "webhook:show"),
    Verb("remove", "Remove a webhook at once, also from a running server.", "webhook:remove"),
    Verb("test", "Send a signed test message to a webhook now.", "webhook:test"),
)

BREAKERS = (
    Verb("set", "Replace the circuit breakers with those of a file.", "breakers:configure"),
    Verb("list", "List the circuit breakers with their states.", "breakers:list_breakers"),
)

ADOPT = (
    Verb(
        "all",
        "Show what agents did here, from git repositories and sessions.",
        "adopt:everything",
    ),
    Verb("git", "Show the outcomes of the changes in git repositories, by agent.", "adopt:git"),
    Verb("pulls", "Show the outcomes of pull requests, by agent.", "adopt:pulls"),
    Verb("sessions", "Show what sessions of coding agents on this machine did.", "adopt:sessions"),
)

OBSERVE = (
    Verb("command", "Run registered commands, and record how each ended.", "observe:command"),
    Verb("http", "Ask registered addresses, and record the status of each answer.", "observe:http"),
    Verb(
        "alertmanager", "Record which alerts fire, also those that are silenced or inhibited.", "observe:alertmanager"
    ),
    Verb("junit", "Record the results of test runs, from files in the form of JUnit.", "observe:junit"),
)

VERBS = (
    Verb("record", "Record a decision.", "record:record", panel=RECORD),
    Verb("review", "Record how a decision turned out.", "review:review", panel=RECORD),
    Verb("resolve", "Review decisions by their tests.", "decision_tests:resolve", panel=RECORD),
    Verb("observe", "Record what tests of decisions look at.", verbs=OBSERVE, panel=RECORD),
    Verb("retract", "Withdraw a decision from every figure.", "retract:retract", panel=RECORD),
    Verb("link", "Link a decision to another one.", "link:link", panel=RECORD),
    Verb("append", "Append events from a file or a pipe.", "append:append", panel=RECORD),
    Verb("import", "Import decisions, run reports and exports.", verbs=IMPORT, panel=RECORD),
    Verb("adopt", "See what agents did, from what you have already.", verbs=ADOPT, panel=ASK, default="all"),
    Verb("evidence", "Store material beside the log, read it, and erase it.", verbs=EVIDENCE, panel=RECORD),
    Verb("status", "Show what a ledger contains, which process writes it, and its state.", "status:status", panel=ASK),
    Verb("calibration", "Compare stated confidence with outcomes.", "calibration:calibration", panel=ASK),
    Verb("advice", "Show how earlier decisions like a planned one turned out.", "calibration:advice", panel=ASK),
    Verb("decisions", "List decisions.", "decisions:decisions", panel=ASK),
    Verb("decision", "Show one decision with its history.", "decisions:decision", panel=ASK),
    Verb("graph", "Show the links around a decision.", "link:graph", panel=ASK),
    Verb("log", "Print events.", "log:log", panel=ASK),
    Verb("related", "Show what happened under a correlation id.", "related:related", panel=ASK),
    Verb("guardrail", "Set rules for actions, and check actions.", verbs=GUARDRAIL, panel=ASK),
    Verb("eval", "Evaluate agents on scenarios.", verbs=EVAL, panel=EVALUATE),
    Verb("judge", "Judge answers with a language model, and check judges.", verbs=JUDGE, panel=EVALUATE),
    Verb("scoreboard", "Compare the versions of each agent, suite by suite.", "eval_show:scoreboard", panel=EVALUATE),
    Verb("discover", "Find out which models a router uses.", "discover:discover", panel=DISCOVER),
    Verb("run", "Save, show and list discovery runs.", verbs=RUN, panel=DISCOVER),
    Verb("changes", "Show the outcomes of recorded changes of repositories, by agent.", "changes:changes", panel=ASK),
    Verb("sessions", "Show what the recorded sessions of coding agents did.", "sessions:sessions", panel=ASK),
    Verb("tests", "Show the tests of decisions, and what their rules find.", "decision_tests:list_tests", panel=ASK),
    Verb("inventory", "List the models that answered.", "inventory:inventory", panel=DISCOVER),
    Verb("model", "Register, name and list the models you know.", verbs=MODEL, panel=DISCOVER),
    Verb("probe", "Give models a task and score their answers.", verbs=PROBE, panel=DISCOVER),
    Verb("checkpoint", "Print the newest checkpoint.", "checkpoint:checkpoint", panel=PROVE),
    Verb("receipt", "Print or check the proof that an event is in the log.", "receipt:receipt", panel=PROVE),
    Verb("witness", "Ask a witness to cosign the newest checkpoint.", "witness:witness", panel=PROVE),
    Verb("verify", "Verify an export, a ledger or a server.", "verify:verify", panel=PROVE),
    Verb("export", "Export events with everything that proves them.", "export:export", panel=PROVE),
    Verb("key", "Show or make the key that signs checkpoints.", verbs=KEY, panel=PROVE),
    Verb("serve", "Serve the ledger over HTTP and JSON-RPC.", "serve:serve", panel=OPERATE),
    Verb("mcp", "Serve tools for agents over MCP, on standard input and output.", "mcp:mcp", panel=OPERATE),
    Verb("ledger", "Make, check and list ledgers in PostgreSQL.", verbs=LEDGER, panel=OPERATE),
    Verb("doctor", "Check the installation of a ledger, and say what to do.", "doctor:doctor", panel=OPERATE),
    Verb("token", "Make, list and revoke access tokens.", verbs=TOKEN, panel=OPERATE),
    Verb("breakers", "Configure and list circuit breakers.", verbs=BREAKERS, panel=OPERATE),
    Verb("webhook", "Tell other programs about drift, verdicts and overdue reviews.", verbs=WEBHOOK, panel=OPERATE),
    Verb("backup", "Copy a ledger while it is in use, and verify the copy.", "backup:backup", panel=OPERATE),
    Verb("restore", "Restore a verified copy of a backup.", "backup:restore", panel=OPERATE),
    Verb("projections", "List the projections, or show one.", "projections:projections", panel=OPERATE),
    Verb("replay", "Fold all events again and print each projection's digest.", "replay:replay", panel=OPERATE),
    Verb("schema", "Print the JSON Schema of the event types.", "schema:schema", panel=OPERATE),
)
