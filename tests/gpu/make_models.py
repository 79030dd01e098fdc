"""Writes the models that tests/gpu/run.sh measures, of the sizes that are published, with random numbers.

Call: make_models.py FOLDER [--small] NAME... writes FOLDER/NAME.pt, as TorchScript. Each file appears whole, in the order
of the names. A model of transformers or timm is written by that library if it is there, else the demo generators write
one of the same size. A model that cannot be made is reported and does not stop the others. --small writes the same
layouts in a size that a CPU runs in milliseconds.
"""

import pathlib
import sys
import time
import traceback
import warnings

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "resources" / "models"))
import generate  # noqa: E402

IDS = torch.arange(32).view(2, 16) + 3
IMAGES = torch.zeros(2, 3, 224, 224)


class FirstOutput(torch.nn.Module):
    """A model of transformers as a function of its ids alone."""

    def __init__(self, model, **words):
        super().__init__()
        self.model, self.words = model, words

    def forward(self, ids):
        return self.model(ids, return_dict=False, **self.words)[0]


def demo(layout, tokens, positions, width=768, heads=12, layers=12):
    return layout(generate.Size(width=width, heads=heads, layers=layers, tokens=tokens, positions=positions))


def demo_vit():
    return generate.ViT(generate.Size(width=768, heads=12, layers=12), image=224, patch=16, classes=1000)


def opt_of_transformers():
    import transformers

    return FirstOutput(transformers.OPTForCausalLM(transformers.OPTConfig(attn_implementation="sdpa")), use_cache=False)


def bert_of_transformers():
    import transformers

    return FirstOutput(transformers.BertModel(transformers.BertConfig(attn_implementation="sdpa")))


def vit_of_timm():
    import timm

    return timm.create_model("vit_base_patch16_224", pretrained=False)


# Name -> an input, and the functions that can make the model, of which the first one that succeeds is used. GPT-2 has
# positions for the longest input of the papers.
MODELS = {
    "gpt2": (IDS, [lambda: demo(generate.GPT2, 50257, 16384)]),
    "opt-125m": (IDS, [opt_of_transformers, lambda: demo(generate.GPT2, 50272, 2048)]),
    "bert": (IDS, [bert_of_transformers, lambda: demo(generate.BERT, 30522, 512)]),
    "vit": (IMAGES, [vit_of_timm, demo_vit]),
    "gpt2-medium": (IDS, [lambda: demo(generate.GPT2, 50257, 16384, width=1024, heads=16, layers=24)]),
}
SMALL = {
    "gpt2": (IDS, [lambda: generate.GPT2(generate.Size())]),
    "opt-125m": (IDS, [lambda: generate.GPT2(generate.Size(layers=2))]),
    "bert": (IDS, [lambda: generate.BERT(generate.Size())]),
    "vit": (torch.zeros(2, 3, 32, 32), [lambda: generate.ViT(generate.Size())]),
    "gpt2-medium": (IDS, [lambda: generate.GPT2(generate.Size(layers=6))]),
}


@torch.no_grad()
def randomize(model):
    """Norms and biases get numbers that a fold cannot leave out; the other weights are as a fresh network has them."""
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.weight.normal_(1.0, 0.3)
            module.bias.normal_(0.0, 0.3)
        elif isinstance(getattr(module, "bias", None), torch.Tensor):
            module.bias.normal_(0.0, 0.1)
    return model.eval()


def save(path, model, example):
    torch._C._jit_clear_class_registry()  # class names of one model do not depend on the models before it
    with torch.no_grad():
        traced = torch.jit.trace(randomize(model), example, check_trace=False)
    part = path.with_suffix(".part")
    torch.jit.save(traced, str(part))
    part.rename(path)


def make(path, seed, example, makers):
    for place, maker in enumerate(makers):
        try:
            torch.manual_seed(seed)
            began = time.monotonic()
            save(path, maker(), example)
            seconds = time.monotonic() - began
            print(f"{path.name}: {path.stat().st_size / 1e6:.0f} MB, {seconds:.1f} s, way {place + 1}", flush=True)
            return
        except Exception:  # whatever another library raises
            print(f"{path.name}: way {place + 1} of {len(makers)} failed", flush=True)
            traceback.print_exc(limit=3)


def main(folder, *words):
    warnings.simplefilter("ignore")
    models = SMALL if "--small" in words else MODELS
    for name in words:
        if name in models:
            make(pathlib.Path(folder) / f"{name}.pt", list(MODELS).index(name) + 1, *models[name])


if __name__ == "__main__":
    main(*sys.argv[1:])
