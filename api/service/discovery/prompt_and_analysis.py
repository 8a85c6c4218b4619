"""Single steps of discovery, for scripts: build a prompt, or analyse one answer. Nothing is written."""

import msgspec
from msgspec import UNSET, UnsetType

from api.service.discovery.run_types import PROBE
from events.limits import BODY_BYTES_MAX, LABEL_CHARS_MAX
from events.model import ModelIdentity
from instruments.discovery import NameRules, analyze, build_prompt
from instruments.discovery.answer_analysis import Verdict
from instruments.probes import (
    FORMER_PROBE_IDS,
    PROBES,
    Probe,
    ProbeScore,
    find_probe,
)
from ledger.errors import InvalidQuery
from ledger.regular_file import open_input


class AnalyzedResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The analysis of one answer. Its fields have the names that run reports use."""

    identity: ModelIdentity | None
    key: str | None
    code: str | None
    score: dict[str, object] | None
    known: bool
    wrapper: bool
    verdict: Verdict
    reason: str
    unscored: str | UnsetType = UNSET
    """Why the answer was not scored; absent if it was."""


def get_probe(probe_id: str | None) -> Probe:
    """Return the newest probe with an id or former id; for None, the default probe. Errors: InvalidQuery."""
    requested_id = PROBE if probe_id is None else probe_id
    probe = find_probe(FORMER_PROBE_IDS.get(requested_id, requested_id))
    if probe is None:
        ids = sorted({each.id for each in PROBES})
        raise InvalidQuery("probe", f"there is no probe {requested_id!r}.", f"Probes: {', '.join(ids)}.")
    return probe


def build_discovery_prompt(probe_id: str | None, exclude_file: str | None) -> str:
    """Return the prompt of a probe; it excludes the models that a file names.

    The file is a JSON array of identities or names, or it has one name per line. Errors: InvalidQuery, OSError.
    """
    probe = get_probe(probe_id)
    return build_prompt(
        probe.prompt, [] if exclude_file is None else _parse_identities(read_input(exclude_file, "exclude_file"))
    )


def analyze_response(answer: bytes, probe_id: str | None, names: NameRules) -> AnalyzedResponse:
    """Analyse an answer; `names` says what claimed names mean.

    Bytes that are not UTF-8 are replaced, not refused. Errors: InvalidQuery.
    """
    probe = get_probe(probe_id)
    analysis = analyze(answer.decode(errors="replace"), probe, names)
    stated = {name: getattr(analysis, name) for name in AnalyzedResponse.__struct_fields__}
    score = None if analysis.score is None else _score_fields(analysis.score, probe)
    return AnalyzedResponse(**stated | {"score": score})


def read_input(file: str, field: str) -> bytes:
    """Read a file, or standard input for `-`. Errors: InvalidQuery if it is too long, OSError."""
    with open_input(file) as stream:
        data = stream.read(BODY_BYTES_MAX + 1)
    if len(data) > BODY_BYTES_MAX:
        raise InvalidQuery(
            field, f"it has more than {BODY_BYTES_MAX:,} bytes.", "Give one answer, or one list of names."
        )
    return data


def _score_fields(score: ProbeScore, probe: Probe) -> dict[str, object]:
    """Return a score in the form of run reports: each count under its own name, and the scorer."""
    fields: dict[str, object] = {"valid": score.valid, **(score.counts or {}), "total_score": score.total}
    if score.dimensions is not None:
        fields["dimension_scores"] = score.dimensions
    if score.apart is not None:
        fields["apart"] = score.apart
    return fields | {"scorer": f"{probe.scorer.id}@{probe.scorer.version}"}


def _parse_identities(data: bytes) -> list[ModelIdentity]:
    """Parse the identities in a file. Errors: InvalidQuery, with the item or line."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidQuery("exclude_file", f"it is not UTF-8: {error}.") from error
    if not text.lstrip().startswith("["):
        lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
        return [_check_identity(line, f"line {number}") for number, line in lines if line]
    try:
        items = msgspec.json.decode(text, type=list[ModelIdentity | str])
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidQuery(
            "exclude_file", f"it is not a JSON array of identities or names: {error}.", "An identity has a model_name."
        ) from error
    return [_check_identity(item, f"item {number}") for number, item in enumerate(items, 1)]


def _check_identity(item: ModelIdentity | str, location: str) -> ModelIdentity:
    """Return an identity; a text is a model name. Errors: InvalidQuery, if the name is empty or too long."""
    identity = ModelIdentity(model_name=item.strip()) if isinstance(item, str) else item
    if not 0 < len(identity.model_name.strip()) <= LABEL_CHARS_MAX:
        raise InvalidQuery("exclude_file", f"{location}: a name has 1..{LABEL_CHARS_MAX} characters.")
    return identity
