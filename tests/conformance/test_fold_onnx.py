"""Folds every visible ONNX sample, asks the oracle whether the result is equal, onnx whether it is a model, and ONNX
Runtime whether it loads at every level of optimisation."""

import ctypes
import json
import pathlib
import tempfile
import unittest

import numpy
import onnx
from folding import add_cases
from samples import MODELS, base, engine, ran
from sessions import LEVELS, TOLERANCE, far, outputs


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def source_hash(path):
    """XXH3-128 of the file and then its data files, in the order of their names."""
    model = onnx.load(path, load_external_data=False)
    locations = {entry.value for tensor in model.graph.initializer for entry in tensor.external_data
                 if entry.key == "location"}
    data = path.read_bytes() + b"".join((path.parent / location).read_bytes() for location in sorted(locations))
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_128bits.restype = Hash128
    found = library.XXH3_128bits(data, ctypes.c_size_t(len(data)))
    return f"{found.high:016x}{found.low:016x}"


class FoldOnnx(unittest.TestCase):
    pass


def further(test, original, folded, result):
    model = onnx.load(folded)
    # The checker knows no operators of other domains.
    if all(node.domain in ("", "ai.onnx") for node in model.graph.node):
        onnx.checker.check_model(str(folded), full_check=True)
    npz = numpy.load(original.parent / f"{base(original)}.inputs.npz")
    arrays = [npz[f"in_{i}"] for i in range(sum(name.startswith("in_") for name in npz.files))]
    expected = outputs(original, LEVELS[0], arrays)
    for level in LEVELS:
        for a, b in zip(expected, outputs(folded, level, arrays)):
            test.assertEqual(a.shape, b.shape)
            test.assertLessEqual(far(a, b), TOLERANCE, f"{folded.name} at {level}")
    kept = {entry.key: entry.value for entry in model.metadata_props}
    test.assertEqual(kept["normlens.source_xxh3"], source_hash(original))
    test.assertEqual(json.loads(kept["normlens.plan"])["model_xxh3"], kept["normlens.source_xxh3"])
    replaced = [edit for edit in json.loads(kept["normlens.plan"])["edits"] if edit["kind"] == "replace_norm"]
    test.assertEqual(len(replaced), result["folded"])


@unittest.skipUnless(MODELS.is_dir(), "the shared sample models are not here")
class Samples(unittest.TestCase):
    def test_there_are_samples(self):
        self.assertGreater(len(list((MODELS / "visible").glob("*.onnx"))), 80)

    def test_an_exported_model_tells_its_history(self):
        original = MODELS / "visible" / "mlp.leg17.onnx"
        if not original.exists():
            self.skipTest("the sample is not here")
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "a folder and ümläuts.onnx"
            self.assertEqual(engine("fold", original, "-o", out, "--no-verify")[0], 0)
            analysis = ran(self, "analyze", out)
            self.assertIn("3 of 3 LayerNorms", analysis["note"])

    def test_a_report_is_not_written_over_the_data_of_the_fold(self):
        original = MODELS / "visible" / "mlp.dyn18x.onnx"
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.assertEqual(engine("fold", original, "-o", folder / "o.onnx", "--no-verify")[0], 0)
            before = (folder / "o.onnx.data").read_bytes()
            (folder / "page.md").symlink_to("o.onnx.data")
            self.assertEqual(engine("report", original, folder / "o.onnx", "-o", folder / "page.md")[0], 2)
            self.assertEqual((folder / "o.onnx.data").read_bytes(), before)


add_cases(FoldOnnx, ".onnx", further)
