"""Puts what tests/gpu/run.sh found into one JSON file.

Call: report.py RESULT MEASUREMENTS STEP=OUTCOME... Exits 1 if nothing was measured on the GPU: "kernels" is null then.
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


def main(result, measurements, *steps):
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
        "steps": dict(step.rsplit("=", 1) for step in steps),
        "kernels": measured,
    }
    with open(result, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    return 0 if measured else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
