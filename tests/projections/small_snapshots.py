"""The command with small groups of rows and frequent snapshots, so that little work makes many of both."""

from api.cli.main import main as run
from projections import column_table, engine


def main() -> None:
    vars(column_table).update(GROUP_ROWS=512)
    vars(engine).update(SNAPSHOT_EVENTS_MIN=1_000, SNAPSHOTS_PER_LOG_MAX=1_000)
    run()


if __name__ == "__main__":
    main()
