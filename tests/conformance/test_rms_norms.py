"""RMSNorms that are written out in several ops are found in the samples, under the names of their modules, and nothing else is
taken for one."""

import unittest

from samples import MODELS, base, ran

WRITTEN_OUT = {"llama.pt": 5, "llama.dyn18.onnx": 5, "t5.pt": 7, "t5.leg17.onnx": 7}


def rms_norms(test, path):
    analysis = ran(test, "analyze", path, "--inputs", path.parent / f"{base(path)}.inputs.npz")
    return [norm for norm in analysis["other_norms"] if norm["kind"] == "RMSNorm"]


@unittest.skipUnless(MODELS.is_dir(), "the shared sample models are not here")
class RmsNorms(unittest.TestCase):
    def test_names_of_modules(self):
        for folder in ("visible", "paper"):
            names = [norm["name"] for norm in rms_norms(self, MODELS / folder / "llama.pt")]
            self.assertEqual(len(set(names)), 5, names)
            for name in names:
                self.assertTrue(name.endswith("norm"), names)


def count_and_judge(test, path):
    forms = [norm["form"] for norm in rms_norms(test, path)]
    expected = WRITTEN_OUT.get(path.name, 0)
    test.assertEqual(forms.count("decomposed"), expected, forms)


for kind in ("pt", "onnx"):
    for sample in sorted((MODELS / "visible").glob(f"*.{kind}")):
        case = sample.name.replace(".", "_")
        setattr(RmsNorms, f"test_{case}", lambda self, path=sample: count_and_judge(self, path))
