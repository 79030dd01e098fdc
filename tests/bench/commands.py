"""What the command line and the Python package take on files as exporters write them today, each time also as a multiple of
what the same machine takes in the same rounds for something without NormLens.

    commands.py SCRATCH ENGINE --json FILE [--rounds N]    measures; run makes the models in SCRATCH
    commands.py --page PAGE --json FILE                    puts the measured table between the marks of the page
"""

import argparse
import datetime
import json
import logging
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
import warnings


ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN, END = "<!-- commands.py: begin -->\n", "<!-- commands.py: end -->\n"
# (row, its file, what it is a multiple of, goal of that multiple or of the figure itself)
ROWS = [
    *[(what, f"gpt2_exported.{kind}", anchor, goal)
      for what, anchor, goal in (("verdicts", "cat", None), ("verdicts, peak memory", None, 250), ("fold without proof", "cp", 1.3),
                                 ("proof", "forward", 20), ("fold and proof, peak memory", "float64 weights", 1.5))
      for kind in ("pt", "pt2", "onnx")],
    ("fold without proof", "gpt2_exported.pt", "torch load and save", 1.0),
    ("fold without proof", "wide_24.pt", "cp", 1.15),
    ("verdicts", "deep_1000.pt", "deep_12.pt", None),
    ("verdicts", "deep_1000.pt", "torch load of it", None),
    ("verdicts", "dense_500.onnx", "dense_150.onnx", None),
    ("all analyses", "dense_500.onnx", None, 0.5),
    ("normlens.analyze", "Python", "export", 1.5),
    ("normlens.fold", "Python", "export", 2.5),
]


# The host of a virtual machine takes free memory back after some seconds, and gives it again at 0.3 to 1 GB/s, where touching memory
# that the machine still has takes 0.1 s for each GB. Before a proof another process touches more than it needs.
TOUCH = ("import mmap; m = mmap.mmap(-1, 3 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); m.madvise(mmap.MADV_HUGEPAGE); "
         "m[::4096] = bytes((3 << 30) // 4096)")


def process(*words, reads=True, touches=False):
    """(seconds, MB at the peak, standard output) of a command. A child counts the memory of the process that starts it: little is
    held here."""
    if touches:
        subprocess.run([sys.executable, "-c", TOUCH], check=True)
    start = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE if reads else subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        out = child.stdout.read() if reads else b""
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: exit code {child.returncode}")
    return time.perf_counter() - start, usage.ru_maxrss / 1000, out


def steps_of(stages, stage, *words):
    """The seconds of the steps of a check's stage that have one of these words."""
    steps = next(each for each in stages if each["name"] == stage)["steps"]
    return sum(step["ms"] for step in steps if any(word in step["name"] for word in words)) / 1000


def fold_and_copy(engine, model, out, seen):
    folded = process(engine, "fold", model, "-o", out, "--max-growth", "100", "--no-verify", "--force", "--quiet")[0]
    shutil.move(out, written := out.with_suffix(".written"))
    copied = process("/bin/cp", written, out)[0]
    written.unlink()
    out.unlink()
    for what, seconds in (("fold without proof", folded), ("cp", copied)):
        seen.setdefault((what, model.name), []).append(seconds)


def model_round(scratch, engine, kind, seen):
    model, out = scratch / f"gpt2_exported.{kind}", scratch / f"commands_out.{kind}"
    note = lambda what, value: seen.setdefault((what, model.name), []).append(value)  # noqa: E731
    note("cat", process("/bin/cat", model, reads=False)[0])
    seconds, peak, _ = process(engine, "analyze", model, "--json", "--quiet")
    note("verdicts", seconds)
    note("verdicts, peak memory", peak)
    fold_and_copy(engine, model, out, seen)
    _, peak, report = process(engine, "check", model, "--json", touches=True)
    note("proof", steps_of(json.loads(report)["stages"], "fold", "verifying", "comparing", "copying", "checking"))
    note("fold and proof, peak memory", peak)
    note("float64 weights", 2 * model.stat().st_size / 1e6)


def seconds_of(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def in_torch(scratch, engine):
    """Prints what torch and the Python package take, as JSON. A process of its own, as the memory of the one that starts a command
    counts as that command's."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    sys.path[:0] = [str(ROOT / "app" / "python"), str(ROOT / "resources" / "models")]
    import generate
    import normlens
    import torch

    torch.manual_seed(0)
    small = generate.GPT2(generate.Size(width=64, heads=2, layers=2, tokens=1000, positions=128)).eval()
    example, ids = torch.randint(0, 1000, (2, 16)), torch.arange(32).view(1, 32)
    free = {axis: torch.export.Dim.AUTO for axis in range(example.dim())}
    path, out = scratch / "gpt2_exported.pt", scratch / "commands_torch.pt"
    seen = {"torch load and save": seconds_of(lambda: torch.jit.load(path).save(out)),
            "torch load of it": seconds_of(lambda: torch.jit.load(scratch / "deep_1000.pt"))}
    out.unlink()
    module = torch.jit.load(path)
    calls = {"forward": lambda: module(ids), "export": lambda: torch.export.export(small, (example,), dynamic_shapes=(free,), strict=False),
             "normlens.analyze": lambda: normlens.analyze(small, example, engine=engine),
             "normlens.fold": lambda: normlens.fold(small, example, engine=engine)}
    with torch.inference_mode():
        module(ids), module(ids)  # which are compiled
    calls["export"]()
    for what, call in calls.items():
        with torch.set_grad_enabled(what != "forward"):
            seen[what] = seconds_of(call)
    print(json.dumps(seen))


def machine():
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name"))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    return f"{cpu}, {os.cpu_count()} cores, {memory:.0f} GB, no GPU used"


def measure(scratch, engine, rounds):
    seen, load = {}, []
    for index in range(rounds + 1):
        load.append(os.getloadavg()[0])
        for kind in ("pt", "pt2", "onnx"):
            model_round(scratch, engine, kind, seen)
        for what, value in json.loads(process(sys.executable, "-B", __file__, scratch, engine, "--in-torch")[2]).items():
            seen.setdefault((what, "Python"), []).append(value)
        fold_and_copy(engine, scratch / "wide_24.pt", scratch / "commands_out.pt", seen)
        for name in ("deep_12.pt", "deep_1000.pt", "dense_150.onnx", "dense_500.onnx"):
            seen.setdefault(("verdicts", name), []).append(process(engine, "analyze", scratch / name, "--json", "--quiet")[0])
        checked = json.loads(process(engine, "check", scratch / "dense_500.onnx", "--json")[2])["stages"]
        seen.setdefault(("all analyses", "dense_500.onnx"), []).append(steps_of(checked, "analyze", "analyzing"))
        if index == 0:
            seen.clear()  # the first one warms the page cache, and imports
        print(f"round {index} of {rounds}, load {load[-1]:.1f}", flush=True)
    rows = []
    for what, file, anchor, goal in ROWS:
        values = seen[what, file]
        unit = "MB" if "memory" in what else "s"
        row = {"what": what, "file": file, "unit": unit, "median": statistics.median(values), "least": min(values), "most": max(values),
               "anchor": anchor, "goal": goal}
        if anchor:
            against = seen.get((anchor, file)) or seen.get((anchor, "Python")) or seen["verdicts", anchor]
            row["ratio"] = statistics.median(a / b for a, b in zip(values, against))
        rows.append(row)
    return {"machine": machine(), "date": datetime.date.today().isoformat(), "rounds": rounds, "load": max(load[1:]), "rows": rows}


def table(measured):
    def number(value):
        return f"{value:.0f}" if value >= 100 else f"{value:.3g}"

    lines = [f"{measured['machine']}; {measured['date']}, medians of {measured['rounds']} rounds (least to most), "
             f"load at most {measured['load']:.1f} beside them:", "",
             "| what | file | measured | as a multiple of | multiple | goal |", "| --- | --- | --- | --- | --- | --- |"]
    for row in measured["rows"]:
        spread = f"{number(row['median'])} {row['unit']} ({number(row['least'])} to {number(row['most'])})"
        goal = "" if row["goal"] is None else f"{row['goal']:g}" + ("" if row["anchor"] else f" {row['unit']}")
        ratio = number(row["ratio"]) if row["anchor"] else ""
        lines.append(f"| {row['what']} | {row['file']} | {spread} | {row['anchor'] or ''} | {ratio} | {goal} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scratch", nargs="?", type=pathlib.Path)
    parser.add_argument("engine", nargs="?")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--in-torch", action="store_true")
    options = parser.parse_args()
    if options.in_torch:
        in_torch(options.scratch, options.engine)
        return
    if options.page:
        before, rest = options.page.read_text(encoding="utf-8").split(BEGIN)
        measured = json.loads(options.json.read_text(encoding="utf-8"))
        options.page.write_text(before + BEGIN + table(measured) + END + rest.split(END)[1], encoding="utf-8")
        return
    measured = measure(options.scratch, options.engine, options.rounds)
    options.json.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    print(table(measured))


if __name__ == "__main__":
    main()
