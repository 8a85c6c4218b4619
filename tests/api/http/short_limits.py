"""The command with every limit of seconds shortened, so that tests need not wait as long as clients may."""

from api.cli.main import main as run
from api.http import connection, server


def main() -> None:
    vars(server).update(CHECK_TICKS=1, HEAD_S=1)
    vars(connection).update(HEAD_S=0.7, BODY_S=0.5, STALL_S=1.5, LINGER_S=0.3)
    run()


if __name__ == "__main__":
    main()
