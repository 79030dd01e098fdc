"""Broken and hostile files: one plain line, exit 3, within time, nothing written, never a crash."""

import json
import pathlib
import tempfile
import unittest

from samples import MODELS, engine, ran

BROKEN = MODELS / "broken"
# What the file is called decides the format that is asked for.
SUFFIXES = (".pt", ".pth", ".pt2", ".safetensors", ".onnx")
# The manifest leaves it open whether these load: both answers are sound.
EITHER = {
    "bitflip1.pt",
    "zip_deflated.pt",
    "zip_bomb_lite.pt",
    "zip_slip.pt",
    "bitflip1.onnx",
    "torchscript_named.onnx",
    "onnx_named.pt",
    "onnx_shape_mismatch.onnx",
    "onnx_gamma_wrong_size.onnx",
    "onnx_axis_oob.onnx",
    "onnx_eps_nan.onnx",
    "onnx_ln_in_opset13.onnx",
    "onnx_deep_if.onnx",
}
# The manifest wants these opened: controls, and files whose LayerNorm is to be left alone or checked with care.
OPENED = {
    "ok_minimal.onnx": 1,
    "exported.pt2": 1,
    "ext_ok.onnx": 1,
    "onnx_unsorted.onnx": 1,
    "onnx_unknown_op.onnx": 0,
    "onnx_init_is_input.onnx": 0,
    "onnx_weight_is_input.onnx": 0,
    "onnx_nan_weight.onnx": None,
    "onnx_overflow_weight.onnx": None,
}


def reads_onnx():
    return engine("analyze", BROKEN / "ok_minimal.onnx")[0] == 0


@unittest.skipUnless(BROKEN.is_dir(), "the shared sample models are not here")
class Broken(unittest.TestCase):
    def test_refusals(self):
        manifest = json.loads((BROKEN / "manifest.json").read_text())
        onnx = reads_onnx()
        for name in manifest:
            if not name.endswith(SUFFIXES) or name in OPENED or (name.endswith(".onnx") and not onnx):
                continue
            with self.subTest(file=name), tempfile.TemporaryDirectory() as folder:
                path = BROKEN / name
                if name.startswith("directory"):
                    path = pathlib.Path(folder) / name
                    path.mkdir()
                out = pathlib.Path(folder) / ("out.onnx" if name.endswith(".onnx") else "out.pt")
                status, result, errors = engine("fold", path, "-o", out, timeout=10)
                if name in EITHER and status in (0, 1):
                    continue
                self.assertEqual(status, 3, errors)
                self.assertFalse(out.exists())
                self.assertEqual(len(errors.strip().splitlines()), 1, errors)
                self.assertIn(name, errors)
                self.assertTrue(result["error"]["message"])
        self.assertFalse(pathlib.Path("/tmp/PWNED_by_pickle").exists())

    def test_opened(self):
        if not reads_onnx():
            self.skipTest("this engine reads no ONNX")
        for name, foldable in OPENED.items():
            with self.subTest(file=name):
                result = ran(self, "analyze", BROKEN / name)
                totals = result["totals"]
                self.assertEqual(totals["layer_norms"], 1)
                if foldable is not None:
                    self.assertEqual(totals["free"] + totals["with_centering"], foldable, result)

    def test_not_finite(self):
        """A weight of NaN proves nothing; a weight near the largest float stays finite."""
        if not reads_onnx():
            self.skipTest("this engine reads no ONNX")
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "out.onnx"
            status, result, errors = engine("fold", BROKEN / "onnx_nan_weight.onnx", "-o", out)
            proved = status == 0 and result["folded"] > 0 and (result["verify"] or {}).get("exact") is True
            self.assertFalse(proved, errors)
            status, result, errors = engine("fold", BROKEN / "onnx_overflow_weight.onnx", "-o", out)
            self.assertIn(status, (0, 1), errors)
