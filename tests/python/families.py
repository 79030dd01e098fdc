"""Small models of transformers and timm with random weights, each as (module, example inputs): architectures of the atlas, two
layers deep and with the heads that people train."""

import torch

import package  # noqa: F401  finds normlens
from normlens.atlas.models import build
from normlens.atlas.table import ROWS

IDS = torch.randint(3, 90, (2, 7), generator=torch.Generator().manual_seed(1))
IMAGE = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(2))
MASK = torch.ones_like(IDS)
MASK[0, 5:] = 0
TEXT, SHALLOW = {"input_ids": IDS}, {"num_hidden_layers": 2}
ATLAS = {row.name: row for row in ROWS}


def _family(name, row, inputs, made="", **options):
    def make():
        return build(ATLAS[row], made, **options), inputs

    make.__name__ = name
    return make


gpt2 = _family("gpt2", "GPT-2", TEXT, **SHALLOW)
FAMILIES = {
    "transformers": [
        gpt2,
        _family("bert", "BERT", {**TEXT, "attention_mask": MASK}, "BertForMaskedLM", **SHALLOW),
        _family("opt", "OPT", TEXT, **SHALLOW),
        _family("llama", "LLaMA", TEXT),
        _family("neox", "GPT-NeoX", TEXT),
        _family("vit", "ViT", {"pixel_values": IMAGE}, "ViTForImageClassification", num_labels=5, **SHALLOW),
        _family("clip", "CLIP text", TEXT),
    ],
    "timm": [
        _family("timm_vit", "timm ViT", IMAGE),
        _family("timm_swin", "timm Swin", IMAGE, drop_path_rate=0.0),
        _family("timm_convnext", "timm ConvNeXt", IMAGE),
    ],
}
