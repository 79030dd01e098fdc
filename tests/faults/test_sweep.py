"""A sweep whose models crash, hang, grow or change, and that is itself killed: each model has a line, the others are
done, and the same command goes on where it ended."""

import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest

from engine import ENGINE, FaultCase, MODELS, cases, children, expand, signal_to, wait_until

CTRL_C = 2  # seconds from it to the end; test_command.py is stricter


@expand
class Sweep(FaultCase):
    def setUp(self):
        super().setUp()
        self.results = self.folder / "results.jsonl"

    def copies(self, model, count):
        """Of one model, under names of their own."""
        made = [self.folder / f"{model.stem}_{i}{model.suffix}" for i in range(count)]
        for path in made:
            shutil.copyfile(model, path)
        return made

    def words(self, *models):
        return ["sweep", *models, "-o", self.out_folder, "--json-lines", "--results", self.results]

    def parsed(self, text):
        lines = [json.loads(line) for line in text.splitlines()]
        self.assertTrue(all(line["schema"] == 1 for line in lines))
        return lines

    def sweep(self, *words, status=0):
        done = self.run_engine(*words, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        return self.parsed(done.stdout)

    def statuses(self, lines):
        return [line["status"] for line in lines]

    def same_as_fold(self, model):
        alone = self.folder / ("alone" + model.suffix)
        self.assertEqual(self.run_engine("fold", model, "-o", alone).returncode, 0)
        self.assertEqual((self.out_folder / model.name).read_bytes(), alone.read_bytes())

    def first_line(self, process):
        """Then the next model's worker is there."""
        line = json.loads(process.stdout.readline())
        self.assertTrue(wait_until(lambda: children(process.pid), 10))
        return line

    # ---- what a model does

    def test_a_worker_that_dies_is_a_line(self):
        small = self.copies(MODELS["small.pt"], 2)
        process = self.start(*self.words(small[0], MODELS["endless.pt"], small[1]))
        self.assertEqual(self.first_line(process)["status"], "done")
        time.sleep(0.5)
        signal_to(children(process.pid)[0], signal.SIGSEGV)
        time.sleep(0.5)
        workers = children(process.pid)  # the model is looked at once more, and not run
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 3, errors + str(workers))
        dead, last = self.parsed(output)
        self.assertEqual((dead["status"], last["status"]), ("failed", "done"))
        self.assertRegex(dead["error"]["message"], r"endless\.pt")
        self.nothing_left(small[0].name, small[1].name)

    @cases(("pt", "endless.pt"), ("onnx", "endless.onnx"))
    def the_time_limit_is_each_models_own(self, name):
        small = self.copies(MODELS["small.pt"], 2)
        lines = self.sweep(*self.words(small[0], MODELS[name], small[1]), "--time-limit", "1", status=3)
        self.assertEqual(self.statuses(lines), ["done", "failed", "done"])
        self.assertEqual(set(lines[1]["error"]), {"code", "message", "hint"})
        self.assertLess(lines[1]["seconds"], 10)
        self.nothing_left(small[0].name, small[1].name)

    def test_the_memory_limit_is_each_models_own(self):
        small = self.copies(MODELS["small.pt"], 2)
        words = [*self.words(small[0], MODELS["deep.pt"], small[1]), "--memory-limit", "150MB", "--threads", "1"]
        lines = self.sweep(*words, status=3)
        self.assertEqual(self.statuses(lines), ["done", "failed", "done"])
        self.assertIn("--memory-limit", lines[1]["error"]["hint"])
        self.nothing_left(small[0].name, small[1].name)

    # ---- what is done to the sweep

    def test_killed_and_given_again(self):
        models = [*self.copies(MODELS["small.pt"], 2), *self.copies(MODELS["deep.onnx"], 2)]
        process = self.start(*self.words(*models))
        self.assertEqual(self.first_line(process)["model"], str(models[0]))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        done = len(self.results.read_text().splitlines())
        self.assertIn(done, (1, 2))
        with self.results.open("a") as file:
            file.write('{"fold":{"bytes_cen')  # as if it had been killed there
        lines = self.sweep(*self.words(*models))
        self.assertEqual(self.statuses(lines), ["skipped"] * done + ["done"] * (4 - done))
        for model in models:
            self.same_as_fold(model)
        self.nothing_left(*(model.name for model in models))
        self.assertEqual(self.statuses(self.sweep(*self.words(*models))), ["skipped"] * 4)

    @cases(("ctrl_c", signal.SIGINT), ("terminated", signal.SIGTERM))
    def stopped(self, number):
        small = self.copies(MODELS["small.pt"], 2)
        process = self.start(*self.words(small[0], MODELS["long_op.pt"], small[1]))
        self.first_line(process)
        time.sleep(0.5)
        began = time.monotonic()
        os.killpg(process.pid, number)
        output, errors = process.communicate(timeout=20)
        self.assertLess(time.monotonic() - began, CTRL_C)
        self.assertEqual(process.returncode, 1, errors)
        self.assertEqual(output, "")
        self.assertIn("stopped on request", errors)
        self.assertEqual(len(self.results.read_text().splitlines()), 1)
        self.nothing_left(small[0].name)

    def test_data_files_are_part_of_a_model(self):
        model = self.folder / MODELS["data.onnx"].name
        shutil.copyfile(MODELS["data.onnx"], model)
        shutil.copyfile(MODELS["data.onnx"].with_name("data.bin"), self.folder / "data.bin")
        words = [*self.words(model), "--no-verify"]
        first = self.sweep(*words)[0]
        self.assertEqual({pathlib.Path(file["path"]) for file in first["read"]}, {model, self.folder / "data.bin"})
        self.assertEqual({pathlib.Path(file["path"]) for file in first["wrote"]}, set(self.out_folder.iterdir()))
        self.assertEqual(len(first["wrote"]), 2)
        for kind, i in itertools.product(("read", "wrote"), range(2)):
            changed = json.loads(self.results.read_text().splitlines()[-1])[kind][i]["path"]
            with self.subTest(changed=changed):
                self.assertEqual(self.statuses(self.sweep(*words)), ["skipped"])
                os.utime(changed)
                self.assertEqual(self.statuses(self.sweep(*words)), ["done"])

    def test_beside_their_models_outputs_stay_done(self):
        """What an export looks at in its folder, to see which older data is still needed, is nothing it rests on."""
        models = self.copies(MODELS["data.onnx"], 3)
        data = shutil.copyfile(MODELS["data.onnx"].with_name("data.bin"), self.folder / "data.bin")
        words = ["sweep", *models, "-o", "{folder}/folded_{name}{suffix}", "--json-lines", "--results", self.results,
                 "--no-verify"]
        for status in ("done", "skipped", "done", "skipped"):
            self.assertEqual(self.statuses(self.sweep(*words)), [status] * 3)
            if status == "skipped":
                os.utime(data)

    def test_two_sweeps_share_a_file_of_results(self):
        models = self.copies(MODELS["small.pt"], 8)
        words = [self.words(*models[:4]), self.words(*models[4:])]
        for process in [self.start(*some) for some in words]:
            self.assertEqual(process.communicate(timeout=60)[0].count("\n"), 4)
        self.assertEqual(len(self.parsed(self.results.read_text())), 8)
        self.assertEqual(self.statuses(self.sweep(*self.words(*models))), ["skipped"] * 8)

    # ---- what it takes

    def peak(self, models):
        """KiB of the sweep and of its largest worker; how many workers there were at once, and in all."""
        script = ("import resource, subprocess, sys\n"
                  "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
                  "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        process = subprocess.Popen([sys.executable, "-c", script, ENGINE, "sweep", *map(str, models), "--threads", "1"],
                                   env=self.environment, stdout=subprocess.PIPE, text=True)
        most, seen = 0, set()
        while process.poll() is None:
            for sweep in children(process.pid):
                now = children(sweep)
                most, seen = max(most, len(now)), seen | set(now)
            time.sleep(0.01)
        status, size = map(int, process.communicate()[0].split())
        self.assertEqual(status, 0)
        return size, most, len(seen)

    def test_many_models_take_no_more_memory_than_one(self):
        one, _, _ = self.peak(self.copies(MODELS["deep.pt"], 1))
        many, most, seen = self.peak(self.copies(MODELS["deep.pt"], 8))
        self.assertLess(many, one + 13_000)  # half of one of them
        self.assertEqual((most, seen), (1, 8))

    @cases(("pt", "deep.pt"), ("onnx", "deep.onnx"))
    def threads_are_bounded(self, name):
        most = {}
        for threads in (1, 8):
            process = self.start("sweep", MODELS[name], "--threads", threads)
            most[threads] = 0
            while process.poll() is None:
                for worker in children(process.pid):
                    try:
                        most[threads] = max(most[threads], len(os.listdir(f"/proc/{worker}/task")))
                    except FileNotFoundError:
                        pass
                time.sleep(0.002)
        self.assertLess(most[1], 7)
        self.assertGreater(most[8], most[1] + 4)


if __name__ == "__main__":
    unittest.main()
