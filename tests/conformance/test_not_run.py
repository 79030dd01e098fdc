"""What was not seen running, or gave no number, is no success."""

import pathlib
import tempfile
import unittest

import torch

from samples import engine, ran


class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 8)
        self.ln = torch.nn.LayerNorm(8)


class NeverRuns(Norm):
    def forward(self, ids: torch.Tensor, table: torch.Tensor):
        assert ids.dim() == 99, "no input is good enough"
        return self.ln(self.fc(table))


class NotANumber(Norm):
    def forward(self, x):
        return self.ln(self.fc(x)) * float("nan"), x


class Runs(Norm):
    def forward(self, x):
        return self.ln(self.fc(x))


class WritesAFile(Norm):
    def __init__(self, path: str):
        super().__init__()
        self.path = path

    def forward(self, x):
        return self.ln(self.fc(x)) + torch.from_file(self.path, True, 8)


class NotRun(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def at(self, name):
        return self.folder / name

    def test_a_model_that_does_not_run_is_shown_and_not_folded(self):
        torch.jit.script(NeverRuns()).save(self.at("never.pt"))
        status, result, errors = engine("analyze", self.at("never.pt"))
        self.assertEqual(status, 0, errors)
        self.assertIn("--input 'NAME=", errors)
        self.assertIn("no input is good enough", result["probe_error"])
        result = ran(self, "fold", self.at("never.pt"), "-o", self.at("folded.pt"), expected=3)
        self.assertIn("could not be run", result["error"]["message"])
        self.assertIn("ids=float32[", result["error"]["message"], "what was tried, as --input takes it")
        self.assertIn("--input 'NAME=", result["error"]["hint"])
        self.assertFalse(self.at("folded.pt").exists())

    def test_the_note_of_an_input_names_the_batch_that_was_run(self):
        torch.jit.trace(Runs().eval(), torch.randn(1, 5, 8)).save(self.at("one.pt"))
        drawn, = ran(self, "analyze", self.at("one.pt"))["inputs"]
        batch = drawn["shape"][0]
        self.assertGreater(batch, 1)
        self.assertIn("shape [1, 5, 8] from the traced example", drawn["assumed"])
        self.assertIn(f"; the batch is {batch} instead of the traced 1", drawn["assumed"])

    def test_a_model_that_would_write_a_file_is_shown_and_never_run(self):
        torch.jit.script(WritesAFile(str(self.at("written")))).save(self.at("writes.pt"))
        status, result, errors = engine("analyze", self.at("writes.pt"))
        self.assertEqual(status, 0, errors)
        why = "the model calls aten::from_file, which can write files (forward), so it is never run"
        self.assertEqual(result["probe_error"], why)
        self.assertEqual(len(result["layer_norms"]), 1)
        self.assertNotIn("--input", errors, "no input would help")
        for words in (["fold", self.at("writes.pt"), "-o", self.at("out.pt")], ["bench", self.at("writes.pt")],
                      ["fuse", self.at("writes.pt"), "-o", self.at("out.pt")],
                      ["diff", self.at("writes.pt"), self.at("writes.pt")]):
            with self.subTest(words=words):
                result = ran(self, *words, expected=3)
                self.assertEqual(result["error"]["code"], "unsupported")
                self.assertIn(why, result["error"]["message"])
        self.assertFalse(self.at("written").exists())

    def test_a_gate_does_not_pass_on_what_is_no_number(self):
        torch.jit.trace(NotANumber(), torch.randn(2, 8)).save(self.at("nan.pt"))
        words = ["diff", self.at("nan.pt"), self.at("nan.pt")]
        self.assertEqual(engine(*words)[0], 0)
        status, result, errors = engine(*words, "--fail-above", 1)
        self.assertEqual(status, 1)
        self.assertIn("not finite anywhere", errors)
        self.assertTrue(result["outputs"][0]["vacuous"])
