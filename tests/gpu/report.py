"""Puts what tests/gpu/run.sh found into one JSON file.

Call: report.py RESULT MEASUREMENTS LOG STEP=OUTCOME... Exits 1 if nothing was measured on the GPU: "kernels" is null
then. LOG has a line "== STEP" before what that step printed.
"""

import json
import pathlib
import platform
import sys

import torch


def measurements_in(path):
    """What normlens-bench wrote; None where it did not, or measured no GPU."""
    if not path.exists():
        return None
    measured = json.loads(path.read_text(encoding="utf-8"))
    return measured if measured["points"] else None


def said(log, steps):
    """The end of what each step printed that did not pass."""
    last = {}
    for part in ("\n" + pathlib.Path(log).read_text(encoding="utf-8", errors="replace")).split("\n== ")[1:]:
        name, _, text = part.partition("\n")
        last[name] = text[-6000:]
    return {name: last[name] for name, outcome in steps.items() if outcome != "passed" and name in last}


def main(result, measurements, log, *steps):
    outcomes = dict(step.rsplit("=", 1) for step in steps)
    measured = measurements_in(pathlib.Path(measurements))
    gpu = torch.cuda.get_device_properties(0)
    report = {
        "schema": 1,
        "gpu": {
            "name": gpu.name,
            "multiprocessors": gpu.multi_processor_count,
            "memory_bytes": gpu.total_memory,
            "compute_capability": f"{gpu.major}.{gpu.minor}",
        },
        "host": platform.platform(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "steps": outcomes,
        "said": said(log, outcomes),
        "kernels": measured,
    }
    with open(result, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    return 0 if measured else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
