"""The options that name a judge, shared by the verbs that ask one."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from api.service.evaluation.judge_options import JudgeOptions

PANEL = "Judge"

Spec = typer.Option(
    "--judge", help="The judge: openai:BASE_URL, or command:CMD.", metavar="SPEC", rich_help_panel=PANEL
)
OptionalJudge = Annotated[str | None, Spec]
RequiredJudge = Annotated[str, Spec]
JudgeModel = Annotated[
    str | None, typer.Option(help="The judge's model; openai: needs it.", metavar="NAME", rich_help_panel=PANEL)
]
JudgeKeyEnv = Annotated[
    str | None,
    typer.Option(
        help="The variable with the key; OPENAI_API_KEY if that is set.", metavar="VAR", rich_help_panel=PANEL
    ),
]
JudgeName = Annotated[
    str | None,
    typer.Option(
        help="The judge is the agent judge:NAME; without it, its model.", metavar="NAME", rich_help_panel=PANEL
    ),
]
JudgeRepeats = Annotated[
    int | None, typer.Option(help="Ask so often; most votes decide. 1 without it.", metavar="K", rich_help_panel=PANEL)
]
JudgeTimeout = Annotated[
    float | None, typer.Option(help="Seconds for one reply; 120 without it.", metavar="S", rich_help_panel=PANEL)
]
JudgeTemperature = Annotated[
    float | None, typer.Option(help="The temperature to request.", metavar="T", rich_help_panel=PANEL)
]


class JudgeSettings(NamedTuple):
    """The options of a judge but the first, as the user gave them."""

    model: str | None
    key_env: str | None
    name: str | None
    repeats: int | None
    timeout: float | None
    temperature: float | None


def make_judge_options(spec: str, settings: JudgeSettings) -> "JudgeOptions":
    """Return the options of a judge, with the defaults of those that were not given."""
    from api.service.evaluation.judge_options import JudgeOptions

    return JudgeOptions(
        spec=spec,
        model=settings.model,
        key_env=settings.key_env,
        name=settings.name,
        repeats=1 if settings.repeats is None else settings.repeats,
        timeout_s=120.0 if settings.timeout is None else settings.timeout,
        temperature=settings.temperature,
    )


def make_optional_judge(spec: str | None, settings: JudgeSettings) -> "JudgeOptions | None":
    """Return the options of a judge; None without one. Errors: InvalidQuery, if only other options are given."""
    from ledger.errors import InvalidQuery

    if spec is not None:
        return make_judge_options(spec, settings)
    for name, value in settings._asdict().items():
        if value is not None:
            raise InvalidQuery(f"judge_{name}", "is an option of a judge, and none is named.", "Name it with --judge.")
    return None
