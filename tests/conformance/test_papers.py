"""The papers' foldability table (paper 001, table 3), on their architectures at published depth and in every format."""

import importlib.util
import json
import logging
import pathlib
import tempfile
import unittest
import warnings

from samples import MODELS, ran

TRUTH = MODELS / "paper" / "truth.json"

WIDTHS = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48}
WORDS = {"vocab_size": 60, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
PLACES = {"max_position_embeddings": 24}
SHALLOW = {**WIDTHS, **WORDS, **PLACES, "num_hidden_layers": 2, "num_key_value_heads": 4}
# By model: the prefix of its classes in transformers, and their sizes.
MADE = {
    "gpt2": ("GPT2", {**WORDS, "n_layer": 12, "n_embd": 32, "n_head": 4, "n_positions": 24}),
    "bert": ("Bert", {**WIDTHS, **WORDS, **PLACES, "num_hidden_layers": 12}),
    "vit": ("ViT", {**WIDTHS, "num_hidden_layers": 12, "image_size": 16, "patch_size": 4}),
    "phi": ("Phi", {**WIDTHS, **WORDS, **PLACES, "num_hidden_layers": 24}),
    "opt": ("OPT", {**WIDTHS, **WORDS, **PLACES, "num_hidden_layers": 12, "ffn_dim": 48, "word_embed_proj_dim": 32}),
    "bloom": ("Bloom", {**WORDS, "n_layer": 2, "n_head": 4, "hidden_size": 32}),
    "phi3": ("Phi3", SHALLOW),
    "qwen2": ("Qwen2", SHALLOW),
    "llama": ("Llama", SHALLOW),
}


@unittest.skipUnless(TRUTH.is_file(), "the shared sample models are not here")
class Papers(unittest.TestCase):
    def check(self, name, *words):
        result = ran(self, "analyze", *words)
        for key, count in json.loads(TRUTH.read_text())[name].items():
            self.assertEqual(result["totals"][key], count, key)

    def test_counts(self):
        for name in json.loads(TRUTH.read_text()):
            with self.subTest(model=name):
                folder = MODELS / "paper"
                self.check(name, folder / f"{name}.pt", "--inputs", folder / f"{name}.inputs.npz")

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "transformers is not installed")
    def test_counts_in_other_formats(self):
        logging.disable(logging.WARNING)
        warnings.simplefilter("ignore")
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in json.loads(TRUTH.read_text()):
            model, inputs = made(name)
            for write in (write_pt2, write_onnx):
                with self.subTest(model=name, format=write.__name__):
                    self.check(name, write(model, inputs, folder / name))


def made(name):
    """A model of transformers with random weights, norms as they start, that gives one tensor; and its inputs."""
    import torch
    import transformers

    prefix, sizes = MADE[name]
    torch.manual_seed(0)
    model = getattr(transformers, f"{prefix}Model")(getattr(transformers, f"{prefix}Config")(**sizes)).eval()
    model.config.use_cache = False
    ids, mask = torch.randint(3, 60, (2, 16)), torch.ones(2, 16, dtype=torch.int64)
    inputs = (torch.randn(2, 3, 16, 16),) if "image_size" in sizes else (ids, mask)

    class First(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.m = model

        def forward(self, x, mask=None):
            return self.m(x)[0] if mask is None else self.m(x, attention_mask=mask)[0]

    return First(), inputs


def write_pt2(model, inputs, path):
    import torch

    torch.export.save(torch.export.export(model, inputs), path.with_suffix(".pt2"))
    return path.with_suffix(".pt2")


def write_onnx(model, inputs, path):
    """By the exporter of today where what it needs is installed, else by the one before it."""
    import torch

    dynamo = importlib.util.find_spec("onnxscript") is not None
    torch.onnx.export(model, inputs, path.with_suffix(".onnx"), dynamo=dynamo, verbose=False)
    return path.with_suffix(".onnx")
