"""Sums up what tests/gpu/run.sh has found, for a reader who sees the last 12,000 characters at most.

Call: summary.py FOLDER prints the summary of a folder of results.
      summary.py --again FILE DIMENSION VALUES prints which values of a sweep (64,256,...) are to be measured once
      more because they came after a point that failed, and exits 1 if any value has no figures.
"""

import json
import pathlib
import sys
import textwrap

# Characters of each section; together with the headings less than 12,000.
MOST = {"steps": 3000, "benches": 4600, "goals": 1400}


def read(path):
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def number(value, form=".4g"):
    """JSON has "inf" and "nan" as strings."""
    try:
        return format(float(value), form)
    except (TypeError, ValueError):
        return "-"


def fit(lines, characters):
    """As many whole lines as there is room for, each cut to 240 characters."""
    kept, room = [], characters - 60
    for place, line in enumerate(lines):
        line = line[:240]
        if len(line) + 1 > room:
            return kept + [f"... {len(lines) - place} lines more are in summary-all.txt of results.tgz"]
        kept.append(line)
        room -= len(line) + 1
    return kept


def share(side):
    norms = (side or {}).get("norm_share")
    return "-" if norms is None else number(100 * float(norms), ".0f") + "%"


def bench_line(name, point):
    sizes = " ".join(f"{key}={value}" for key, value in point.get("sizes", {}).items())
    head = " ".join(word for word in (name, sizes, point.get("dtype", "")) if word)
    if not point.get("a"):
        return f"{head}: failed: {point.get('error', 'no figures')}"
    line = f"{head}: {number(point['a'].get('median_ms'))} ms"
    if point.get("b"):
        line += f" -> {number(point['b'].get('median_ms'))} ms"
    speedup = point.get("speedup")
    if speedup:
        low, high = speedup.get("ci95", (None, None))
        line += f", {number(speedup.get('median'), '.3f')} [{number(low, '.3f')} {number(high, '.3f')}]"
        line += " noise" if speedup.get("noise") else ""
    line += f", norms {share(point['a'])} -> {share(point.get('b'))}"
    return line + ("" if point.get("warmed_up", True) else ", never settled")


def bench_lines(folder):
    lines = []
    for path in sorted(folder.glob("bench-*.json"), key=lambda path: path.stat().st_mtime):
        found = read(path)
        name = path.stem.removeprefix("bench-")
        if found:
            lines += [bench_line(name, point) for point in found.get("points") or [found]]
        else:
            lines.append(f"{name}: cut off before its JSON was complete")
    return lines


def goal_lines(folder):
    """The goals of the kernels' benchmark; those that are missed most come first."""
    counts = {}
    for goal in read(folder / "kernels.json").get("goals", ()):
        met, judged = counts.get((goal["goal"], goal["op"]), (0, 0))
        counts[goal["goal"], goal["op"]] = (met + bool(goal["met"]), judged + 1)
    if not counts:
        return []
    shares = ((met / judged, goal, op, met, judged) for (goal, op), (met, judged) in counts.items())
    missed = sorted(share for share in shares if share[0] < 1)
    lines = [f"{len(counts) - len(missed)} of {len(counts)} are met"]
    return lines + [f"met at {met} of {judged} points: {op}, {goal}" for _, goal, op, met, judged in missed]


def step_lines(folder):
    """What did not pass comes first; the names of what passed share lines."""
    path = folder / "steps.txt"
    steps = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    passed = [step for step in steps if ": passed, " in step]
    others = [step for step in steps if step not in passed]
    names = ", ".join(step.replace(": passed,", "") for step in passed)
    return others + textwrap.wrap(f"{len(passed)} steps passed: {names}", 120, break_on_hyphens=False)


def sections(folder):
    return {
        "steps": ("steps", step_lines(folder)),
        "benches": ("benches: a -> b, speed-up [95% interval], norms' share of a -> b", bench_lines(folder)),
        "goals": ("goals of the kernels", goal_lines(folder)),
    }


def summarize(folder):
    everything = []
    for name, (title, lines) in sections(folder).items():
        everything += [f"== {title}", *lines]
        if lines:
            print(f"== {title}", *fit(lines, MOST[name]), sep="\n")
    (folder / "summary-all.txt").write_text("\n".join(everything) + "\n", encoding="utf-8")
    return 0


def again(file, dimension, values):
    """Where the first point that failed has told its error, it is not repeated; without a file all are."""
    wanted = values.split(",")
    points = read(pathlib.Path(file)).get("points", ())
    measured = {str(point.get("sizes", {}).get(dimension)) for point in points if point.get("a")}
    lacking = [value for value in wanted if value not in measured]
    print(*(lacking[1:] if points else lacking))
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(again(*sys.argv[2:]) if sys.argv[1] == "--again" else summarize(pathlib.Path(sys.argv[1])))
