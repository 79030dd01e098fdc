"""python -m normlens.atlas: analyzes the architectures of the table and writes the page and its JSON."""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import importlib.metadata
import json
import multiprocessing
import os
import pathlib
import re
import sys
import time
from typing import Any, Callable, List

import torch

import normlens.atlas.models  # noqa: F401  what every row imports is loaded once, before the processes part
from normlens.atlas.page import document, entry_of, json_text, markdown
from normlens.atlas.row import row_of, write_files
from normlens.atlas.table import ROWS, Architecture
from normlens.engine.program import checkout, find_engine
from normlens.engine.session import Json

HERE = pathlib.Path(__file__).parent


def _words() -> argparse.Namespace:
    root = checkout() or pathlib.Path()
    words = argparse.ArgumentParser(prog="python -m normlens.atlas", description=__doc__)
    words.add_argument("names", nargs="*", metavar="NAME", help="only these architectures, as JSON on stdout")
    words.add_argument("--jobs", type=int, default=1, help="architectures at a time, each in a process of its own")
    words.add_argument("--time-limit", type=float, default=600, help="seconds for one architecture")
    words.add_argument("--cache", type=pathlib.Path, default=root / "build" / "atlas", help="what is done; a later run takes it")
    words.add_argument("--json", type=pathlib.Path, default=root / "resources" / "reference" / "atlas.json")
    words.add_argument("--page", type=pathlib.Path, default=root / "docs" / "atlas.md")
    return words.parse_args()


def _source(*names: str) -> List[bytes]:
    return [(HERE / name).read_bytes() for name in names]


def _step(path: pathlib.Path, key: Any, limit: float, work: Callable[[], Json]) -> Json:
    """What the work returns: of a process of its own, or of an earlier one with the same key, from the file."""
    key = hashlib.sha256(repr(key).encode()).hexdigest()
    if path.exists() and (kept := json.loads(path.read_text(encoding="utf-8")))["key"] == key:
        return kept["result"]

    def run() -> None:
        torch.set_num_threads(1)
        os.dup2(2, 1)  # exporters print; stdout is for the JSON
        path.write_text(json.dumps({"key": key, "result": work()}, ensure_ascii=False), encoding="utf-8")

    path.unlink(missing_ok=True)
    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join(limit)
    late = process.is_alive()
    if late:
        process.kill()
        process.join()
    if not path.exists():
        refused = f"not done in {limit:.0f} s" if late else f"its process ended with code {process.exitcode}"
        return {"layers": 0, "pt2": {"refused": refused}, "onnx": {"refused": refused}}
    return json.loads(path.read_text(encoding="utf-8"))["result"]


def _row(of: Architecture, cache: pathlib.Path, limit: float) -> Json:
    folder = cache / re.sub(r"\W+", "_", of.name.lower())
    folder.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    versions = [importlib.metadata.version(name) for name in ("torch", "transformers", "timm")]
    said = _step(folder / "files.json", (of, versions, _source("models.py")), limit, lambda: write_files(of, folder))
    engine = hashlib.sha256(pathlib.Path(find_engine()).read_bytes()).hexdigest()
    row = _step(folder / "row.json", (said, engine, _source("row.py")), limit, lambda: row_of(folder, said))
    print(f"{of.name}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    return row


def main() -> None:
    words = _words()
    chosen = [of for of in ROWS if not words.names or of.name in words.names]
    with concurrent.futures.ThreadPoolExecutor(words.jobs) as pool:
        rows = list(pool.map(lambda of: _row(of, words.cache, words.time_limit), chosen))
    made = document([entry_of(of, row) for of, row in zip(chosen, rows)])
    if words.names:
        sys.stdout.write(json_text(made))
        return
    words.json.write_text(json_text(made), encoding="utf-8")
    words.page.write_text(markdown(made), encoding="utf-8")


if __name__ == "__main__":
    main()
