"""That the hunt would see what it hunts for; no engine needed."""

import copy
import json
import pathlib
import tempfile
import unittest

import numpy

import oracle
from case import draw_case
from holds import is_claimed
from judge import WRITERS, Judgement
from minimise import minimised
from runs import open_file
from steps import STEPS


def case_of(file_format, *steps):
    listed = [{"id": i, "do": do, "of": i - 1, "and": 0, "choices": made} for i, (do, made) in enumerate(steps, 1)]
    plain = {"type": "float64", "D": 4, "B": 2, "T": 3, "even": False, "overridable": False}
    return draw_case(1, file_format, STEPS) | plain | {"steps": listed}


class Hunted(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def saved(self, case, name, change=None):
        make, suffix = WRITERS[case["format"]]
        written = make(copy.deepcopy(case)).write()
        if change:
            change(written)
        path = pathlib.Path(self.folder.name) / f"{name}{suffix}"
        written.save(path)
        return written, open_file(path)

    def compared(self, case, change=None):
        written, original = self.saved(case, "original")
        _, other = self.saved(case, "other", change)
        done = Judgement("ok")
        return list(oracle.differences(case, written, original, other, done)), done

    def test_the_same_file_does_not_differ(self):
        for file_format in WRITERS:
            for seed in range(20):
                with self.subTest(file_format=file_format, seed=seed):
                    found, _ = self.compared(draw_case(seed, file_format, STEPS))
                    self.assertEqual(found, [])

    def test_a_weight_that_is_off_is_seen_beside_huge_numbers(self):
        case = case_of("torchscript", ("linear", {"linear.form": "plain"}), ("output", {"form": "huge", "huge": -3e38}))

        def off(written):
            written.weights["s1__linear_weight"][0, 0] += 1e-4
        found, done = self.compared(case, off)
        self.assertEqual(len(found), done.compared)

    def test_state_that_is_kept_is_seen(self):
        case = case_of("torchscript", ("state", {"form": "ring", "linear.form": "plain"}))
        written, original = self.saved(case, "state")
        sample = next(oracle.trials(case, written))[1]
        first = original.run(sample)[0]
        self.assertTrue(original.state()["state_ring"].any())
        original.again()
        self.assertFalse(original.state()["state_ring"].any())
        self.assertTrue(numpy.array_equal(original.run(sample)[0], first))

    def test_every_axis_of_size_1_is_widened(self):
        case = case_of("torchscript", ("gate_input", {"input": "g_0"}), ("gate_input", {"input": "g_t1"}))
        written, _ = self.saved(case, "ones")
        shapes = {name: {values[name].shape for _, values in oracle.trials(case, written)} for name in ("g_0", "g_t1")}
        self.assertTrue({(), (4,)} <= shapes["g_0"])
        self.assertTrue({(3, 1), (3, 4)} <= shapes["g_t1"])

    def test_a_run_that_breaks_a_condition_is_not_claimed(self):
        fold = {"holds_if": [{"input": "g", "axis": -1}, {"input": "g", "axis": -2}]}
        self.assertTrue(is_claimed(fold, {"g": numpy.zeros(1)}))
        self.assertFalse(is_claimed(fold, {"g": numpy.zeros(4)}))
        self.assertFalse(is_claimed(fold, {"g": numpy.zeros((3, 1))}))
        self.assertTrue(is_claimed({}, {"g": numpy.zeros(4)}))
        two = {"holds_if": [{"input": "g", "axis": -3, "text": "g has 2 axes"}]}
        self.assertTrue(is_claimed(two, {"g": numpy.zeros((3, 1))}))
        self.assertFalse(is_claimed(two, {"g": numpy.zeros((1, 3, 1))}))

    def test_what_does_not_matter_goes(self):
        case = draw_case(5, "onnx", STEPS)
        case["steps"].insert(1, {"id": 99, "do": "cast", "of": 0, "and": 0, "choices": {}})

        def judge(less):
            fails = any(one["do"] == "cast" for one in less["steps"])
            done = Judgement("wrong" if fails else "ok")
            WRITERS["onnx"][0](less).write()
            done.simplest = {one["id"]: {"to": "float32"} if one["do"] == "cast" else {} for one in less["steps"]}
            return done
        small, _ = minimised(case, judge(case), judge)
        self.assertEqual([one["do"] for one in small["steps"]], ["cast"])
        self.assertEqual(small["steps"][0]["choices"], {"to": "float32"})

    def test_a_kept_case_is_the_same_model_again(self):
        for file_format in WRITERS:
            case = draw_case(7, file_format, STEPS)
            first, _ = self.saved(case, "first")
            again, _ = self.saved(json.loads(json.dumps(first.case)), "again")
            self.assertEqual(first.last, again.last)
            self.assertEqual(list(first.weights), list(again.weights))
