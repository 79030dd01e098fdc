"""Fuses the adds and norms of the TorchScript samples: norms that are written out become one op, plain torch runs the result
and gets the outputs of the original, it opens with the verdicts of the original, under the same names, and folds as far as
the original does."""

import pathlib
import tempfile
import unittest

from folding import oracle
from samples import MODELS, analyzed, base, engine, load_operators, ran, verdicts, written_out

# How many norms of a sample are fused at least. Adds before their norms and behind them, in the module of the norm, beside
# it, in the block before it and in a submodule of that, in several streams; the samples that are not listed have none.
LEAST = {
    "already_centred": 1, "bart": 11, "beit": 2, "bert": 4, "bert_fresh": 4, "bloom": 6, "clip_text": 4, "distilbert": 4,
    "electra": 4, "falcon": 2, "gpt2": 6, "gpt2_hidden_states": 4, "gpt_neox": 2, "half_bf16": 2, "hubert": 5, "mha": 1,
    "mpt": 4, "opt": 7, "opt_proj": 5, "phi": 3, "preln_cls": 4, "residual_from_input": 4, "script_dict": 3,
    "script_dict.script": 3, "swin": 7, "tied_lm": 4, "timm_deit3": 4, "timm_mixer": 4, "timm_pvt2": 8, "timm_vit": 4,
    "torch_encoder_pre": 4, "vit": 4, "vmamba": 27, "whisper": 11,
}  # fmt: skip
# The same of norms that are written out and do not fold.
LEAST_RMS_NORMS = {"llama": 4, "t5": 5}


def judge_in_torch(test, original, fused):
    import torch

    judged = oracle(original, fused)
    test.assertTrue(judged["exact"], judged)
    test.assertTrue(judged["interface"]["same"] and not judged["errors"], judged)
    keys = [list(torch.jit.load(str(path)).state_dict()) for path in (original, fused)]
    test.assertEqual(keys[0], keys[1])


def judge_in_engine(test, original, fused, inputs):
    test.assertEqual(verdicts(test, original, inputs), verdicts(test, fused, inputs))
    folded = fused.with_name("folded.pt")
    before = engine("fold", original, "-o", folded, "--inputs", inputs, "--no-verify")[1]
    after = ran(test, "fold", fused, "-o", folded, "--inputs", inputs, "--norm", "fast")
    for count in ("folded", "centerings"):
        test.assertEqual(before[count], after[count])
    if after["folded"] > 0:
        test.assertIs(after["verify"]["exact"], True, after["verify"])
        left = verdicts(test, folded, inputs)
        # An RMSNorm behind a centering of the model's own is a LayerNorm, in the folded file as well.
        judged = analyzed(original, inputs)[1]["layer_norms"]
        again = sum(norm["verdict"] == "free" and not norm["edits"] for norm in judged)
        kept = after["layer_norms"] - after["folded"]
        test.assertIn(len(left), range(kept, kept + again + 1))


def fuse_and_judge(test, path):
    inputs = path.parent / f"{base(path)}.inputs.npz"
    with tempfile.TemporaryDirectory() as folder:
        fused = pathlib.Path(folder) / "fused.pt"
        result = ran(test, "fuse", path, "-o", fused, "--inputs", inputs)
        test.assertGreaterEqual(result["fused"], (LEAST | LEAST_RMS_NORMS).get(path.stem, 0))
        test.assertEqual(result["joined"], written_out(path, inputs))
        if result["fused"] + result["joined"] == 0:
            test.assertFalse(fused.exists())
            return
        test.assertIs(result["verify"]["exact"], True, result["verify"])
        test.assertEqual(written_out(fused, inputs), 0)
        judge_in_torch(test, path, fused)
        judge_in_engine(test, path, fused, inputs)


def fold_and_judge(test, path):
    """Folding takes the same adds into the norms' op."""
    inputs = path.parent / f"{base(path)}.inputs.npz"
    with tempfile.TemporaryDirectory() as folder:
        folded = pathlib.Path(folder) / "folded.pt"
        status, result, errors = engine(
            "fold", path, "-o", folded, "--inputs", inputs, "--policy", "all", "--norm", "fast"
        )
        test.assertEqual(status, 0, f"{errors} {result}")
        test.assertIs(result["verify"]["exact"], True, result["verify"])
        judged = oracle(path, folded)
        test.assertTrue(judged["exact"] and judged["interface"]["same"] and not judged["errors"], judged)


@unittest.skipUnless(MODELS.is_dir(), "the shared sample models are not here")
class Fuse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        load_operators()


def add_cases():
    for path in sorted((MODELS / "visible").glob("*.pt")):
        if ".f64." in path.name:
            continue
        name = path.stem.replace(".", "_")
        setattr(Fuse, f"test_{name}", lambda self, path=path: fuse_and_judge(self, path))
        if path.stem in LEAST:
            setattr(Fuse, f"test_{name}_folded", lambda self, path=path: fold_and_judge(self, path))


add_cases()
