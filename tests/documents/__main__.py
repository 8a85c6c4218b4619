"""`python -m tests.documents [--update] [PAGE...]`: run pages; with --update, write what they print into them."""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.documents.page import PAGES, files_needed, name_of
from tests.documents.run import Shown, run


def main() -> int:
    """Run the pages; return 0 where each shows what is printed, or was updated, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.documents", description=__doc__)
    parser.add_argument("--update", action="store_true", help="write what is printed into the pages' text blocks")
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="pages to run; all without any")
    arguments = parser.parse_args()
    pages = [path.resolve() for path in arguments.pages] or PAGES
    with ThreadPoolExecutor(2) as threads:
        results = list(threads.map(lambda path: _page(path, update=arguments.update), pages))
    return 0 if all(results) else 1


def _page(path: Path, *, update: bool) -> bool:
    """Run one page, print the result, and return whether the page is right now."""
    text = path.read_text(encoding="utf-8")
    missing = [str(file) for file in files_needed(text) if not file.is_file()]
    if missing:
        print(f"{name_of(path)}: not run: {', '.join(missing)} is not here")
        return True
    with TemporaryDirectory() as folder:
        (Path(folder) / "page").mkdir()
        try:
            shown = list(run(text, Path(folder) / "page"))
        except AssertionError as error:
            print(f"{name_of(path)}: a block failed:\n{error}", file=sys.stderr)
            return False
    wrong = [each for each in shown if not each.true]
    if not wrong:
        return True
    if not update:
        print(
            f"{name_of(path)}: {len(wrong)} of {len(shown)} text blocks are not what is printed; --update renews them"
        )
        return False
    path.write_text(_renewed(text, wrong), encoding="utf-8")
    print(f"{name_of(path)}: {len(wrong)} text blocks renewed")
    return True


def _renewed(text: str, wrong: list[Shown]) -> str:
    for each in reversed(wrong):
        lines = "".join(f"{line.rstrip()}\n" for line in each.printed.strip("\n").splitlines())
        text = text[: each.block.start] + lines + text[each.block.end :]
    return text


if __name__ == "__main__":
    sys.exit(main())
