"""Narrow streams of torch.export archives: what is written is loaded with torch.export.load, runs at the sizes that the
original allows, with the same numbers, and says of every value the sizes that it has."""

import unittest

import torch
from torch import nn
from torch.export import Dim, export, load, save

from exported import WIDTH, Block, Exported, Residual, run_as_told, settled
from samples import load_operators, ran


class Tokens(nn.Module):
    """Patches, a token that is repeated for the batch, and a head without a bias, which gets all channels back."""

    def __init__(self):
        super().__init__()
        self.cut = nn.Conv2d(3, WIDTH, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, WIDTH))
        self.position = nn.Parameter(torch.randn(1, 17, WIDTH))
        self.blocks = nn.Sequential(Block(), Block())
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 5, bias=False)

    def forward(self, image):
        x = self.cut(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, WIDTH), x], 1) + self.position
        return self.head(self.norm(self.blocks(x))[:, 0])


class PostNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(nn.TransformerEncoderLayer(WIDTH, 2, 24, batch_first=True) for _ in range(2)))

    def forward(self, x):
        return self.layers(x)


def cases():
    generator = torch.Generator().manual_seed(1)
    batch, length = Dim("batch", max=64), Dim("length", min=2, max=64)
    return {
        "residual": (Residual(), torch.randint(0, 11, (3, 5), generator=generator), {0: batch, 1: length}),
        "tokens": (Tokens(), torch.randn(3, 3, 16, 16, generator=generator), {0: batch}),
    }


class Narrow(Exported):
    cases = staticmethod(cases)

    def narrowed(self, original, *options):
        out = self.path / f"out{original.suffix}"
        out.unlink(missing_ok=True)
        result = ran(self, "crms", original, "-o", out, "--policy", "all", *options)
        self.assertIs(result["verify"]["exact"], True, result["verify"])
        return out, result

    def test_what_is_narrowed_is_what_torch_loads(self):
        load_operators()
        for name, (model, sample) in self.models.items():
            for kind in self.KINDS:
                for pad, width in (("none", WIDTH - 1), ("even", WIDTH), ("64", 64)):
                    for norm in ("portable", "primitives", "fast"):
                        with self.subTest(model=name, kind=kind, pad=pad, norm=norm):
                            original = self.path / f"{name}.{kind}.pt2"
                            out, result = self.narrowed(original, "--pad", pad, "--norm", norm)
                            self.assertEqual(result["streams"][0]["width"], width)
                            before, program = load(original), load(out)
                            self.assertEqual(str(before.call_spec), str(program.call_spec))
                            self.assertEqual(str(before.range_constraints), str(program.range_constraints))
                            self.assertLess(self.gap(model, program.module(), sample), 2e-5)
                            run_as_told(program, sample)
                            if kind != "static":
                                longer = torch.cat([sample, sample])
                                self.assertLess(self.gap(model, program.module(), longer), 2e-5)
                                run_as_told(program, longer)

    def test_what_is_written_is_a_program_for_torch(self):
        for name, (model, sample) in self.models.items():
            with self.subTest(model=name):
                out, _ = self.narrowed(self.path / f"{name}.dynamic.pt2")
                program = load(out).run_decompositions()
                self.assertLess(self.gap(model, program.module(), sample), 2e-5)
                analysis = ran(self, "analyze", out)
                self.assertIsNone(analysis["probe_error"])

    def test_padding_to_the_width_that_was_costs_no_weights(self):
        _, result = self.narrowed(self.path / "tokens.static.pt2", "--pad", "even")
        weights = result["bytes"]["weights"]
        self.assertEqual(weights["crms"], weights["fold"])

    def test_a_post_norm_stream_stays(self):
        sample = torch.randn(3, 5, WIDTH)
        path, out = self.path / "post.pt2", self.path / "never.pt2"
        save(export(settled(PostNorm()), (sample,)), path)
        result = ran(self, "crms", path, "-o", out, "--policy", "all", expected=1)
        self.assertIn("no residual stream is zero-mean", result["reason"])
        self.assertFalse(out.exists())
