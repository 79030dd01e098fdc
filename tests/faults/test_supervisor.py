"""The process that holds a worker ends, whatever they are at: the worker goes with it, nothing of either is left."""

import itertools
import signal
import unittest

from engine import FaultCase, MODELS, cases, children, expand, is_alive, wait_until
from stages import STAGES, reach

OLDER = b"what was there before"


@expand
class SupervisorFaults(FaultCase):
    @cases(*((f"{stage.name}_{number.name}_{suffix}", stage, number, suffix) for stage, number, suffix in
             itertools.product(STAGES, (signal.SIGKILL, signal.SIGTERM), ("pt", "onnx"))))
    def ended(self, stage, number, suffix):
        served = self.serve()
        out = self.out_folder / f"out.{suffix}"
        out.write_bytes(OLDER)
        asked = served.send(stage.method, reach(served, stage, MODELS[f"deep.{suffix}"], out))
        served.wait_for(lambda: served.heard(asked, stage.progress) or asked in served.answers, 20)
        workers = children(served.process.pid)
        self.assertTrue(workers)
        served.process.send_signal(number)
        self.assertTrue(wait_until(lambda: not any(map(is_alive, workers)), 2), "the worker lives on")
        self.assertEqual(served.process.wait(2), -number if number == signal.SIGKILL else 1)
        if number == signal.SIGKILL:
            # It could not tidy up: who comes next does.
            self.assertEqual(self.run_engine("analyze", MODELS["small.onnx"]).returncode, 0)
        self.nothing_left(out.name)
        if out.read_bytes() != OLDER:
            self.loads(out)
