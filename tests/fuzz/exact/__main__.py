"""Random models through the engine, each judged by LibTorch or ONNX Runtime; what fails is made small and kept.

    python tests/fuzz/exact -n 1000 --seed 7 --jobs 2 --engine build/release/bin/normlens-engine --out /tmp/exact
    python tests/fuzz/exact --replay /tmp/exact/wrong-torchscript-1234.json --engine ...

The last lines tell what the models were like. Exit status 1: something failed.
"""

import argparse
import gc
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

warnings.simplefilter("ignore")  # that TorchScript is old

from case import draw_case
from judge import Judge, Tally
from minimise import minimised, shown
from served import Engine
from runs import load_ops
from steps import STEPS


def parse(words):
    parser = argparse.ArgumentParser("tests/fuzz/exact")
    parser.add_argument("--engine", type=pathlib.Path, required=True)
    parser.add_argument("-n", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first model; the next has the next")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--format", choices=("torchscript", "onnx"), help="both, by turns, unless said")
    parser.add_argument("--halves", action="store_true", help="float16 and bfloat16 alone, some with outlier channels")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("exact-finds"))
    parser.add_argument("--replay", type=pathlib.Path, help="a case that was kept")
    parser.add_argument("--small", action="store_true", help="what fails is kept as it is")
    return parser.parse_args(words)


class Hunt:
    def __init__(self, program, halves=False):
        self.program, self.halves, self.tally = program, halves, Tally()
        load_ops(program)
        gc.freeze()  # torch's objects need not be looked at again and again
        memory = pathlib.Path("/dev/shm")
        self.folder = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
        self.judge = Judge(Engine(program), pathlib.Path(self.folder.name))

    def ask(self, case):
        done = self.judge.judge(case)
        if done.kind == "crash":
            self.judge.engine.close()
            self.judge.engine = Engine(self.program)
        return done

    def first(self, seed, file_format):
        """Some models run at one token or one batch alone."""
        case = draw_case(seed, file_format or ("torchscript", "onnx")[seed % 2], STEPS, self.halves)
        for sizes in ({}, {"T": 1}, {"B": 1}, {"T": 1, "B": 1}, {"T": case["D"]}):
            done = self.ask(case | sizes)
            if done.kind != "unrun":
                break
        return case | sizes, done

    def close(self):
        self.judge.engine.close()
        self.folder.cleanup()


def hunt(arguments):
    hunter, failed, began = Hunt(arguments.engine, arguments.halves), 0, time.monotonic()
    for seed in range(arguments.seed, arguments.seed + arguments.n):
        case, done = hunter.first(seed, arguments.format)
        hunter.tally.add(done)
        if not done.failed:
            continue
        failed += 1
        if not arguments.small:
            case, done = minimised(case, done, hunter.ask)
        keep(arguments.out, case, done)
    print(hunter.tally.text())
    print(f"{arguments.n} models in {time.monotonic() - began:.0f} s, {failed} failed")
    hunter.close()
    return 1 if failed else 0


def keep(folder, case, done):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{done.kind}-{case['format']}-{case['seed']}.json"
    path.write_text(json.dumps(case | {"found": f"{done.kind}: {done.detail}"}, indent=1))
    print(f"{path}: {done.detail} | {shown(case)}", flush=True)


def replay(arguments):
    hunter = Hunt(arguments.engine, arguments.halves)
    case = json.loads(arguments.replay.read_text())
    done = hunter.ask(case)
    print(getattr(hunter.judge.written, "source", None) or hunter.judge.written.model)
    print(f"{done.kind}: {done.detail}\n{done.verdicts}")
    hunter.close()
    return 1 if done.failed else 0


def shared_out(arguments):
    """Each job is a process of its own with a part of the seeds."""
    part = -(-arguments.n // arguments.jobs)
    same = ["--engine", str(arguments.engine), "--out", str(arguments.out), *(["--small"] if arguments.small else []),
            *(["--format", arguments.format] if arguments.format else []), *(["--halves"] if arguments.halves else [])]
    jobs = [subprocess.Popen([sys.executable, __file__, *same, "--seed", str(arguments.seed + i * part), "-n",
                              str(min(part, arguments.n - i * part))]) for i in range(arguments.jobs)]
    return max(job.wait() for job in jobs)


def main(words):
    arguments = parse(words)
    if arguments.replay:
        return replay(arguments)
    return shared_out(arguments) if arguments.jobs > 1 else hunt(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
