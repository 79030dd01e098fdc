"""Norms of other classes: recognized by what they compute, and only where that is proved.

    run_tests.py test_norms.py ENGINE
"""

import unittest

import package

package.need_torch()

import torch
from torch import nn
from torch.nn import functional

import normlens
from equal import assert_equal, fold_of, settled
from normlens.module.norms import AffineRMSNorm
from streams import X

WIDTH = 16


class Written(nn.Module):
    """As CohereLayerNorm and DebertaLayerNorm are written."""

    def __init__(self, shape=(WIDTH,), bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(shape))
        self.bias = nn.Parameter(torch.zeros(shape)) if bias else None

    def forward(self, x):
        kind, x = x.dtype, x.float()
        mean = x.mean(-1, keepdim=True)
        y = self.weight.float() * ((x - mean) * torch.rsqrt((x - mean).pow(2).mean(-1, keepdim=True) + 1e-5))
        return (y if self.bias is None else y + self.bias).to(kind)


class Formula(nn.LayerNorm):
    """other: what becomes of it."""

    def __init__(self, other):
        super().__init__(WIDTH)
        self.other, self.calls = other, 0

    def forward(self, x):
        return self.other(self, x, super().forward)


class Around(nn.Module):
    def __init__(self, norm, heads=1, named=None):
        super().__init__()
        self.start, self.norm, self.end = nn.Linear(WIDTH, heads * WIDTH), norm, nn.Linear(heads * WIDTH, 5)
        self.heads, self.named = heads, named

    def forward(self, x):
        x = self.start(x).unflatten(-1, (self.heads, WIDTH)) if self.heads > 1 else self.start(x)
        x = self.norm(**{self.named: x}) if self.named else self.norm(x)
        return self.end(x.flatten(-2) if self.heads > 1 else x)


def plus_one(norm, x, forward):
    return functional.layer_norm(x, (WIDTH,), norm.weight + 1, norm.bias, norm.eps)


def counted(norm, x, forward):
    norm.calls += 1
    return forward(x)


class Recognized(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(6)  # the linears around the norms are drawn

    def folded(self, norm, dtype=torch.float32, **options):
        module = settled(Around(norm, **options).to(dtype))
        folded, report, original = fold_of(module, X.to(dtype))
        self.assertEqual(report.folded, ("norm",), report)
        exact = 1e-12 if dtype == torch.float64 else 0.1 if dtype == torch.bfloat16 else 1e-5
        assert_equal(self, folded, original, X.to(dtype), exact)
        self.assertIsInstance(folded.norm, nn.RMSNorm)
        self.assertTrue(normlens.analyze(module, X.to(dtype))["norm"].folds)
        return folded, original

    def test_one_that_is_written_out(self):
        for dtype in (torch.float32, torch.bfloat16):
            for bias in (True, False):
                folded, original = self.folded(Written(bias=bias), dtype)
                self.assertTrue(torch.equal(folded.norm.weight, original.norm.weight))

    def test_another_weight_for_each_head(self):
        folded, original = self.folded(Written((3, WIDTH), bias=False), heads=3)
        self.assertTrue(torch.equal(folded.norm.weight, original.norm.weight))
        self.assertIsInstance(folded.norm, AffineRMSNorm)

    def test_a_weight_that_is_computed(self):
        """As Nemotron's; a β that is computed too stays beside it."""
        folded, original = self.folded(Formula(plus_one), torch.float64)
        self.assertLess((folded.norm.weight - original.norm.weight - 1).abs().max().item(), 1e-14)
        self.folded(Formula(lambda norm, x, forward: 2 * forward(x)), torch.float64)

    def test_channels_in_axis_1(self):
        class Image(nn.Module):
            def __init__(self):
                super().__init__()
                self.cut = nn.Conv2d(3, WIDTH, 2, 2)
                self.norm = Formula(lambda norm, x, forward: forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2))

            def forward(self, image):
                return self.norm(self.cut(image)).flatten(1)

        image = torch.randn(2, 3, 2 * WIDTH, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
        folded, report, original = fold_of(settled(Image().double()), image)
        assert_equal(self, folded, original, image)
        self.assertTrue(folded.norm.channels_first)


    def test_its_type_is_a_layer_norm_s(self):
        """The weights are float32 where torch.autocast gives a norm bfloat16."""
        for norm, options in ((nn.LayerNorm(WIDTH), {}), (Written((3, WIDTH)), {"heads": 3})):
            module = settled(Around(norm, **options)).eval()
            module.end = nn.Identity()
            folded, _ = normlens.fold(module, X.float())
            self.assertIsInstance(folded.norm, AffineRMSNorm)
            for called in (folded, torch.compile(folded, backend="eager", fullgraph=True)):
                self.assertEqual(called(X.float()).dtype, torch.float32)
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    output, expected = called(X.float()), module(X.float())
                self.assertEqual((output.dtype, expected.dtype), (torch.bfloat16, torch.bfloat16))
                self.assertLess((output - expected).abs().max().item(), 0.05 * expected.abs().max().item())
            graph = torch.export.export(folded, (X.float(),)).graph
            self.assertFalse([node for node in graph.nodes if "to" in str(node.target).split(".")])


class Kept(unittest.TestCase):
    def assert_kept(self, reason, norm, **options):
        module = settled(Around(norm, **options).double()).train()
        before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
        report = normlens.analyze(module, X)
        _, changed = normlens.fold(module, X)
        self.assertEqual(changed.folded, ())
        self.assertIn(reason, changed.kept["norm"])
        self.assertTrue(all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items()))
        return report["norm"]

    def test_more_than_a_layer_norm(self):
        def noted(norm, x, forward):
            norm.seen.mul_(0.9).add_(x.mean())
            return forward(x)

        buffered = Formula(lambda norm, x, forward: noted(norm, x, forward) if norm.training else forward(x))
        buffered.register_buffer("seen", torch.zeros(()))
        drops = Formula(lambda norm, x, forward: functional.dropout(forward(x), 0.5, norm.training))
        scaled = Formula(lambda norm, x, forward: forward(0.5 * x))  # another eps
        bounded = Formula(lambda norm, x, forward: torch.relu(forward(x)))
        for norm in (buffered, drops, scaled, bounded, Formula(counted)):
            known = self.assert_kept("(Formula) computes more than a LayerNorm", norm)
            self.assertEqual((known.verdict, known.state), ("free", "kept"))
            self.assertIn("computes more than a LayerNorm", known.because)

    def test_one_that_centers_first(self):
        self.assert_kept("its input has a mean when it runs", Formula(lambda norm, x, forward: forward(x - x.mean(-1, keepdim=True))))

    def test_arguments_by_name(self):
        self.assert_kept("takes other arguments than one tensor", nn.LayerNorm(WIDTH), named="input")

    def test_what_other_code_reads(self):
        class Read(Around):
            def forward(self, x):
                return super().forward(x) + (self.norm.weight.sum() if self.reads else self.norm.calls)

        for reads, text in ((False, "cannot be run: .*calls"), (True, "differs from the original")):
            module = settled(Read(Formula(plus_one)).double())
            module.reads = reads
            with self.assertRaisesRegex(normlens.NotEqual, text):
                normlens.fold(module, X)

    def test_no_training_form_of_a_weight_that_is_computed(self):
        silent = Formula(lambda norm, x, forward: forward(x) * (1 + norm.more))
        silent.more = nn.Parameter(torch.zeros(WIDTH))
        for norm in (Formula(plus_one), silent):
            module = settled(Around(norm).double())
            nn.init.zeros_(silent.more)  # γ is the weight as long as this is so
            _, report = normlens.cbwc(module, X)
            self.assertIn("no weight and bias of a LayerNorm", report.kept["norm"])


class Policies(unittest.TestCase):
    def test_the_reason_is_that_of_the_policy_that_was_asked_for(self):
        class Gated(Around):
            def forward(self, x):
                return self.end(self.norm(torch.relu(self.start(x))))

        _, report, _ = fold_of(settled(Gated(nn.LayerNorm(WIDTH)).double()), X, policy="all")
        self.assertIn("would be needed, which is no module's output", report.kept["norm"])
        analyzed = normlens.analyze(settled(Gated(nn.LayerNorm(WIDTH)).double()), X, policy="all")
        foreseen = analyzed["norm"]
        self.assertEqual((foreseen.state, foreseen.because), ("kept", report.kept["norm"]))
        self.assertIn("no module's output", " ".join(repr(analyzed).split()))
