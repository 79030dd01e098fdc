"""Runs notebooks, and writes their outputs into them.

    run_notebooks.py [--check] FILE.ipynb...      --check: writes nothing, exits 1 where an output is another

Numbers in exponential form are rounding, which differs from machine to machine: they count as equal. Pictures and tables
in HTML are made of what the text beside them holds: only the text is compared.
"""

import difflib
import re
import sys
import tempfile

import nbformat
from nbclient import NotebookClient

ROUNDING = re.compile(r"\d\.\de-\d\d")
PATIENCE = 600  # seconds for a cell


def run(path):
    book = nbformat.read(path, 4)
    with tempfile.TemporaryDirectory() as folder:  # what the cells write is no part of the sources
        NotebookClient(book, timeout=PATIENCE, kernel_name="python3", record_timing=False,
                       resources={"metadata": {"path": folder}}).execute()
    for cell in book.cells:
        cell.metadata.clear()
        if "outputs" in cell:  # warnings are about the machine, and name its folders
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    book.metadata.language_info = {"name": "python"}  # without the version that ran it
    return book


def texts(book):
    """The lines that a reader sees below each cell."""
    for number, cell in enumerate(book.cells):
        for output in cell.get("outputs", []):
            text = output.text if "text" in output else output.data.get("text/plain", "")
            yield from (f"cell {number}: {line}" for line in ROUNDING.sub("#", text).splitlines())


def main():
    check, differs = "--check" in sys.argv, False
    for path in sys.argv[1 + check:]:
        before, after = nbformat.read(path, 4), run(path)
        if not check:
            nbformat.write(after, path)
            continue
        lines = list(difflib.unified_diff([*texts(before)], [*texts(after)], path, "as it runs now", lineterm="", n=0))
        print(f"{path}: {'differs' if lines else 'as written'}", *lines, sep="\n")
        differs = differs or bool(lines) or not any(texts(before))
    sys.exit(differs)


if __name__ == "__main__":
    main()
