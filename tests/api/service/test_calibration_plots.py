"""What drawings need is computed once for each selection of decisions and position."""

from pathlib import Path

from api.principal import OWNER
from api.service.calibration import compute_calibration
from api.service.calibration_params import CalibrationParams
from api.service.ledger import LedgerService
from tallystick.shapes.plots import PlotData
from tests.api.service.ledgers import within
from tests.support.drafts import recorded, reviewed


def test_what_drawings_need_is_kept_until_the_log_grows(tmp_path: Path) -> None:
    async def plots(ledger: LedgerService, as_of: int | None = None, **fields: object) -> PlotData:
        query = CalibrationParams(include=("plots",), **fields)  # type: ignore[arg-type]
        found = (await compute_calibration(ledger if as_of is None else await ledger.past(as_of), query)).answer.plots
        assert isinstance(found, PlotData)
        return found

    @within(tmp_path / "ledger.db")
    async def done(ledger: LedgerService) -> bool:
        await ledger.record([recorded("a"), recorded("b"), reviewed("a")], OWNER)
        before, one = await plots(ledger), "nobody"
        assert [tenth.reviewed for tenth in before.tenths if tenth.reviewed] == [1]
        assert await plots(ledger, detail="curves", threshold=0.5) is before
        assert not any(tenth.reviewed for tenth in (await plots(ledger, agent=one)).tenths)
        assert await plots(ledger) is before
        position = await ledger.head_position()
        await ledger.record([reviewed("b")], OWNER)
        after = await plots(ledger)
        assert sum(tenth.reviewed for tenth in after.tenths) == 2
        assert await plots(ledger, position) is before
        assert await plots(ledger) is after
        return True

    assert done
