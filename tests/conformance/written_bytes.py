"""Guards a change that moves code and means to change no file that the engine writes.

    written_bytes.py ENGINE RECORD      before the change: writes the hash of each file to RECORD, which is not there yet
    written_bytes.py ENGINE RECORD      after it: makes the files again and names each case that differs
        --quick     only the small model and the laboratory: two minutes, else a quarter of an hour
        --only TEXT

The record has one line for each case: the model, the verb with its options, and the first digits of the SHA-256 of what was
written, or the exit status where nothing was. The cases are `fold` under every policy and flavour (a torch.export archive is
also written as TorchScript), `crms` and `fuse`, as `--help` lists them, and what the laboratory exports. The quick ones use one
small model whose plan has an edit of every kind (every_edit.py), in every format. The others are the samples of ../shared,
some also decomposed or in older containers, and the demo models.

Whole files are hashed, names included: the engine writes no dates (archives carry zeros) and no paths. Both records are of one
machine and its libraries: LibTorch writes the archives of TorchScript, and training rounds as the CPU does, so the laboratory
is run with a learning rate of 1e-30: what it writes are the first weights. No case is proved (--no-verify), for a proof changes
no byte. Models that take all memory or never end are left out, for their outcome depends on the machine.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# torch.jit.script() writes constants in the order of a set.
if __name__ == "__main__" and os.environ.get("PYTHONHASHSEED") != "0":
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"})
LIBRARIES = pathlib.Path(sys.argv[1]).resolve().parents[1] / "lib" if len(sys.argv) > 1 else pathlib.Path()
if (LIBRARIES / "libnormlens_fork_server.so").exists():
    os.environ.setdefault("NORMLENS_FORK_SERVER_LIBRARY", str(LIBRARIES / "libnormlens_fork_server.so"))
    os.environ.setdefault("NORMLENS_FORK_SERVER_LOADS", str(next(LIBRARIES.glob("libnormlens_torchscript-*.so"))))

from samples import ENGINE, MODELS, REPOSITORY, base, run_engine  # noqa: E402

SAMPLES = ("visible", "pt2", "paper", "field", "attack/exact", "attack/precision")
ONLY_ONNX = ("standard", "ort")  # flavours that are ops of ONNX: other formats refuse them as a wrong command line
NETWORKS = ("layer_norm", "cbwc_rms_norm", "rms_norm", "plain")
EXPERIMENTS = {
    "transformer": {"experiment": "equivalence", "architecture": "pre_norm_transformer", "layers": [2],
                    "steps_per_epoch": 2, "context": 16, "heads": 2,
                    "data": {"kind": "characters", "samples": 4000}},
    "equivalence": {"layers": [3], "activation": "gelu", "data": {"kind": "teacher", "samples": 40, "features": 5}},
}


def choices(verb, option):
    """Returns the words that --help of the verb lists for the option, without the one that is decided by measurements."""
    shown = subprocess.run([ENGINE, verb, "--help"], capture_output=True, text=True, check=True).stdout
    words = re.search(rf"--{option} TEXT:{{(.*?)}}", shown)[1].split(",")
    return [word for word in words if word != "auto"]


@functools.cache
def edits():
    """Returns {label: the engine's words} of every way to write a model."""
    policies, norms = choices("fold", "policy"), choices("fold", "norm")
    out = {f"fold {p} {n}": ["fold", "--policy", p, "--norm", n] for p, n in itertools.product(policies, norms)}
    narrow = {"policy": choices("crms", "policy"), "norm": choices("crms", "norm"), "pad": choices("crms", "pad")}
    for option, values in narrow.items():
        for value in values:
            given = {"policy": "all", "norm": norms[0], "pad": "none", option: value}
            words = [word for name, chosen in given.items() for word in (f"--{name}", chosen)]
            out["crms " + " ".join(given.values())] = ["crms", *words]
    return {**out, "fuse": ["fuse"]}


def inputs_of(path):
    given = (path.with_name(f"{base(path)}.inputs.npz"), path.with_suffix(".npz"))
    return next((["--inputs", found] for found in given if found.exists()), [])


def cases_of(name, path):
    """Returns {case: (the engine's words without -o, OUT, the pattern of what is kept)} for one model."""
    further = ["--model", "one"] if path.name == "several.pt2" else []
    words = [path, *inputs_of(path), *further, "--no-verify", "--time-limit", "300"]
    out = {}
    for label, (verb, *options) in edits().items():
        if path.suffix != ".onnx" and any(flavour in options for flavour in ONLY_ONNX):
            continue
        out[f"{name} {label}"] = ([verb, *words, *options], f"out{path.suffix}", "*")
        if path.suffix == ".pt2" and label.startswith("fold all"):
            out[f"{name} {label} .pt"] = ([verb, *words, *options], "out.pt", "*")
    return out


def laboratory(folder):
    out = {}
    for (experiment, run), network, precision in itertools.product(EXPERIMENTS.items(), NETWORKS, ("float32", "float64")):
        settings = {"experiment": experiment, "width": 16, "epochs": 1, "batch": 4, "threads": 1, "random_affine": True, **run,
                    "networks": [network], "precisions": [precision], "optimizers": [{"kind": "sgd", "learning_rate": 1e-30}]}
        path = folder / f"{experiment}.{network}.{precision}.json"
        path.write_text(json.dumps(settings))
        for suffix in (".pt", ".pt2"):
            out[f"laboratory/{experiment} {network} {precision} {suffix}"] = (["lab", path], "out", f"out/*{suffix}")
    return out


def cases(folder, quick):
    """Returns the cases; the models that are no samples are written to the folder."""
    import every_edit  # torch takes seconds

    every_edit.write_every_edit(folder)
    out = laboratory(folder)
    models = {f"every_edit/{path.name}": path for path in sorted(folder.glob("*.pt*")) + sorted(folder.glob("*.onnx"))}
    if not quick:
        older = folder / "older"
        older.mkdir()
        every_edit.write_older_samples(MODELS / "pt2", older)
        models |= {f"older/{path.name}": path for path in sorted(older.iterdir())}
        for root, name in [(MODELS, name) for name in SAMPLES] + [(REPOSITORY / "resources", "models")]:
            for path in sorted((root / name).rglob("*")):
                if path.suffix in (".pt", ".pt2", ".onnx"):
                    models[str(path.relative_to(root))] = path
    for name, path in models.items():
        out |= cases_of(name, path)
    return out


def hashed(words, out, pattern):
    """Returns the hash of what the engine writes, or its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        done = run_engine([*map(str, words), "-o", f"{folder}/{out}", "--quiet"], 600)
        written = sorted(path for path in pathlib.Path(folder).glob(pattern) if path.is_file())
        digest = hashlib.sha256()
        for path in written:
            digest.update(f"{path.name} {path.stat().st_size}\n".encode() + path.read_bytes())
        return digest.hexdigest()[:12] if written else f"exit {done.returncode}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("engine", type=pathlib.Path)
    arguments.add_argument("record", type=pathlib.Path)
    arguments.add_argument("--quick", action="store_true", help="only the small model and the laboratory")
    arguments.add_argument("--only", default="", metavar="TEXT", help="only cases whose name contains this")
    given = arguments.parse_args()

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        wanted = {name: case for name, case in cases(pathlib.Path(folder), given.quick).items() if given.only in name}
        made = dict(zip(wanted, pool.map(lambda case: hashed(*case), wanted.values())))
    if not given.record.exists():
        given.record.write_text("".join(f"{case} = {result}\n" for case, result in sorted(made.items())))
        return 0
    before = dict(line.split(" = ") for line in given.record.read_text().splitlines())
    differ = [case for case in sorted(made) if before.get(case) != made[case]]
    for case in differ:
        print(f"{case}: {before.get(case, 'not recorded')}, now {made[case]}")
    print(f"{len(made)} cases, {len(differ)} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    raise SystemExit(main())
