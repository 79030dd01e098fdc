"""Writes the model that normlens-bench measures: GPT-2 small, 124 million random parameters, tied head, about 500 MB.

    make_gpt2.py FILE.pt
"""

import pathlib
import sys
import warnings

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "resources" / "models"))
import generate  # noqa: E402


def main():
    path = pathlib.Path(sys.argv[1])
    warnings.simplefilter("ignore")
    size = generate.Size(width=768, heads=12, layers=12, tokens=50257, positions=1024)
    # As in GPT-2 the example is short: the traced graph takes any length.
    generate.save(path.parent, path.name, generate.GPT2(size), torch.arange(32).view(2, 16), seed=4)


if __name__ == "__main__":
    main()
