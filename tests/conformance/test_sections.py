"""Proofs section by section come to what proofs of the whole do on the visible ONNX samples, and write the same file."""

import pathlib
import tempfile
import unittest

from samples import MODELS, base, engine

EACH = 4  # of the samples: a proof of each of them takes a minute


@unittest.skipUnless(MODELS.is_dir(), "the shared sample models are not here")
class Sections(unittest.TestCase):
    def fold(self, sample, folder, proof):
        inputs = sample.parent / f"{base(sample)}.inputs.npz"
        out = pathlib.Path(folder) / f"{proof}.onnx"
        status, told, errors = engine("fold", sample, "-o", out, "--inputs", inputs, "--policy", "all", "--proof", proof)
        self.assertEqual(status, 0, f"{sample.name}: {errors}")
        return told, out

    def test_samples(self):
        proved = 0
        for sample in sorted((MODELS / "visible").glob("*.onnx"))[::EACH]:
            with self.subTest(sample.name), tempfile.TemporaryDirectory() as folder:
                whole, out_of_whole = self.fold(sample, folder, "whole")
                if not out_of_whole.exists():
                    continue
                told, out = self.fold(sample, folder, "sections")
                self.assertEqual(told["verify"]["exact"], whole["verify"]["exact"])
                self.assertEqual(told["folded"], whole["folded"])
                self.assertGreaterEqual(told["verify"]["sections"], 1)
                self.assertLess(told["verify"]["algebra"]["max_rel"], 1e-10)
                self.assertEqual(out.read_bytes(), out_of_whole.read_bytes())
                proved += 1
        self.assertGreater(proved, 15)

    def test_a_torchscript_file_has_no_sections(self):
        with tempfile.TemporaryDirectory() as folder:
            sample = MODELS / "visible" / "mlp.pt"
            status, told, errors = engine("fold", sample, "-o", pathlib.Path(folder) / "out.pt", "--proof", "sections")
            self.assertEqual(status, 1, errors)
            self.assertIn("cannot be run in sections", errors)
