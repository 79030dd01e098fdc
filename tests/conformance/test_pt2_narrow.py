"""Narrow streams of torch.export archives: what is written is loaded with torch.export.load, runs at the sizes that the
original allows, with the same numbers, and says of every value the sizes that it has."""

import pathlib
import sys
import tempfile
import unittest

import torch
from torch import nn
from torch.export import Dim, export, load, save
from torch.export.graph_signature import InputKind
from torch.fx import Interpreter

from samples import engine
from test_pt2 import WIDTH, Residual, settled


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mix = nn.Sequential(nn.Linear(WIDTH, 24), nn.GELU(), nn.Linear(24, WIDTH))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.before(x)).view(batch, length, 3, 2, WIDTH // 2).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mix(self.between(x))


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


class TellsItsSizes(Interpreter):
    """Runs a program and holds each value against what the file says of it."""

    def run_node(self, node):
        value = super().run_node(node)
        told = node.meta.get("val")
        if isinstance(told, torch.Tensor) and isinstance(value, torch.Tensor):
            fixed = [(a, b) for a, b in zip(told.shape, value.shape) if isinstance(a, int)]
            if len(told.shape) != len(value.shape) or any(a != b for a, b in fixed):
                raise AssertionError(f"{node.name} has the sizes {tuple(value.shape)}, not {tuple(told.shape)}")
            if all(isinstance(a, int) for a in told.stride()) and told.stride() != value.stride():
                raise AssertionError(f"{node.name} has the strides {value.stride()}, not {told.stride()}")
        return value


def run_as_told(program, sample):
    held = {**program.state_dict, **program.constants}
    specs = program.graph_signature.input_specs
    inputs = [sample if spec.kind == InputKind.USER_INPUT else held[spec.target] for spec in specs]
    with torch.no_grad():
        TellsItsSizes(program.graph_module).run(*inputs)


class Narrow(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        cls.models = {}
        torch.manual_seed(0)
        for name, (model, sample, dynamic) in cases().items():
            cls.models[name] = (settled(model), sample)
            exported = export(model, (sample,), dynamic_shapes=({**dynamic},))
            save(export(model, (sample,)), cls.path / f"{name}.static.pt2")
            save(exported, cls.path / f"{name}.dynamic.pt2")
            save(exported.run_decompositions(), cls.path / f"{name}.core.pt2")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def narrowed(self, original, *options):
        out = self.path / f"out{original.suffix}"
        out.unlink(missing_ok=True)
        status, result, errors = engine("crms", original, "-o", out, "--policy", "all", *options)
        self.assertEqual(status, 0, f"{errors} {result}")
        self.assertIs(result["verify"]["exact"], True, result["verify"])
        return out, result

    def gap(self, model, narrow, sample):
        with torch.no_grad():
            a, b = model(sample), narrow(sample)
        self.assertEqual(a.shape, b.shape)
        return ((a - b).abs().max() / a.abs().max()).item()

    def test_what_is_narrowed_is_what_torch_loads(self):
        for name, (model, sample) in self.models.items():
            for kind in ("static", "dynamic", "core"):
                for pad, width in (("none", WIDTH - 1), ("even", WIDTH), ("64", 64)):
                    for norm in ("portable", "primitives"):
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
                status, analysis, errors = engine("analyze", out)
                self.assertEqual(status, 0, errors)
                self.assertIsNone(analysis["probe_error"])

    def test_padding_to_the_width_that_was_costs_no_weights(self):
        _, result = self.narrowed(self.path / "tokens.static.pt2", "--pad", "even")
        weights = result["bytes"]["weights"]
        self.assertEqual(weights["crms"], weights["fold"])

    def test_a_post_norm_stream_stays(self):
        sample = torch.randn(3, 5, WIDTH)
        path, out = self.path / "post.pt2", self.path / "never.pt2"
        save(export(settled(PostNorm()), (sample,)), path)
        status, result, _ = engine("crms", path, "-o", out, "--policy", "all")
        self.assertEqual(status, 1)
        self.assertIn("no residual stream is zero-mean", result["reason"])
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
