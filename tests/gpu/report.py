"""Puts what tests/gpu/run.sh found into one JSON file.

Call: report.py RESULT MEASUREMENTS STEP=OUTCOME...
"""

import json
import platform
import sys

import torch


def main(result, measurements, *steps):
    with open(measurements, encoding="utf-8") as file:
        measured = json.load(file)
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


if __name__ == "__main__":
    main(*sys.argv[1:])
