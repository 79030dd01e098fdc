"""What every sample and demo model is folded to, under every policy and flavour: the SHA-256 of all that is written.

    written_bytes.py ENGINE RECORD.json [--jobs N]        write the record; a second run goes on where the first ended
    written_bytes.py ENGINE RECORD.json --against OLD.json        and tell what differs

A change that moves code and means to change no file is checked with it: half an hour on two cores, hence no test.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import json
import pathlib
import subprocess
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
POLICIES = ("free", "balanced", "all", "paper")
FLAVOURS = ("portable", "fast", "standard", "ort", "primitives")


def models(shared):
    folders = (shared / "models" / "visible", REPOSITORY / "resources" / "models")
    return sorted(path for folder in folders for path in folder.iterdir() if path.suffix in (".pt", ".onnx"))


def named(path, policy, flavour):
    return f"{path.parent.name}/{path.name} {policy} {flavour}"


def folded(engine, path, policy, flavour):
    """The digest of each written file; where nothing is written, the exit status and what was said."""
    inputs = path.with_name(f"{path.name.split('.')[0]}.inputs.npz")
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / f"out{path.suffix}"
        words = [engine, "fold", path, "-o", out, "--policy", policy, "--norm", flavour, "--no-verify", "--json"]
        if inputs.exists():
            words += ["--inputs", inputs]
        done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
        written = {made.name: hashlib.sha256(made.read_bytes()).hexdigest() for made in pathlib.Path(folder).iterdir()}
        return written or {"status": done.returncode, "said": done.stderr.replace(folder, "")[-300:]}


def record(engine, shared, known, jobs, keep):
    wanted = [
        (path, policy, flavour)
        for path, policy, flavour in itertools.product(models(shared), POLICIES, FLAVOURS)
        if named(path, policy, flavour) not in known
    ]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        made = pool.map(lambda each: folded(engine, *each), wanted)
        for number, (each, written) in enumerate(zip(wanted, made)):
            known[named(*each)] = written
            if number % 100 == 0:
                keep(known)
    keep(known)


def tell(old, new):
    differ = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    by_model = collections.Counter(key.split()[0] for key in differ)
    for model, count in by_model.items():
        first = next(key for key in differ if key.startswith(model + " "))
        print(f"{model}: {count} differ, as {first}: {old.get(first)} is {new.get(first)}")
    print(f"{len(new)} folds, {len(differ)} differ")
    return 1 if differ else 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("engine", type=pathlib.Path)
    arguments.add_argument("record", type=pathlib.Path)
    arguments.add_argument("--against", type=pathlib.Path)
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--shared", type=pathlib.Path, default=REPOSITORY.parent / "shared")
    given = arguments.parse_args()
    known = json.loads(given.record.read_text()) if given.record.exists() else {}

    def keep(made):
        given.record.write_text(json.dumps(made, indent=0, sort_keys=True))

    record(given.engine, given.shared, known, given.jobs, keep)
    return tell(json.loads(given.against.read_text()), known) if given.against else 0


if __name__ == "__main__":
    raise SystemExit(main())
