"""The command with every limit of seconds shortened, so that tests need not wait as long as clients may.

Each is still longer than a busy machine lets a client wait that sends and reads without pauses.
"""

from api.cli.main import main as run
from api.http import connection, server


def main() -> None:
    vars(server).update(CHECK_TICKS=1, HEAD_S=4)
    vars(connection).update(HEAD_S=2, BODY_S=2, STALL_S=4, LINGER_S=1)
    run()


if __name__ == "__main__":
    main()
