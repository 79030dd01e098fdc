"""A worker of `serve` that dies, or stands still, at whatever it is at: one sentence, and the model is open still."""

import fcntl
import itertools
import os
import pathlib
import random
import signal
import time
import unittest

from engine import CANCELLED, FaultCase, MODELS, cases, expand, is_alive, sentence, signal_to, wait_until
from stages import SHORT, STAGES, is_answered_in_full, reach

KILLING = (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS)


def rows(suffix, signals):
    return [(f"{stage.name}_{number.name}_{suffix}", stage, number, suffix)
            for stage, number in itertools.product(STAGES, signals)]


@expand
class ServeFaults(FaultCase):
    def serve_deep(self, folded=False):
        """Returns an engine that has opened the deep model, and its worker."""
        served = self.serve().begin()
        served.ask("open", {"path": str(MODELS["deep.pt"])})
        if folded:
            served.ask("analyze")
            served.ask("fold", {"verify": False})
        return served, served.workers()[-1]

    def hit(self, stage, suffix, number):
        """Sends the stage's request and, once it is at it, the signal. Returns all that the rest of a case needs."""
        served = self.serve()
        out = self.out_folder / f"out.{suffix}"
        params = reach(served, stage, MODELS[f"deep.{suffix}"], out)
        asked = served.send(stage.method, params)
        served.wait_for(lambda: served.heard(asked, stage.progress) or asked in served.answers, 20)
        time.sleep(random.Random(f"{stage.name}{number}").uniform(0, 0.03))
        if number == signal.SIGSTOP:
            signal_to(served.workers()[-1], number)
        else:
            served.kill_worker(number)
        return served, asked, params, out

    def lives_on(self, served, stage, params, out):
        again = served.ask(stage.method, stage.again or params)
        is_answered_in_full(self, stage, again)
        if stage.method == "open":
            served.ask("analyze")
        served.shutdown()
        left = [out.name] if stage.name == "export" else []
        self.nothing_left(*left)
        self.loads(*(self.out_folder / name for name in left))

    @cases(*rows("pt", KILLING), *rows("onnx", (signal.SIGKILL, signal.SIGSEGV)))
    def killed(self, stage, number, suffix):
        served, asked, params, out = self.hit(stage, suffix, number)
        answer = served.answer(asked, 3 if stage.name != "analyze" else 6)  # which is asked once more, without a run
        if "error" in answer:
            self.assertNotEqual(answer["error"]["code"], CANCELLED)
            sentence(self, answer)
        self.lives_on(served, stage, params, out)

    @cases(*rows("pt", (signal.SIGSTOP,)), *rows("onnx", (signal.SIGSTOP,)))
    def stopped(self, stage, number, suffix):
        served, asked, params, out = self.hit(stage, suffix, number)
        served.notify("$/cancelRequest", {"id": asked})
        answer = served.answer(asked, 3)
        if "error" in answer:
            self.assertEqual(answer["error"]["code"], CANCELLED, answer)
            sentence(self, answer)
        else:  # it was quicker, and stands still with nothing to cancel
            signal_to(served.workers()[-1], signal.SIGCONT)
        self.lives_on(served, stage, params, out)

    def test_one_that_announces_more_than_it_sends(self):
        """What it says next would be taken for the rest: it is ended, and the model is open still."""
        served, worker = self.serve_deep()
        for entry in pathlib.Path(f"/proc/{served.process.pid}/fd").iterdir():
            if not os.readlink(entry).startswith("pipe:"):
                continue
            with open(entry, "rb", opener=lambda path, _: os.open(path, os.O_RDWR | os.O_NONBLOCK)) as pipe:
                if fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) == 1 << 20:  # of what the worker says
                    os.write(pipe.fileno(), b"Content-Length: 100000000\r\n\r\n{")
        answer = served.answer(served.send("analyze"), 15)
        self.assertNotEqual(served.workers()[-1], worker)
        if "error" in answer:
            self.assertIn("it stopped in the middle of an answer", sentence(self, answer))
        is_answered_in_full(self, next(stage for stage in STAGES if stage.name == "analyze"), served.ask("analyze"))
        served.shutdown()

    def test_one_that_waited_and_was_cancelled(self):
        """It is done with: its worker, long after, is not taken for one that does not stop."""
        served, worker = self.serve_deep(folded=True)
        first = served.send("bench", SHORT | {"rounds": 10000})
        waits = served.send("analyze")
        served.wait_for(lambda: served.heard(first), 10)
        for asked in (waits, first):
            served.notify("$/cancelRequest", {"id": asked})
            self.assertEqual(served.answer(asked, 3)["error"]["code"], CANCELLED)
        time.sleep(1.5)
        self.assertEqual(served.workers()[-1], worker)
        served.shutdown()

    def test_idle(self):
        for number in KILLING:
            with self.subTest(number.name):
                served, _ = self.serve_deep()
                served.kill_worker(number)
                self.assertTrue(served.ask("analyze")["norms"])
                served.shutdown()

    def test_asked_of_a_dead_worker(self):
        """Nobody was at it: the next one answers, and no crash is told."""
        for method, answers in (("analyze", "norms"), ("ping", None)):
            with self.subTest(method):
                served = self.serve().begin()
                served.ask("open", {"path": str(MODELS["small.pt"])})
                worker = served.workers()[-1]
                served.process.send_signal(signal.SIGSTOP)
                signal_to(worker, signal.SIGKILL)
                asked = served.send(method)
                self.assertTrue(wait_until(lambda: not is_alive(worker), 3))
                served.process.send_signal(signal.SIGCONT)
                answer = served.answer(asked)
                self.assertIn("result", answer)
                self.assertTrue(answers is None or answer["result"][answers])
                served.shutdown()

    def test_again_and_again(self):
        served, _ = self.serve_deep()
        for _ in range(5):
            asked = served.send("fold", {"verify": True})
            served.wait_for(lambda: served.heard(asked) or asked in served.answers, 10)
            served.kill_worker()
            served.answer(asked, 3)
            self.assertTrue(served.ask("analyze")["norms"])
        served.shutdown()

    def test_cancelled_while_it_comes_back(self):
        """The model is not given up for requests that nobody waits for any more."""
        served, worker = self.serve_deep(folded=True)
        signal_to(worker, signal.SIGKILL)
        self.assertTrue(wait_until(lambda: worker not in served.workers() and served.workers(), 3))
        coming = served.workers()[-1]
        signal_to(coming, signal.SIGSTOP)  # as one that takes its time
        for _ in range(3):
            asked = served.send("plan", {})
            served.notify("$/cancelRequest", {"id": asked})
        time.sleep(2)
        self.assertEqual(served.workers()[-1], coming)
        signal_to(coming, signal.SIGCONT)
        self.assertTrue(served.ask("fold", {"verify": False})["plan"]["folded"])
        served.shutdown()

    def test_while_it_comes_back(self):
        served, _ = self.serve_deep()
        for wait in (0, 0.02, 0.05, 0.1, 0.2):
            for worker in served.workers():
                signal_to(worker, signal.SIGKILL)
            time.sleep(wait)
        served.answer(served.send("open", {"path": str(MODELS["deep.pt"])}), 10)
        served.ask("open", {"path": str(MODELS["deep.pt"])})
        self.assertTrue(served.ask("analyze")["norms"])
        served.shutdown()
