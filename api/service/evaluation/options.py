"""The options of the commands that evaluate agents and ask judges, as the user gives them.

This module loads neither numpy nor the log, as each of these commands loads it to show its help. What it declares is
checked in `option_checks.py`.
"""

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from api.service.declared_option import argument, option

_judge_option = partial(option, rich_help_panel="Judge")
_keep_files = option("Store the files of the suite as evidence.", name="--keep-files/--no-keep-files")


class JudgeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a judge, if one is named."""

    spec: Annotated[
        str | None, _judge_option("The judge: openai:BASE_URL, or command:CMD.", "SPEC", name="--judge")
    ] = None
    model: Annotated[str | None, _judge_option("The judge's model; openai: needs it.", "NAME")] = None
    key_env: Annotated[
        str | None, _judge_option("The variable with the key; OPENAI_API_KEY if that is set.", "VAR")
    ] = None
    name: Annotated[str | None, _judge_option("The judge is the agent judge:NAME; without it, its model.", "NAME")] = (
        None
    )
    repeats: Annotated[int | None, _judge_option("Ask so often; most votes decide. 1 without it.", "K")] = None
    timeout_s: Annotated[
        float | None, _judge_option("Seconds for one reply; 120 without it.", "S", name="--judge-timeout")
    ] = None
    temperature: Annotated[float | None, _judge_option("The temperature to request.", "T")] = None


class RequiredJudge(JudgeOptions, frozen=True, kw_only=True):
    """The options of a judge that must be named."""

    spec: Annotated[str, _judge_option("The judge: openai:BASE_URL, or command:CMD.", "SPEC", name="--judge")]


class EvalOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `eval run`. Without an agent, captured answers are scored.

    Those that define a run must match, with `resume` or `retry_errors`, those that the run began with. The others say
    how it goes on: the jobs, the retries, the limits of rates and costs.
    """

    fixtures: Annotated[Path | None, argument("The folder of the suite, or of one scenario.", "[FIXTURES]")] = None
    suite_of: Annotated[
        str | None, option("Instead of a folder: the suite of this run or version, as the ledger has it.", "RUN")
    ] = None
    agent: Annotated[
        str | None,
        option("The agent's command: reads an investigation on stdin, prints an analysis.", "CMD"),
    ] = None
    selection: Annotated[
        str | None, option("Only matching scenarios, as in pytest: image and not llm.", "EXPR", name="-k")
    ] = None
    attempts: Annotated[int | None, option("Attempts at each scenario; 1 without it.", "N", ge=1, le=1000)] = None
    jobs: Annotated[int, option("Agents that run at the same time.", "N", ge=1, le=256)] = 1
    suite: Annotated[
        str | None, option("The suite's name; without it the name of its folder.", "SUITE", name="--name")
    ] = None
    agent_name: Annotated[str | None, option("The agent's name; without it command:PROGRAM.", "NAME")] = None
    agent_version: Annotated[str | None, option("The agent's version.", "V")] = None
    model: Annotated[str | None, option("The language model that answers, as you claim.", "NAME")] = None
    timeout_s: Annotated[float, option("Seconds for one answer.", "S", name="--timeout")] = 600.0
    enable_llm: Annotated[
        bool | None,
        option(
            "Send this to the agent, instead of test_config's.", name="--enable-llm/--no-enable-llm", show_default=False
        ),
    ] = None
    network: Annotated[
        Literal["none", "loopback", "allow"] | None, option("Network of the agent; without it, allow: this machine's.")
    ] = None
    run_id: Annotated[str | None, option("The id of the run; without it one is made.", "ID", name="--run")] = None
    resume: Annotated[str | None, option("Resume an interrupted run.", "RUN")] = None
    retry_errors: Annotated[str | None, option("Retry the errors of a run, also of one that has ended.", "RUN")] = None
    only: Annotated[
        str | None, option("Kinds of errors for --retry-errors: timeout,judge; without it, all.", "KINDS")
    ] = None
    retries: Annotated[
        int | None, option("Retry an attempt so often after a rate limit, outage or timeout.", "N", ge=0, le=100)
    ] = None
    rate_limit: Annotated[
        tuple[str, ...], option("Ask the agent at most so often, 30/m; or an endpoint: HOST=30/m.", "[HOST=]N/s|m|h")
    ] = ()
    max_cost: Annotated[
        float | None, option("Stop before the next attempt once the answers have cost so many dollars.", "USD")
    ] = None
    meta: Annotated[tuple[str, ...], option("Something else to record, such as commit=3f2a9c1.", "KEY=VALUE")] = ()
    sequential: Annotated[
        str | None, option("Compare with this run after 1/4 and 1/2 of --attempts, and stop early.", "RUN")
    ] = None
    baselines: Annotated[
        bool, option("Also score an empty answer and the most frequent cause.", name="--baselines/--no-baselines")
    ] = True
    keep_files: Annotated[bool, _keep_files] = True
    judge: JudgeOptions = JudgeOptions()
    prices: Annotated[
        Path | None, option("Prices of models, YAML or JSON: compute costs from stated tokens.", "FILE")
    ] = None


class JudgeRunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `judge run`."""

    judged_run: Annotated[str, argument("The evaluation whose answers are judged.", "RUN")]
    fixtures: Annotated[
        Path | None,
        argument("The folder of the suite that was answered; without it, its files in the ledger.", "[FIXTURES]"),
    ] = None
    judge: RequiredJudge
    suite: Annotated[
        str | None, option("The suite's name; without it that of the judged run.", "SUITE", name="--name")
    ] = None
    jobs: Annotated[int, option("Answers that are judged at the same time.", "N", ge=1, le=256)] = 1
    run_id: Annotated[str | None, option("The id of the new run; without it one is made.", "ID", name="--run")] = None
    resume: Annotated[str | None, option("Resume an interrupted run.", "ID")] = None
    keep_files: Annotated[bool, _keep_files] = True


class JudgeCompareOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `judge compare`."""

    first_run: Annotated[str, argument("The evaluation with the first answers.", "RUN_A")]
    second_run: Annotated[str, argument("The evaluation with the second answers.", "RUN_B")]
    fixtures: Annotated[Path, argument("The folder of the suite that was answered.", "FIXTURES")]
    judge: RequiredJudge
    jobs: Annotated[int, option("Answers that are judged at the same time.", "N", ge=1, le=256)] = 1
