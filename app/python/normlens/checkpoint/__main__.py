"""python -m normlens.checkpoint HF_DIR -o OUT_DIR: folds a checkpoint's folder to another folder."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import signal
import sys
from typing import Any, List, Optional

from normlens.checkpoint import fold_folder
from normlens.errors import NormLensError, NotEqual
from normlens.report.report import ChangeReport

DONE, NOT_EQUAL, REFUSED = 0, 1, 3  # argparse exits with 2


def _words(given: Optional[List[str]]) -> argparse.Namespace:
    words = argparse.ArgumentParser("normlens fold", description=__doc__)
    words.add_argument("folder", metavar="HF_DIR", help="a folder with config.json and weights, of transformers or timm")
    words.add_argument("-o", "--output", metavar="OUT_DIR", required=True, help="the folder to write; it must be new or empty")
    words.add_argument("--policy", default="free", choices=("free", "balanced", "all"), help="default: free")
    words.add_argument("--max-growth", metavar="PERCENT", type=float, default=10, help="by which copies may enlarge the weights")
    words.add_argument("--gamma", default="keep", choices=("keep", "fold"), help="move weights of RMSNorms into linear layers")
    words.add_argument("--trust-remote-code", action="store_true", help="run Python files of HF_DIR, and copy them")
    words.add_argument("--quiet", action="store_true", help="print errors only")
    words.add_argument("--json", action="store_true", help="print the report as JSON")
    return words.parse_args(given)


def _json(report: ChangeReport) -> str:
    fields = ("source", "folded", "kept", "untied", "changes", "contract", "conditions", "notes")
    checks = [{**dataclasses.asdict(check), "passed": check.passed} for check in report.checks]
    output = None if report.output is None else str(report.output)
    return json.dumps({**{name: getattr(report, name) for name in fields}, "checks": checks, "output": output}, indent=2)


def main(given: Optional[List[str]] = None) -> int:
    words = _words(given)
    os.environ["HF_HUB_OFFLINE"] = "1"  # nothing is looked up
    try:
        report = fold_folder(
            words.folder,
            words.output,
            policy=words.policy,
            max_growth=words.max_growth,
            gamma=words.gamma,
            trust_remote_code=words.trust_remote_code,
        )
    except NormLensError as error:
        # A name in a stranger's file may hold control characters.
        print("normlens:", "".join(one if one.isprintable() else "?" for one in str(error)), file=sys.stderr)
        return NOT_EQUAL if isinstance(error, NotEqual) else REFUSED
    if words.json or not words.quiet:
        print(_json(report) if words.json else report)
    return DONE


def program() -> int:
    """The process of `normlens fold HF_DIR`, and of this module. What is half written is removed when a signal ends it."""
    stopped: List[int] = []

    def end(number: int, _: Any) -> None:
        stopped.append(number)
        sys.exit(128 + number)

    for stop in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(stop) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(stop, end)
    code = main()
    return 128 + stopped[0] if stopped and code else code  # a library that was reading may have made an error of it


if __name__ == "__main__":
    sys.exit(program())
