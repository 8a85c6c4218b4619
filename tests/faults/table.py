"""The faults that are done, in the order of the table."""

from collections.abc import Sequence

from tests.faults.bits import BITS
from tests.faults.clock import CLOCK
from tests.faults.errors import ERRORS
from tests.faults.full import FULL
from tests.faults.greedy import GREEDY
from tests.faults.kill import KILL
from tests.faults.middle import MIDDLE
from tests.faults.patroni.table import CLUSTER
from tests.faults.postgres.table import POSTGRES
from tests.faults.power import POWER
from tests.faults.retry import RETRY
from tests.faults.row import Fault
from tests.faults.stall import STALL
from tests.faults.tamper import TAMPER

FAULTS: Sequence[Fault] = (
    KILL,
    POWER,
    FULL,
    ERRORS,
    BITS,
    CLOCK,
    MIDDLE,
    RETRY,
    STALL,
    GREEDY,
    TAMPER,
    *POSTGRES,
    *CLUSTER,
)
