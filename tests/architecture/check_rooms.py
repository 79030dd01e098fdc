"""Checks that each folder of the sources is a room that can be taken in: no long file, not too many of them, a README.

    check_rooms.py ROOT     prints each violation as "place: what is wrong", exits 1 if there is one
"""

import pathlib
import sys

LONGEST_FILE = 700  # lines; beyond it a file is rarely one thing (600 is the advice, and no class is cut in two for it)
MOST_FILES = 32
SOURCES = {".cpp", ".h", ".cu", ".cuh", ".py"}


def violations(root):
    root = pathlib.Path(root)
    for top in ("app", "core", "kernels", "ui"):
        for folder in sorted(path for path in [root / top, *(root / top).rglob("*")] if path.is_dir()):
            if folder.name == "__pycache__":  # Python's own
                continue
            place = folder.relative_to(root)
            files = [path for path in folder.iterdir() if path.suffix in SOURCES]
            if not (folder / "README.md").exists():
                yield f"{place}: no README says what lives here"
            if len(files) > MOST_FILES:
                yield f"{place}: {len(files)} files, {MOST_FILES} are the most"
            for path in sorted(files):
                lines = len(path.read_text(encoding="utf-8").splitlines())
                if lines > LONGEST_FILE:
                    yield f"{path.relative_to(root)}: {lines} lines, {LONGEST_FILE} are the most"


if __name__ == "__main__":
    found = list(violations(sys.argv[1]))
    print("\n".join(found))
    sys.exit(bool(found))
