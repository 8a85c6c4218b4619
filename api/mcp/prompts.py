"""Prompts: what to tell a model before it decides, after the outcome, and once a week."""

from collections.abc import Mapping
from typing import NamedTuple

from api.mcp.refusal import Refusal


class PromptArgument(NamedTuple):
    """An argument of a prompt. Without it, the text has `unstated` in its place; it is required if that is empty."""

    name: str
    description: str
    unstated: str = ""

    @property
    def required(self) -> bool:
        return not self.unstated


class PromptText(NamedTuple):
    """A prompt: its arguments, and its text with a place for each."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    text: str

    def fill(self, given: Mapping[str, str]) -> str:
        """Return the text with arguments. Errors: Refusal, for one that is missing or unknown."""
        known = {argument.name: argument for argument in self.arguments}
        for name in given:
            if name not in known:
                raise Refusal(f"{name} is not an argument of {self.name}.", name, f"Use: {', '.join(known) or 'none'}.")
        for argument in self.arguments:
            if argument.required and not given.get(argument.name):
                raise Refusal(f"{argument.name} is required and missing.", argument.name, "Add it.")
        return self.text.format(**{name: given.get(name) or known[name].unstated for name in known})


PROMPTS = (
    PromptText(
        "before_deciding",
        "Before deciding",
        "Look at similar decisions and your calibration, then decide and record.",
        (
            PromptArgument("action", "What you plan to do."),
            PromptArgument("category", "architecture, process, integration, tooling or security.", "choose one"),
        ),
        "You plan: {action}\nCategory: {category}\n\n"
        "1. Call pre_action with this description and auto_record false. If allowed is false, stop:"
        " blockReasons says why. Read relevantDecisions: how did they turn out?\n"
        "2. Read calibrationContext. If you were more confident than right, lower your confidence.\n"
        "3. Decide. Call record_decision with the decision, your confidence (the probability that it succeeds), the"
        " category, the stakes and your reasons. Keep the id.\n"
        "4. Record the steps of your reasoning with record_thought.",
    ),
    PromptText(
        "after_the_outcome",
        "After the outcome",
        "Record how a decision turned out, and what was learned.",
        (
            PromptArgument("decision_id", "The id of the decision."),
            PromptArgument("result", "What happened.", "find out first"),
        ),
        "The decision {decision_id} has an outcome. What happened: {result}\n\n"
        "1. Call get_decision with this id. Compare what was expected with what happened.\n"
        "2. Call review_outcome with success, partial, failure or abandoned, with actual_result and lessons."
        " Judge the outcome, not the reasoning.",
    ),
    PromptText(
        "weekly_review",
        "Weekly review",
        "Review what is overdue, and look at the calibration.",
        (PromptArgument("agent", "The agent whose calibration to look at.", "every agent"),),
        "Review the last week of {agent}.\n\n"
        "1. Call ready, and follow its cursor to the end. For each decision that waits, find out what happened, and"
        " call review_outcome.\n"
        "2. Call get_calibration with window 30d, then 90d. What changed? Is the data enough (supported)?\n"
        "3. Call get_reason_stats. Which reasons went with success?\n"
        "4. Summarize in ten lines, with the position and the root that each answer ends with.",
    ),
)


def find_prompt(name: str) -> PromptText:
    """Return the prompt of a name. Errors: Refusal."""
    for prompt in PROMPTS:
        if prompt.name == name:
            return prompt
    raise Refusal(f"{name} is not a prompt.", "name", f"Use one of: {', '.join(prompt.name for prompt in PROMPTS)}.")
