"""Fuses the adds and norms of TorchScript samples of different make: norms that are written out become one op, the result opens
with the verdicts of the original, under the same names, and folds as far as the original does."""

import pathlib
import sys
import tempfile
import unittest

from samples import MODELS, base, engine, verdicts, written_out

# Adds before their norms, behind them, in modules of their own, in several streams; with nothing to fuse.
NAMES = ["bart", "bert", "gpt2", "hubert", "mlp", "mpt", "residual_from_input", "swin", "torch_encoder_pre", "vit"]
# With norms that are written out.
NAMES += ["functional_ln", "llama", "t5"]


def fuse_and_judge(test, path):
    inputs = path.parent / f"{base(path)}.inputs.npz"
    with tempfile.TemporaryDirectory() as folder:
        fused, folded = pathlib.Path(folder) / "fused.pt", pathlib.Path(folder) / "folded.pt"
        status, result, errors = engine("fuse", path, "-o", fused, "--inputs", inputs)
        test.assertEqual(status, 0, f"{errors} {result}")
        test.assertEqual(result["joined"], written_out(path, inputs))
        if result["fused"] + result["joined"] == 0:
            test.assertFalse(fused.exists())
            return
        test.assertIs(result["verify"]["exact"], True, result["verify"])
        test.assertEqual(written_out(fused, inputs), 0)
        test.assertEqual(verdicts(test, path, inputs), verdicts(test, fused, inputs))
        before = engine("fold", path, "-o", folded, "--inputs", inputs, "--no-verify")[1]
        status, after, errors = engine("fold", fused, "-o", folded, "--inputs", inputs, "--norm", "fast")
        test.assertEqual(status, 0, f"{errors} {after}")
        for count in ("folded", "centerings"):
            test.assertEqual(before[count], after[count])
        if after["folded"] > 0:
            test.assertIs(after["verify"]["exact"], True, after["verify"])
            left = verdicts(test, folded, inputs)
            test.assertEqual(len(left), after["layer_norms"] - after["folded"])


@unittest.skipUnless(MODELS.is_dir(), "the shared sample models are not here")
class Fuse(unittest.TestCase):
    pass


for sample in NAMES:
    setattr(Fuse, f"test_{sample}", lambda self, name=sample: fuse_and_judge(self, MODELS / "visible" / f"{name}.pt"))

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
