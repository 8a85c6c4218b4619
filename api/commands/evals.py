"""eval: what agents make of scenarios, captured, run, shown, compared and judged."""

import typer

from api.commands import capture, cases, evaluate, evaluations, gate

app = typer.Typer(help="Evaluate agents on scenarios: capture, run, show, compare and judge.", no_args_is_help=True)
app.command("capture")(capture.capture)
app.command("run")(evaluate.run)
app.command("show")(evaluations.show)
app.command("compare")(evaluations.compare)
app.command("list")(evaluations.list_)
app.command("gate")(gate.gate)
app.command("import")(cases.import_)
