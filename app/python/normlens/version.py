"""The version, which is the project's."""

from __future__ import annotations

import importlib.metadata
import re

from normlens.engine.program import checkout


def version() -> str:
    """Of the sources that this package lies in, else of the installed wheel; "0" where it is neither."""
    root = checkout()
    if root is None:
        try:
            return importlib.metadata.version("normlens")
        except importlib.metadata.PackageNotFoundError:
            return "0"
    found = re.search(r"project\(normlens VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text(encoding="utf-8"))
    return found[1] if found else "0"
