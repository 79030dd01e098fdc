"""Models of transformers and timm: each family folds, and trains behind centered weights, as LayerNorm's network would.

    run_tests.py test_families.py ENGINE
"""

import copy
import importlib.util
import unittest

import package

package.need_torch()

import torch
from torch import nn

import families
import normlens
from equal import assert_equal, fold_of, layer_norms, outputs, settled
from normlens.module.compare import pairs, relative, tensors_in
from normlens.module.inputs import as_inputs
from normlens.module.modes import lift, without_cache
from training import by_name, plain_state

# Family -> LayerNorms of it, those that fold by weights alone, those of them that have a training form.
EXPECTED = {
    "gpt2": (5, 5, 5),
    "bert": (6, 1, 1),  # norms behind norms
    "opt": (5, 5, 5),
    "llama": (0, 0, 0),  # RMSNorms already
    "neox": (5, 5, 5),
    "vit": (5, 5, 5),
    "clip": (5, 5, 5),
    "timm_vit": (5, 5, 1),  # a scale stands behind each block
    "timm_swin": (9, 6, 6),
    "timm_convnext": (9, 1, 1),
}
TIED = {
    "gpt2": "transformer.wte.weight",
    "bert": "bert.embeddings.word_embeddings.weight",
    "opt": "model.decoder.embed_tokens.weight",
}


class Family(unittest.TestCase):
    """Of one library; which one and how its models are made are set by its subclasses."""

    library = ""

    def setUp(self):
        if importlib.util.find_spec(self.library) is None:
            self.skipTest(f"{self.library} is not installed: packaging/test installs it")

    def for_each(self, dtype, check):
        """check(name, settled model of that type, inputs)"""
        for make in families.FAMILIES[self.library]:
            torch.manual_seed(0)
            model, example = make()
            inputs = as_inputs(example).map(lambda t: t.to(dtype) if t.is_floating_point() else t)
            with self.subTest(make.__name__):
                check(make.__name__, settled(model).to(dtype).eval(), inputs)

    def test_folds_are_equal_in_float64(self):
        self.for_each(torch.float64, self.fold_in_float64)

    def fold_in_float64(self, name, model, inputs):
        norms, folds, _ = EXPECTED[name]
        folded, report, original = fold_of(model, inputs, policy="free")
        self.assertEqual((len(report), len(report.folded)), (norms, folds), report)
        self.assertEqual(sorted(norm.path for norm in report), sorted(layer_norms(original)))
        for path in report.folded:
            self.assertIsInstance(folded.get_submodule(path), nn.RMSNorm)
        self.assertEqual(set(layer_norms(folded)), set(layer_norms(original)) - set(report.folded))
        assert_equal(self, folded, original, inputs)
        self.assertEqual([text.split(" ")[0] for text in report.untied], [TIED[name]] if name in TIED else [])
        if name in TIED:
            self.assertFalse(folded.config.tie_word_embeddings)
            self.assertTrue(model.config.tie_word_embeddings)

    def test_folds_are_equal_in_float32_within_rounding(self):
        self.for_each(torch.float32, self.fold_in_float32)

    def fold_in_float32(self, name, model, inputs):
        folded, report, original = fold_of(model, inputs, policy="free")
        self.assertEqual(len(report.folded), EXPECTED[name][1], report)
        exact = outputs(copy.deepcopy(original).double(), inputs.map(lift))
        expected, given = outputs(original, inputs), outputs(folded, inputs)
        for (a, b), (_, truth) in zip(pairs(given, expected), pairs(expected, exact)):
            if isinstance(a, torch.Tensor):
                noise = (b - truth).abs().max().item() + 1e-7 * truth.abs().max().item()
                self.assertLess((a - truth).abs().max().item(), 6 * noise)

    def test_other_policies(self):
        """A limit to what copies may add, and centerings at run time: fewer or more norms, equal all the same."""
        self.for_each(torch.float64, self.fold_otherwise)

    def fold_otherwise(self, name, model, inputs):
        for policy in ("balanced", "all"):
            folded, report, original = fold_of(model, inputs, policy=policy, max_growth=1)
            assert_equal(self, folded, original, inputs)
            self.assertEqual(set(report.kept), {norm.name for norm in report if not norm.folds})
            self.assertTrue(all(report.kept.values()), report.kept)
            foretold = normlens.analyze(original, inputs, policy=policy, max_growth=1)
            self.assertEqual(foretold.norms, report.norms)

    def test_training_steps_are_layer_norm_s(self):
        self.for_each(torch.float64, self.train)

    def train(self, name, model, inputs):
        original = copy.deepcopy(model).train()
        model.train()
        state = plain_state(model)
        model, report = normlens.cbwc(model, inputs)
        self.assertEqual(len(report.folded), EXPECTED[name][2], report)
        self.train_both(model, original, inputs)
        self.assert_no_mean(model, inputs, report.folded)
        before = outputs(model, inputs)
        normlens.uncbwc(model)
        self.assertEqual(plain_state(model), state)
        self.assertLess(relative(outputs(model, inputs), before), 1e-14)

    def train_both(self, model, original, inputs, steps=4):
        for step in range(steps):
            losses = []
            for one in (model, original):
                torch.manual_seed(step)
                one.train()
                with without_cache(one):
                    leaves = [leaf for leaf in tensors_in(inputs.call(one)) if isinstance(leaf, torch.Tensor)]
                results = [leaf for leaf in leaves if leaf.requires_grad]
                loss = sum((result * torch.randn_like(result)).mean() + result.square().mean() for result in results)
                one.zero_grad()
                loss.backward()
                with torch.no_grad():
                    for parameter in one.parameters():
                        if parameter.grad is not None:
                            parameter -= 0.05 * parameter.grad
                losses.append(loss.item())
            self.assertLess(abs(losses[0] - losses[1]), 1e-12 * max(1, abs(losses[1])))
        for (name, a), (other, b) in zip(by_name(model), by_name(original)):
            self.assertEqual(name, other)
            self.assertLess((a - b).abs().max().item(), 1e-12 * max(1.0, b.abs().max().item()), name)

    def assert_no_mean(self, model, inputs, paths):
        def look(part, args):
            x = args[0].movedim(1, -1) if getattr(part, "channels_first", False) else args[0]
            self.assertLess((x.mean(-1).abs().max() / x.abs().max()).item(), 1e-13)

        handles = [model.get_submodule(path).register_forward_pre_hook(look) for path in paths]
        outputs(model, inputs)
        for handle in handles:
            handle.remove()


class Transformers(Family):
    library = "transformers"

    def test_text_is_generated_as_before(self):
        """With a cache, token by token."""

        def check(name, model, inputs):
            if name in ("gpt2", "opt", "neox"):
                folded, _, original = fold_of(model, inputs, policy="all")
                given = {**inputs.kwargs, "max_new_tokens": 8, "do_sample": False, "min_new_tokens": 8}
                self.assertTrue(torch.equal(folded.eval().generate(**given), original.generate(**given)))

        self.for_each(torch.float64, check)


class Timm(Family):
    library = "timm"


def load_tests(loader, tests, pattern):
    """Family is no test of its own."""
    return unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in (Transformers, Timm))
