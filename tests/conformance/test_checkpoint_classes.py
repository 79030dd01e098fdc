"""Checkpoints of transformers' own classes: exported, folded, loaded into the unchanged class, and with nn.RMSNorm where recipe.json
says so. Small configurations with random weights, scales, shifts and biases."""

import json
import logging
import pathlib
import sys
import tempfile
import unittest

import torch
from samples import engine
from test_checkpoints import distance, swap_norms

try:
    import transformers
except ImportError:
    transformers = None

SMALL = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 4}
WORDS = {"vocab_size": 97, "max_position_embeddings": 64}
IMAGE = {"image_size": 32, "patch_size": 8, "num_labels": 7}
# By class: its configuration, what that is made of, and whether all norms fold by weights alone.
ROWS = {
    "GPT2LMHeadModel": ("GPT2Config", {"n_layer": 2, "n_embd": 32, "n_head": 4, "vocab_size": 97, "n_positions": 64}, True),
    "OPTForCausalLM": ("OPTConfig", {**SMALL, **WORDS, "ffn_dim": 64, "word_embed_proj_dim": 32}, True),
    "BertForMaskedLM": ("BertConfig", {**SMALL, **WORDS, "intermediate_size": 64}, False),
    "ViTForImageClassification": ("ViTConfig", {**SMALL, **IMAGE, "intermediate_size": 64}, True),
    "Dinov2ForImageClassification": ("Dinov2Config", {**SMALL, **IMAGE}, True),
}


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.m = model

    def forward(self, x):
        return self.m(x).logits


@unittest.skipIf(transformers is None, "transformers is not installed")
class Classes(unittest.TestCase):
    def setUp(self):
        logging.disable(logging.WARNING)
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def make(self, name):
        config, words, _ = ROWS[name]
        model = getattr(transformers, name)(getattr(transformers, config)(**words)).eval()
        generator = torch.Generator().manual_seed(5)
        with torch.no_grad():
            for key, weight in model.named_parameters():
                one = weight.ndim == 1 and key.endswith("weight")
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.2 + (1 if one else 0))
        model.save_pretrained(self.folder / name)
        x = torch.randn(2, 3, 32, 32) if "image_size" in words else torch.randint(5, 97, (2, 11))
        return model, x

    def logits(self, name, folder, x, recipe=None):
        options = {"dtype": torch.float64, "output_loading_info": True}
        model, info = getattr(transformers, name).from_pretrained(folder, **options)
        self.assertFalse(info["missing_keys"] or info["unexpected_keys"] or info["mismatched_keys"], info)
        if recipe is not None:
            swap_norms(model, recipe, "m.")
        with torch.no_grad():
            return model.eval()(x.to(torch.float64) if x.is_floating_point() else x).logits

    def judge(self, name, x, path):
        hf, out = self.folder / name, self.folder / f"{name}-{path.suffix[1:]}"
        status, told, errors = engine("fold", path, "--policy", "free", "--weights-of", hf, "--weights-out", out)
        self.assertEqual(status, 0, errors)
        if told["folded"] == 0:
            self.assertFalse(ROWS[name][2] or out.exists())
            return
        if ROWS[name][2]:
            self.assertEqual(told["folded"], told["layer_norms"])
        before = self.logits(name, hf, x)
        self.assertLess(distance(before, self.logits(name, out, x)), 1e-5)
        recipe = json.loads((out / "recipe.json").read_text())
        self.assertLess(distance(before, self.logits(name, out, x, recipe)), 1e-5)

    def test_traced_and_exported(self):
        for name in ROWS:
            with self.subTest(name):
                model, x = self.make(name)
                torch.jit.trace(Logits(model), (x,), check_trace=False).save(str(self.folder / "model.pt"))
                self.judge(name, x, self.folder / "model.pt")
                torch.export.save(torch.export.export(Logits(model), (x,)), self.folder / "model.pt2")
                self.judge(name, x, self.folder / "model.pt2")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
