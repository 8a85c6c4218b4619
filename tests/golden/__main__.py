"""Write the golden files that are missing; one that is there is never touched."""

from tests.events.samples import SAMPLES, line_of
from tests.golden import path_of

for type_, payload in SAMPLES.items():
    if not path_of(type_).exists():
        path_of(type_).write_bytes(line_of(type_, payload) + b"\n")
