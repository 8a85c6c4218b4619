"""The command with every wait of webhooks shortened."""

from api.cli.main import main as run
from api.service.webhooks import alert_checks, dispatcher, server_events


def shorten() -> None:
    vars(alert_checks).update(UNSIGNED_S=5.0, OVERDUE_EVERY_S=0.2, DRIFT_EVERY_S=0.2)
    vars(dispatcher).update(TICK_S=0.05, RESTART_S=0.2)
    vars(server_events).update(RETRY_S=0.1)


def main() -> None:
    shorten()
    run()


if __name__ == "__main__":
    main()
