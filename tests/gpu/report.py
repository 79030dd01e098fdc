"""Puts what tests/gpu/run.sh found into one JSON file, and its outcome into the last lines that are printed.

Call: report.py RESULT FOLDER LOG STEP=OUTCOME... Exits 1 if nothing was measured on the GPU: "measured" is empty then.
FOLDER holds the measurements, one JSON file each. LOG has a line "== STEP" before what that step printed.
"""

import json
import pathlib
import platform
import sys

import torch

LINES = 15  # that the summary has at most: who runs this may see the end alone


def measurements_in(folder):
    """What was measured, by name. A file of the kernels' benchmark that holds no point of a GPU is none."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        try:
            measured = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue
        if measured.get("points", True):
            found[path.stem] = measured
    return found


def said(log, steps):
    """The end of what each step printed that did not pass."""
    last = {}
    for part in ("\n" + pathlib.Path(log).read_text(encoding="utf-8", errors="replace")).split("\n== ")[1:]:
        name, _, text = part.partition("\n")
        last[name] = text[-6000:]
    return {name: last[name] for name, outcome in steps.items() if outcome != "passed" and name in last}


def goals_in(measured):
    """Goal and op -> met, judged."""
    counts = {}
    for goal in measured.get("goals", ()):
        met, judged = counts.get((goal["goal"], goal["op"]), (0, 0))
        counts[goal["goal"], goal["op"]] = (met + goal["met"], judged + 1)
    return counts


def summary(steps, measured):
    """What failed, then the goals that were missed most."""
    lines = [f"{name}: {outcome}" for name, outcome in steps.items() if outcome != "passed"]
    lines.append(f"{sum(outcome == 'passed' for outcome in steps.values())} of {len(steps)} steps passed")
    goals = goals_in(measured.get("kernels", {}))
    missed = sorted((met / judged, *key, met, judged) for key, (met, judged) in goals.items() if met < judged)
    lines += [f"{goal}: {op}, met at {met} of {judged} points" for _, goal, op, met, judged in missed]
    if goals and not missed:
        lines.append(f"all {len(goals)} goals are met")
    if len(lines) > LINES:
        lines[LINES - 1 :] = [f"... {len(lines) - LINES + 1} lines more, in the file"]
    return lines


def main(result, folder, log, *steps):
    outcomes = dict(step.rsplit("=", 1) for step in steps)
    measured = measurements_in(folder)
    gpu = torch.cuda.get_device_properties(0)
    report = {
        "schema": 2,
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
        "measured": measured,
    }
    with open(result, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    print(*summary(outcomes, measured), sep="\n")
    return 0 if measured else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
