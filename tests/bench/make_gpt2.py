"""Writes a model that is measured: GPT-2 small, 124 million random parameters, tied head, about 500 MB; or one that has so many
blocks and is 16 wide, or as wide as the second number says (a multiple of 64).

    make_gpt2.py [BLOCKS [WIDTH]] FILE.pt
"""

import pathlib
import sys
import warnings

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "resources" / "models"))
import generate  # noqa: E402


def main():
    *sizes, path = sys.argv[1:]
    path = pathlib.Path(path)
    warnings.simplefilter("ignore")
    size = generate.Size(width=768, heads=12, layers=12, tokens=50257, positions=1024)
    if sizes:
        width = int(sizes[1]) if len(sizes) > 1 else 16
        size = generate.Size(width=width, heads=max(2, width // 64), layers=int(sizes[0]))
    # As in GPT-2 the example is short: the traced graph takes any length.
    generate.save(path.parent, path.name, generate.GPT2(size), torch.arange(32).view(2, 16), seed=4)


if __name__ == "__main__":
    main()
