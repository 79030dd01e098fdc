"""Takes a channel out of the residual streams of the samples, in every format, and judges what was written independently: plain
torch or ONNX Runtime runs it, and the oracle compares. What is refused has a reason and leaves nothing behind."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import onnx
import onnxruntime

from folding import oracle
from samples import MODELS, base, engine, load_operators

# By sample, how many streams are narrowed at least, in each of its files.
NARROW = {
    "beit": 1, "bloom": 1, "clip_text": 1, "falcon": 1, "gpt2": 1, "gpt_neox": 1, "half_bf16": 1, "mha": 1, "mpt": 1, "opt": 1,
    "opt_proj": 1, "phi": 1, "preln_cls": 1, "residual_from_input": 1, "script_dict": 1, "swin": 1, "tied_lm": 1,
    "timm_deit3": 1, "timm_mixer": 1, "timm_pvt2": 4, "timm_vit": 1, "torch_encoder_pre": 1, "vit": 1, "vmamba": 1, "whisper": 2,
}  # fmt: skip
# Post-norm: a reason, and nothing written.
REFUSED = ("bart", "bert", "bert_fresh", "distilbert", "electra", "hubert")


def judge(test, path, folder, *options):
    inputs = path.parent / f"{base(path)}.inputs.npz"
    out = pathlib.Path(folder) / f"out{path.suffix}"
    status, result, errors = engine("crms", path, "-o", out, "--inputs", inputs, "--policy", "all", *options)
    if status == 1:
        test.assertTrue(result["reason"], errors)
        test.assertIsNone(result["output"])
        test.assertFalse(out.exists())
        return 0
    test.assertEqual(status, 0, f"{errors} {result}")
    test.assertIs(result["verify"]["exact"], True, result["verify"])
    if "max_rel" in result["verify"]["algebra"]:
        test.assertLess(result["verify"]["algebra"]["max_rel"], 1e-12)
    judged = oracle(path, out)
    test.assertTrue(judged["exact"], judged)
    test.assertTrue(judged["interface"]["same"] and not judged["errors"], judged)
    for stream in result["streams"]:
        if stream["refused"] is None:
            test.assertGreaterEqual(stream["width"], stream["channels"] - 1)
            test.assertGreaterEqual(len(stream["norms"]), 2)
    return sum(stream["refused"] is None for stream in result["streams"])


def narrow_and_judge(test, path):
    with tempfile.TemporaryDirectory() as folder:
        narrowed = judge(test, path, folder)
        if base(path) in REFUSED:
            test.assertEqual(narrowed, 0)
        test.assertGreaterEqual(narrowed, NARROW.get(base(path), 0))


@unittest.skipUnless(MODELS.is_dir(), "the shared sample models are not here")
class Crms(unittest.TestCase):
    def test_padded(self):
        for name in ("gpt2.pt", "opt.dyn18.onnx", "vit.leg17.onnx"):
            for pad in ("even", "64"):
                with self.subTest(name=name, pad=pad), tempfile.TemporaryDirectory() as folder:
                    path = MODELS / "visible" / name
                    self.assertEqual(judge(self, path, folder, "--pad", pad), 1)

    def test_every_runtime_runs_what_is_written(self):
        """torch in a process that has no operators of ours; ONNX files without an operator set beside the standard one."""
        run = "import sys, torch, numpy; given = numpy.load(sys.argv[2]); " \
              "torch.jit.load(sys.argv[1])(*(torch.from_numpy(given[name]) for name in sorted(given) if name[:3] == 'in_'))"
        for name in ("gpt2.pt", "vit.leg17.onnx"):
            with self.subTest(name=name), tempfile.TemporaryDirectory() as folder:
                path, out = MODELS / "visible" / name, pathlib.Path(folder) / f"out{pathlib.Path(name).suffix}"
                inputs = path.parent / f"{base(path)}.inputs.npz"
                self.assertEqual(engine("crms", path, "-o", out, "--inputs", inputs, "--no-verify")[0], 0)
                if path.suffix == ".onnx":
                    imports = onnx.load(out).opset_import
                    self.assertEqual([entry.domain for entry in imports], [""])
                    onnxruntime.InferenceSession(out)
                else:
                    subprocess.run([sys.executable, "-c", run, out, inputs], check=True, timeout=300)

    def test_fast(self):
        load_operators()
        for name in ("gpt2.pt", "opt.pt", "vit.pt"):
            with self.subTest(name=name), tempfile.TemporaryDirectory() as folder:
                self.assertEqual(judge(self, MODELS / "visible" / name, folder, "--norm", "fast"), 1)


def add_cases():
    for path in sorted((MODELS / "visible").glob("*")):
        if path.suffix in (".pt", ".onnx"):
            name = path.name.replace(".", "_")
            setattr(Crms, f"test_{name}", lambda self, path=path: narrow_and_judge(self, path))


add_cases()
