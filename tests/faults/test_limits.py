"""Little memory and little time: a sentence and 3, or a result; never a signal."""

import itertools
import json
import unittest

from engine import FaultCase, MODELS, cases, expand

VERBS = ("analyze", "fold", "bench", "diff")


@expand
class Limits(FaultCase):
    def told(self, words, seconds):
        """One JSON object on stdout, with or without a result; the status that goes with it."""
        done = self.run_engine(*words, "--json", timeout=seconds)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        told = json.loads(done.stdout)
        self.assertIsInstance(told, dict)
        if done.returncode == 3:
            message = told["error"]["message"]
            self.assertEqual(len(message.splitlines()), 1)
            self.assertNotRegex(message.lower(), r"bad_alloc|assert|std::|c10|pthread|temporarily|report a bug")
            if "not enough memory" in message:
                megabytes = words[words.index("--memory-limit") + 1].removesuffix("MB")
                self.assertRegex(told["error"]["hint"], rf"\b{megabytes} MB .* --memory-limit")
        return done.returncode

    def words(self, verb, model):
        out = self.out_folder / ("out" + model.suffix)
        return {"analyze": ["analyze", model], "fold": ["fold", model, "-o", out, "--prices", "fixed"],
                "bench": ["bench", model, "--rounds", "1", "--iterations", "1", "--warmup", "1"],
                "diff": ["diff", model, model]}[verb]

    def left(self, status, verb, model):
        self.nothing_left(*(["out" + model.suffix] if status == 0 and verb == "fold" else []))

    @cases(*((f"{megabytes}_MB_{verb}_{suffix}", megabytes, verb, suffix) for megabytes, verb, suffix in
             itertools.product((64, 256), VERBS, ("pt", "onnx"))))
    def memory(self, megabytes, verb, suffix):
        model = MODELS[f"deep.{suffix}"]
        status = self.told([*self.words(verb, model), "--memory-limit", f"{megabytes}MB"], 60)
        self.left(status, verb, model)

    @cases(*((f"{megabytes}_MB_{suffix}", megabytes, suffix) for megabytes, suffix in
             itertools.product(range(120, 281, 20), ("pt", "onnx"))))
    def memory_for_the_proof(self, megabytes, suffix):
        """Whatever it is enough for, nothing is refuted for want of it, and nothing proved by less."""
        model = MODELS[f"deep.{suffix}"]
        words = [*self.words("fold", model), "--memory-limit", f"{megabytes}MB"]
        status = self.told(words, 60)
        self.left(status, "fold", model)
        if status == 0:
            done = self.run_engine("diff", model, self.out_folder / f"out.{suffix}", "--fail-above", "1e-3")
            self.assertEqual(done.returncode, 0, done.stderr)

    @cases(*((f"{verb}_{name.replace('.', '_')}", verb, name) for verb, name in
             itertools.product(VERBS, ("endless.pt", "endless.onnx"))))
    def time(self, verb, name):
        model = MODELS[name]
        status = self.told([*self.words(verb, model), "--time-limit", "1", "--input", "x=float32[4,8]"], 20)
        self.assertEqual(status, 3)
        self.left(status, verb, model)

    @cases(("pt", "endless.pt"), ("one_op_pt", "long_op.pt"), ("onnx", "endless.onnx"))
    def unknown(self, name):
        """What no run has shown is unknown, and says what to give; that may be called an error."""
        words = ["analyze", MODELS[name], "--time-limit", "1", "--json"]
        analysis = json.loads(self.run_engine(*words).stdout)
        self.assertEqual((analysis["totals"]["unknown"], analysis["totals"]["blocked"]), (1, 0))
        self.assertRegex(analysis["layer_norms"][0]["reason"], "--time-limit SECONDS, or give inputs with --input")
        required = self.run_engine(*words, "--require-verdicts")
        self.assertEqual(required.returncode, 3)
        self.assertIn("the verdict of 1 of 1 LayerNorm is unknown", json.loads(required.stdout)["error"]["message"])

    def test_verdicts_that_are_known_are_enough(self):
        self.assertEqual(self.run_engine("analyze", MODELS["small.pt"], "--require-verdicts").returncode, 0)
