"""Writes the models whose whole latency is measured before and after folding, as TorchScript and as ONNX.

    make_end_to_end.py FOLDER [NAME...]       gpt2_small bert_base bert_base_init vit_base norm_heavy

Random weights, γ and β included; bert_base_init has γ = 1 and β = 0, what training starts from and what published counts
of foldable LayerNorms assume. norm_heavy is narrow and deep: much of its time is spent in norms.
"""

import pathlib
import sys
import warnings

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "resources" / "models"))
import generate  # noqa: E402

BASE = generate.Size(width=768, heads=12, layers=12, tokens=30522, positions=512)
TOKENS = 128
OPSET = 17


def ids(size):
    return torch.randint(0, size.tokens, (1, TOKENS))


def gpt2_small():
    size = generate.Size(width=768, heads=12, layers=12, tokens=50257, positions=1024)
    return generate.GPT2(size), ids(size)


def bert_base():
    return generate.BERT(BASE), ids(BASE)


def vit_base():
    return generate.ViT(BASE, image=224, patch=16, classes=1000), torch.randn(1, 3, 224, 224)


def norm_heavy():
    size = generate.Size(width=128, heads=2, layers=24, tokens=1000, positions=512)
    return generate.GPT2(size), ids(size)


MODELS = {"gpt2_small": gpt2_small, "bert_base": bert_base, "bert_base_init": bert_base, "vit_base": vit_base,
          "norm_heavy": norm_heavy}


@torch.no_grad()
def as_training_starts(model):
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.weight.fill_(1)
            module.bias.fill_(0)


def write(folder, name):
    torch.manual_seed(1)
    model, example = MODELS[name]()
    generate.randomize(model)
    if name.endswith("_init"):
        as_training_starts(model)
    torch.jit.save(torch.jit.trace(model, example, check_trace=False), folder / f"{name}.pt")
    torch.onnx.export(model, (example,), folder / f"{name}.onnx", opset_version=OPSET, dynamo=False,
                      input_names=["in_0"], do_constant_folding=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for name in sys.argv[2:] or MODELS:
        write(folder, name)
        print(f"{name}: {(folder / name).with_suffix('.pt').stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
