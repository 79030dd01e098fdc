"""Writes the models that tests/gpu/run.sh measures in the engine, of the sizes that are published, with random numbers.

Call: make_models.py FOLDER. What is there is left alone.
"""

import pathlib
import sys
import warnings

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "resources" / "models"))
import generate  # noqa: E402


def small(tokens, positions):
    return generate.Size(width=768, heads=12, layers=12, tokens=tokens, positions=positions)


def main(folder):
    warnings.simplefilter("ignore")
    ids = torch.arange(32).view(2, 16)
    models = {
        "gpt2.pt": (lambda: generate.GPT2(small(50257, 1024)), ids),
        "bert.pt": (lambda: generate.BERT(small(30522, 512)), ids),
        "vit.pt": (lambda: generate.ViT(small(0, 0), image=224, patch=16, classes=1000), torch.zeros(2, 3, 224, 224)),
    }
    for seed, (name, (make, example)) in enumerate(models.items(), start=1):
        if not (folder / name).exists():
            generate.save(folder, f"{name}.part", make(), example, seed)
            (folder / f"{name}.part").rename(folder / name)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
