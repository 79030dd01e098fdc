"""The command line, killed and interrupted: OUT is wholly old or wholly new, Ctrl-C ends anything within a second."""

import itertools
import os
import pathlib
import signal
import time
import unittest

from engine import FaultCase, MODELS, cases, children, expand, wait_until

OLDER = b"what was there before"
DELAYS = [0.05 * step for step in range(1, 11)]
ENDLESS = ("endless.pt", "endless.onnx", "long_op.pt")
CTRL_C = 1.2  # seconds from it to the end


def words_of(verb, model, out):
    return {"analyze": ["analyze", model],
            "fold": ["fold", model, "-o", out],
            "fuse": ["fuse", model, "-o", out],
            "bench": ["bench", model],
            "diff": ["diff", model, model],
            "probe": ["probe", model]}[verb] + ["--input", "x=float32[4,8]"]


@expand
class CommandFaults(FaultCase):
    def test_the_terminal_is_nothing_to_read_from(self):
        """A worker's own descriptors of it: what is typed is not a model's to see."""
        ours, terminal = os.openpty()
        self.addCleanup(os.close, ours)
        process = self.start("analyze", MODELS["endless.pt"], "--input", "x=float32[4,8]", stdin=terminal,
                             stdout=terminal, stderr=terminal)
        name = os.ttyname(terminal)
        os.close(terminal)
        self.assertTrue(wait_until(lambda: children(process.pid), 10))
        worker = pathlib.Path(f"/proc/{children(process.pid)[0]}")
        self.assertTrue(wait_until(lambda: os.readlink(worker / "fd" / "0") == "/dev/null", 10))
        time.sleep(0.3)  # by then it has closed what is not its own
        modes = [int((worker / "fdinfo" / fd.name).read_text().split("flags:")[1].split()[0], 8) & os.O_ACCMODE
                 for fd in (worker / "fd").iterdir() if os.readlink(fd) == name]
        self.assertEqual(set(modes), {os.O_WRONLY})
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(5), 1)

    def test_interrupted_while_the_libraries_start(self):
        log = self.folder / "loader"
        self.environment |= {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(log)}
        process = self.start("analyze", MODELS["endless.pt"], "--input", "x=float32[4,8]")
        loader = log.with_name(f"loader.{process.pid}")
        self.assertTrue(wait_until(lambda: loader.exists() and "calling init:" in loader.read_text(), 5))
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=10)[1]
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn("stopped on request", errors)

    @cases(*((f"{who}_at_{delay * 1000:.0f}_ms_{suffix}", who, delay, suffix) for who, (delay, suffix) in
             itertools.product(("worker", "supervisor"), zip(DELAYS, itertools.cycle(("pt", "onnx"))))))
    def fold_killed(self, who, delay, suffix):
        out = self.out_folder / f"out.{suffix}"
        out.write_bytes(OLDER)
        model = MODELS[f"small.{suffix}"]
        process = self.start("fold", model, "-o", out)
        time.sleep(delay)
        workers = children(process.pid)
        killed = workers[0] if who == "worker" and workers else process.pid
        try:
            os.kill(killed, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate(timeout=20)
        self.assertIn(process.returncode, (0, 3) if killed != process.pid else (0, -signal.SIGKILL))
        self.assertTrue(wait_until(lambda: not any(map(os.path.exists, (f"/proc/{pid}" for pid in workers))), 2))
        if out.read_bytes() != OLDER:
            self.loads(out)
        self.assertEqual(self.run_engine("analyze", model).returncode, 0)  # tidies up after one that was killed
        self.nothing_left(out.name)

    def start_endless(self, verb, model):
        """Until the model is run."""
        process = self.start(*words_of(verb, MODELS[model], self.out_folder / ("out" + MODELS[model].suffix)))
        self.assertTrue(wait_until(lambda: children(process.pid), 5))
        time.sleep(0.6)
        self.assertIsNone(process.poll())
        return process

    @cases(*((f"{verb}_{model.replace('.', '_')}", verb, model) for verb, model in
             itertools.product(("analyze", "fold", "fuse", "bench", "diff", "probe"), ENDLESS)))
    def interrupted(self, verb, model):
        process = self.start_endless(verb, model)
        began = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        self.assertLess(time.monotonic() - began, CTRL_C)
        self.assertEqual(process.returncode, 1, errors)
        self.one_line(errors)
        self.nothing_left()

    @cases(*((model.replace(".", "_"), model) for model in ENDLESS))
    def interrupted_twice(self, model):
        process = self.start_endless("analyze", model)
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.1)
        began = time.monotonic()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        self.assertLess(time.monotonic() - began, 0.8)
        self.assertIn(process.returncode, (1, -signal.SIGINT), errors)  # which may find it on its way out
        self.one_line(errors)
        self.nothing_left()

    def test_ends_where_its_starter_ignores_sigchld(self):
        """The kernel would reap the worker."""
        process = self.start("analyze", MODELS["small.onnx"],
                             preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(process.wait(30), 0)

    def test_runs_in_a_folder_that_was_removed(self):
        gone = self.folder / "gone"
        gone.mkdir()
        process = self.start("analyze", MODELS["small.pt"], preexec_fn=lambda: (os.chdir(gone), gone.rmdir()))
        errors = process.communicate(timeout=30)[1]
        self.assertEqual(process.returncode, 0, errors)

    def test_writers_of_one_output_leave_its_data_alone(self):
        model, out = MODELS["data.onnx"], self.out_folder / "out.onnx"
        for _ in range(4):
            writers = [self.start("fold", model, "-o", out, "--no-verify") for _ in range(4)]
            for writer in writers:
                writer.communicate(timeout=60)
            beside = [path.name for path in self.out_folder.iterdir() if path != out]
            self.assertEqual(len(beside), 1, beside)
            self.loads(out)

    @cases(("pt", "small.pt"), ("onnx", "small.onnx"), ("onnx_with_data", "data.onnx"))
    def two_writers(self, model):
        out = self.out_folder / ("out" + MODELS[model].suffix)
        writers = [self.start("fold", MODELS[model], "-o", out, "--no-verify") for _ in range(2)]
        for writer in writers:
            _, errors = writer.communicate(timeout=60)
            self.assertIn(writer.returncode, (0, 3), errors)
        self.assertIn(0, [writer.returncode for writer in writers])
        self.loads(out)
        beside = sorted(path.name for path in self.out_folder.iterdir() if path != out)
        self.assertLessEqual(len(beside), 1 if model == "data.onnx" else 0, beside)
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_two_writers_serve_and_command(self):
        out = self.out_folder / "out.pt"
        served = self.serve().begin()
        served.ask("open", {"path": str(MODELS["small.pt"])})
        served.ask("analyze")
        served.ask("fold", {"verify": False})
        writer = self.start("fold", MODELS["small.pt"], "-o", out, "--no-verify")
        while writer.poll() is None:
            answer = served.answer(served.send("export", {"path": str(out), "force": True}))
            self.assertIn("result", answer)
        writer.communicate()
        self.assertIn(writer.returncode, (0, 3))
        served.shutdown()
        self.loads(out)
        self.nothing_left(out.name)
