"""Write the golden files that are missing; one that is there is never touched."""

from api.reports import junit, markdown
from instruments.probes import PROBES
from tests.api.reports.fixed_evaluations import REPORTS
from tests.events.samples import SAMPLES, line_of
from tests.golden import bytes_of_probe, path_of, path_of_probe, path_of_report

for type_, payload in SAMPLES.items():
    if not path_of(type_).exists():
        path_of(type_).write_bytes(line_of(type_, payload) + b"\n")

for probe in PROBES:
    if not path_of_probe(probe).exists():
        path_of_probe(probe).write_bytes(bytes_of_probe(probe))

for name, report in REPORTS.items():
    for path, text in ((f"{name}.xml", junit(report)), (f"{name}.md", markdown(report))):
        if not path_of_report(path).exists():
            path_of_report(path).write_text(text, encoding="utf-8")
