"""Writes a model that is measured: GPT-2 small, 124 million random parameters, tied head, about 500 MB; or one that is 16 wide
and has so many blocks.

    make_gpt2.py [BLOCKS] FILE.pt
"""

import pathlib
import sys
import warnings

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "resources" / "models"))
import generate  # noqa: E402


def main():
    *blocks, path = sys.argv[1:]
    path = pathlib.Path(path)
    warnings.simplefilter("ignore")
    size = generate.Size(width=768, heads=12, layers=12, tokens=50257, positions=1024)
    if blocks:
        size = generate.Size(width=16, heads=2, layers=int(blocks[0]))
    # As in GPT-2 the example is short: the traced graph takes any length.
    generate.save(path.parent, path.name, generate.GPT2(size), torch.arange(32).view(2, 16), seed=4)


if __name__ == "__main__":
    main()
