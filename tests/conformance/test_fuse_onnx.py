"""Fuses the adds and norms of every visible ONNX sample, of which those that are written out become one operator: the result is a model, loads at every level of ONNX Runtime's
optimisation, gives the outputs of the original and opens with its verdicts. The same of folds with ONNX Runtime's norms.
"""

import pathlib
import tempfile
import unittest

import numpy
import onnx
from samples import MODELS, base, engine, ran, verdicts, written_out
from sessions import LEVELS, TOLERANCE, far, outputs


def ops(path):
    model = onnx.load(path, load_external_data=False)
    return [node.op_type for node in model.graph.node]


def fused_ops(path):
    return sum(op in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization") for op in ops(path))


def check_model(path):
    """With full shape inference; the checker knows no operators of other domains and says nothing about them. It does not know
    the one that ONNX Runtime has in the standard domain either."""
    if "SimplifiedLayerNormalization" not in ops(path):
        onnx.checker.check_model(str(path), full_check=True)


def check_outputs(test, original, changed, suffix, levels):
    npz = original.parent / f"{base(original)}.{suffix}.npz"
    if not npz.exists():
        return
    given = numpy.load(npz)
    arrays = [given[f"in_{i}"] for i in range(sum(name.startswith("in_") for name in given.files))]
    try:
        expected = outputs(original, LEVELS[0], arrays)
    except Exception:  # exported with fixed sizes
        return
    for level in levels:
        for a, b in zip(expected, outputs(changed, level, arrays)):
            test.assertEqual(a.shape, b.shape)
            test.assertLessEqual(far(a, b), TOLERANCE, f"{changed.name} at {level}")


def fuse_and_judge(test, path):
    inputs = path.parent / f"{base(path)}.inputs.npz"
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "fused.onnx"
        result = ran(test, "fuse", path, "-o", out, "--inputs", inputs)
        test.assertEqual(result["joined"], written_out(path, inputs))
        if result["fused"] + result["joined"] == 0:
            test.assertFalse(out.exists())
            return
        test.assertEqual(written_out(out, inputs), 0)
        test.assertIs(result["verify"]["exact"], True, result["verify"])
        test.assertEqual(fused_ops(out) - fused_ops(path), result["fused"])
        check_model(out)
        check_outputs(test, path, out, "inputs", LEVELS)
        check_outputs(test, path, out, "alt", LEVELS[:1])
        test.assertEqual(verdicts(test, path, inputs), verdicts(test, out, inputs))
        status, again, _ = engine("fuse", out, "-o", pathlib.Path(folder) / "again.onnx", "--inputs", inputs)
        test.assertEqual((status, again["joined"], again["fused"]), (0, 0, 0))
        fold_and_judge(test, path, inputs, pathlib.Path(folder) / "folded.onnx")


def fold_and_judge(test, path, inputs, out):
    result = ran(test, "fold", path, "-o", out, "--inputs", inputs, "--norm", "ort", "--policy", "all")
    if result["folded"] == 0:
        test.assertEqual(verdicts(test, path, inputs), {})
        return
    test.assertIs(result["verify"]["exact"], True, result["verify"])
    check_outputs(test, path, out, "inputs", LEVELS)


class FuseOnnx(unittest.TestCase):
    pass


@unittest.skipUnless(MODELS.is_dir(), "the shared sample models are not here")
class Samples(unittest.TestCase):
    def test_the_norms_of_a_transformer_are_fused(self):
        original = MODELS / "visible" / "gpt2.dyn18.onnx"
        if not original.exists():
            self.skipTest("the sample is not here")
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "fused.onnx"
            self.assertEqual(engine("fuse", original, "-o", out)[1]["fused"], 6)
            self.assertEqual(engine("fold", original, "-o", out, "--norm", "ort")[1]["folded"], 7)
            self.assertEqual(ops(out).count("SkipSimplifiedLayerNormalization"), 6)

    def test_norms_that_are_written_out_take_as_many_adds_in_as_others(self):
        counts = {"bert": 4, "bloom": 6, "gpt2": 6, "opt": 1, "phi": 3, "vit": 4}
        for name, count in counts.items():
            with tempfile.TemporaryDirectory() as folder:
                for dialect in ("leg14", "leg17"):
                    original = MODELS / "visible" / f"{name}.{dialect}.onnx"
                    out = pathlib.Path(folder) / f"{dialect}.onnx"
                    if original.exists():
                        self.assertEqual(engine("fuse", original, "-o", out, "--no-verify")[1]["fused"], count, original)


for sample in sorted((MODELS / "visible").glob("*.onnx")):
    case = sample.name.replace(".", "_")
    setattr(FuseOnnx, f"test_{case}", lambda self, path=sample: fuse_and_judge(self, path))
