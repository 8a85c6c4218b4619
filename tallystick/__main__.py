"""Entry point of the commands `tallystick` and `python -m tallystick`."""

from tallystick._app_path import use_app


def main() -> None:
    """Run the command line with the arguments of this process."""
    use_app()
    from api.cli.main import main as run  # noqa: PLC0415 - it can be imported only now

    run()


if __name__ == "__main__":
    main()
