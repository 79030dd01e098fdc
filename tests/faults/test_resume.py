"""Folds with --resume, killed at any moment: the next one goes on, and what comes out is what an undisturbed fold writes."""

import os
import pathlib
import random
import shutil
import signal
import tempfile
import time
import unittest
import warnings

import engine
import models
from engine import FaultCase, MODELS, cases, children, expand, signal_to, wait_until

WIDTH, BLOCKS = 2048, 18  # 300 MB
KILLS = 6
PART = ".normlens-part"


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def parts(folder):
    return sorted(path for path in folder.iterdir() if path.name.endswith(PART))


@expand
class Resume(FaultCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(dir=engine.MODELS_FOLDER)
        cls.addClassCleanup(folder.cleanup)
        cls.large = {"pt": pathlib.Path(folder.name) / "large.pt", "onnx": pathlib.Path(folder.name) / "large.onnx"}
        with warnings.catch_warnings(action="ignore"):
            models.deep_torchscript(cls.large["pt"], WIDTH, BLOCKS)
        models.deep_onnx(cls.large["onnx"], WIDTH, BLOCKS, data_file="large.onnx.data")

    def setUp(self):
        super().setUp()
        self.undisturbed = self.folder / "undisturbed"
        self.undisturbed.mkdir()

    def words(self, model, folder, *more):
        return "fold", model, "-o", folder / f"out{model.suffix}", "--no-verify", *more

    def fold(self, *words):
        done = self.run_engine(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def kill(self, process, who):
        """The worker dies with its supervisor; the lock of what it wrote goes with it."""
        workers = children(process.pid)
        signal_to(workers[0] if who == "worker" and workers else process.pid, signal.SIGKILL)
        process.communicate(timeout=20)
        self.assertTrue(wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in workers), 10))

    def same(self):
        self.assertEqual(sorted(content(self.out_folder)), sorted(content(self.undisturbed)))
        for name, expected in content(self.undisturbed).items():
            self.assertTrue((self.out_folder / name).read_bytes() == expected, name)
        self.assertEqual(list(self.scratch.iterdir()), [])

    @cases(("pt", "pt"), ("onnx_with_data", "onnx"))
    def at_any_moment(self, suffix):
        model = self.large[suffix]
        begun = time.monotonic()
        self.fold(*self.words(model, self.undisturbed))
        took = time.monotonic() - begun
        seed = random.randrange(1 << 32)
        rng = random.Random(seed)
        with self.subTest(seed=seed):
            for _ in range(KILLS):
                process = self.start(*self.words(model, self.out_folder, "--resume"))
                who = rng.choice(("worker", "supervisor"))
                delay = rng.uniform(0.2, 1.2) * took
                wait_until(lambda: process.poll() is not None, delay)
                self.kill(process, who)
                if (self.out_folder / f"out.{suffix}").exists():  # it was faster
                    break
                self.assertNotEqual(process.returncode, 0)
                self.forget_named_data()
            else:
                self.fold(*self.words(model, self.out_folder, "--resume"))
            self.run_engine("analyze", MODELS["small.onnx"])  # tidies up after one that was killed
            self.same()

    def forget_named_data(self):
        """Killed between the two names: the data file stays, without --resume too, and its name is taken from then on."""
        if any(not path.name.endswith(PART) for path in self.out_folder.iterdir()):
            for path in self.out_folder.iterdir():
                path.unlink()

    @cases(("pt", "pt"), ("onnx_with_data", "onnx"))
    def interrupted_while_it_writes(self, suffix):
        model = self.large[suffix]
        self.fold(*self.words(model, self.undisturbed))
        process = self.start(*self.words(model, self.out_folder, "--resume"))
        self.assertTrue(wait_until(lambda: parts(self.out_folder), 30))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 1, errors)
        self.assertTrue(parts(self.out_folder))
        done = self.fold(*self.words(model, self.out_folder, "--resume"))
        self.assertIn("going on with", done.stderr)
        self.same()

    def leave(self, model, *more):
        """What a fold leaves that was stopped."""
        process = self.start(*self.words(model, self.out_folder, "--resume", *more))
        self.assertTrue(wait_until(lambda: parts(self.out_folder), 30))
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        self.assertTrue(parts(self.out_folder))

    @cases(("pt", "pt"), ("onnx_with_data", "onnx"))
    def without_resume_it_stays(self, suffix):
        self.leave(self.large[suffix])
        left = parts(self.out_folder)
        done = self.fold(*self.words(self.large[suffix], self.out_folder))
        self.assertIn("--resume goes on with it", done.stderr)
        self.assertEqual(parts(self.out_folder), left)

    @cases(("pt", "pt"), ("onnx_with_data", "onnx"))
    def another_plan_begins_anew(self, suffix):
        self.leave(self.large[suffix])
        words = ("--policy", "free", "--norm", "primitives")
        self.fold(*self.words(self.large[suffix], self.undisturbed, *words))
        done = self.fold(*self.words(self.large[suffix], self.out_folder, "--resume", *words))
        self.assertIn("written anew", done.stderr)
        self.same()

    @cases(("pt", "pt"), ("onnx_with_data", "onnx"))
    def a_source_that_was_touched_begins_anew(self, suffix):
        mine = self.folder / "mine"
        shutil.copytree(self.large[suffix].parent, mine)
        model = mine / f"large.{suffix}"
        self.leave(model)
        data = mine / ("large.pt" if suffix == "pt" else "large.onnx.data")
        times = data.stat()
        with open(data, "r+b") as file:
            file.seek(-4096, os.SEEK_END)
            file.write(b"\0" * 64 if suffix == "onnx" else data.read_bytes()[-4096:])  # a .pt has sums
        os.utime(data, ns=(times.st_atime_ns, times.st_mtime_ns))
        self.fold(*self.words(model, self.undisturbed))
        done = self.fold(*self.words(model, self.out_folder, "--resume"))
        self.assertIn("written anew", done.stderr)
        self.same()

    @cases(("pt", "pt"), ("onnx_with_data", "onnx"))
    def two_at_once(self, suffix):
        model = self.large[suffix]
        self.fold(*self.words(model, self.undisturbed))
        first = self.start(*self.words(model, self.out_folder, "--resume"))
        self.assertTrue(wait_until(lambda: parts(self.out_folder), 30))
        first.send_signal(signal.SIGSTOP)
        for pid in children(first.pid):
            signal_to(pid, signal.SIGSTOP)
        second = self.run_engine(*self.words(model, self.out_folder, "--resume"))
        self.assertEqual(second.returncode, 3)
        self.assertIn("another fold is writing it", second.stderr)
        for pid in [*children(first.pid), first.pid]:
            signal_to(pid, signal.SIGCONT)
        first.communicate(timeout=60)
        self.assertEqual(first.returncode, 0)
        self.same()

    @cases(("pt", "pt"), ("onnx_with_data", "onnx"))
    def over_an_older_output(self, suffix):
        model = self.large[suffix]
        for folder in (self.undisturbed, self.out_folder):
            shutil.copy(MODELS[f"small.{suffix}"], folder / f"out.{suffix}")
        older = (self.out_folder / f"out.{suffix}").read_bytes()
        self.leave(model)
        self.assertEqual((self.out_folder / f"out.{suffix}").read_bytes(), older)
        self.fold(*self.words(model, self.out_folder, "--resume"))
        self.fold(*self.words(model, self.undisturbed))
        self.same()


if __name__ == "__main__":
    unittest.main()
