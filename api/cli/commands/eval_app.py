"""eval: what agents make of scenarios, captured, run, shown, compared and judged."""

import typer

from api.cli.commands import eval_capture, eval_gate, eval_import, eval_run, eval_show

app = typer.Typer(help="Evaluate agents on scenarios: capture, run, show, compare and judge.", no_args_is_help=True)
app.command("capture")(eval_capture.capture)
app.command("run")(eval_run.run)
app.command("show")(eval_show.show)
app.command("compare")(eval_show.compare)
app.command("list")(eval_show.list_)
app.command("gate")(eval_gate.gate)
app.command("import")(eval_import.import_)
