"""The worker process: `python -m tallystick._pytest_plugin`, started by `application_process.py`."""

from tallystick._app_path import use_app


def main() -> None:
    """Answer the plugin's calls until it closes the pipe."""
    use_app()
    from api.pytest_plugin.worker import main as run  # noqa: PLC0415 - it can be imported only now

    run()


if __name__ == "__main__":
    main()
