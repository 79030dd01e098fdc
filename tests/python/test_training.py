"""The training form: steps of an optimizer are those of LayerNorm's network, the mean stays zero, and it can be baked.

    run_tests.py test_training.py ENGINE
"""

import copy
import unittest
import unittest.mock

import package

package.need_torch()

import torch
from torch import nn
from torch.nn.utils import parametrize

import normlens
from equal import assert_same, settled, snapshot
from streams import IDS, WIDTH, Stream
from training import by_name

TARGETS = torch.randint(0, 11, (3, 5), generator=torch.Generator().manual_seed(4))


def train(module, example, optimizer, steps=6, seed=0):
    """Losses."""
    losses = []
    for step in range(steps):
        torch.manual_seed(seed + step)
        output = module(example)
        loss = nn.functional.cross_entropy(output.flatten(0, 1), TARGETS.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, 0.3),
    "momentum": lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=0.9, weight_decay=0.01),
    "adam": lambda parameters: torch.optim.AdamW(parameters, 0.01),
}


class Training(unittest.TestCase):
    def changed(self, module, example, count):
        """(the module in training form, a copy of it as it was)"""
        original = copy.deepcopy(module)
        changed, report = normlens.cbwc(module, example)
        self.assertIs(changed, module)
        self.assertEqual(len(report.folded), count, report)
        for path in report.folded:
            self.assertIsInstance(module.get_submodule(path), nn.RMSNorm)
        return module, original, report

    def assert_trains_alike(self, module, original, example, means=()):
        """Losses, and each parameter after them, are LayerNorm's; means: paths of norms whose inputs have none."""
        for name, made in OPTIMIZERS.items():
            with self.subTest(name):
                one, other = copy.deepcopy(module).train(), copy.deepcopy(original).train()
                losses = train(one, example, made(one.parameters()))
                expected = train(other, example, made(other.parameters()))
                self.assertLess(losses[-1], losses[0])
                for a, b in zip(losses, expected):
                    self.assertLess(abs(a - b), 1e-12)
                for a, b in zip(by_name(one), by_name(other)):
                    self.assertEqual(a[0], b[0])
                    self.assertLess((a[1] - b[1]).abs().max().item(), 1e-10, a[0])
                self.assert_no_mean(one, example, means)

    def assert_no_mean(self, module, example, means):
        seen = {}
        handles = [
            module.get_submodule(path).register_forward_pre_hook(lambda part, args, path=path: seen.update({path: args[0]}))
            for path in means
        ]
        module(example)
        for handle in handles:
            handle.remove()
        for path in means:
            x = seen[path]
            self.assertLess((x.mean(-1).abs().max() / x.abs().max()).item(), 1e-14, path)

    def test_a_stream(self):
        for options in ({}, {"tied": True}, {"bias": False}, {"affine": False}):
            with self.subTest(**options):
                module, original, report = self.changed(settled(Stream(**options).double()), IDS, 3)
                self.assert_trains_alike(module, original, IDS, report.folded)

    def test_a_fresh_model_does_not_rest_on_its_ones_and_zeros(self):
        """After a norm with γ = 1 there is no mean, until γ is trained."""

        class After(Stream):
            def forward(self, ids):
                x = self.norms[0](self.embed(ids))
                return self.head(self.norms[1](x))

        module = After().double()
        folded, report = normlens.fold(module, IDS)
        self.assertEqual(len(report.folded), 2, "as it is, both fold")
        module, original, report = self.changed(module, IDS, 1)
        self.assertIsInstance(module.norms[1], nn.LayerNorm)
        self.assertTrue(report.kept["norms.1"])
        self.assert_trains_alike(module, original, IDS, report.folded)

    def test_tied_embeddings_stay_tied_while_they_are_trained(self):
        module, original, _ = self.changed(settled(Stream(tied=True).double()), IDS, 3)
        self.assertIs(module.embed.parametrizations.weight.original, module.head.weight)
        train(module.train(), IDS, OPTIMIZERS["sgd"](module.parameters()))
        self.assertIs(module.embed.parametrizations.weight.original, module.head.weight)
        raw, output = module.head.weight.detach().clone(), module.eval()(IDS)
        normlens.uncbwc(module)
        self.assertIsNot(module.embed.weight, module.head.weight)
        self.assertTrue(torch.equal(module.head.weight, raw))
        self.assertTrue(torch.equal(module(IDS), output))

    def test_a_dropout_that_drops_keeps_the_norms_behind_it(self):
        module, original, report = self.changed(settled(Stream(drop=0.2).double()).train(), IDS, 1)
        self.assertIn("dropout", report.kept["norms.1"])
        self.assert_trains_alike(module, original, IDS, report.folded)

    def test_a_linear_that_is_called_twice(self):
        class Shared(Stream):
            def forward(self, ids):
                x = self.embed(ids)
                for norm in self.norms[:2]:
                    x = x + self.mix[0](norm(x))
                return self.head(self.norms[2](x))

        module, original, report = self.changed(settled(Shared().double()), IDS, 3)
        self.assert_trains_alike(module, original, IDS, report.folded)

    def test_two_linears_of_one_weight(self):
        class Shared(Stream):
            def __init__(self):
                super().__init__()
                self.mix[1][2].weight = self.mix[0][2].weight

        module, original, report = self.changed(settled(Shared().double()), IDS, 3)
        self.assert_trains_alike(module, original, IDS, report.folded)
        normlens.uncbwc(module)
        self.assertIs(module.mix[1][2].weight, module.mix[0][2].weight, "both are centered alike")

    def test_a_layer_scale_is_no_training_form(self):
        class Scaled(Stream):
            def __init__(self):
                super().__init__()
                self.gamma = nn.Parameter(torch.ones(WIDTH))

            def forward(self, ids):
                x = self.embed(ids)
                x = x + self.mix[0](self.norms[0](x)) * self.gamma
                return self.head(self.norms[1](x))

        module, original, report = self.changed(Scaled().double(), IDS, 1)
        self.assertTrue(report.kept["norms.1"])
        self.assert_trains_alike(module, original, IDS, report.folded)

    def test_a_buffer_is_a_number_that_may_change(self):
        class Scaled(Stream):
            def __init__(self, registered):
                super().__init__()
                scale = torch.ones(WIDTH, dtype=torch.float64)
                self.scale = nn.Buffer(scale) if registered else scale
                self.register_buffer("mask", torch.tensor([0.0, -float("inf")]))

            def forward(self, ids):
                x = self.norms[0](self.embed(ids))
                return self.head(self.norms[1](self.mix[0](x) * self.scale))

        for registered in (True, False):
            _, _, report = self.changed(settled(Scaled(registered).double()), IDS, 1)
            self.assertEqual(report.folded, ("norms.0",))

    def test_gradients_flow_through_the_centering(self):
        module, _, _ = self.changed(settled(Stream().double()), IDS, 3)
        module(IDS).square().sum().backward()
        for name, parameter in module.named_parameters():
            self.assertIsNotNone(parameter.grad, name)
        raw = module.mix[0][2].parametrizations.weight.original
        self.assertGreater(raw.grad.abs().max().item(), 0)
        self.assertLess(raw.grad.mean(0).abs().max().item(), 1e-12 * raw.grad.abs().max().item())

    def test_an_optimizer_that_was_made_before_goes_on(self):
        module = settled(Stream().double())
        before = {id(parameter) for parameter in module.parameters()}
        module, _, _ = self.changed(module, IDS, 3)
        self.assertEqual({id(parameter) for parameter in module.parameters()}, before)

    def test_in_half_types(self):
        for dtype in (torch.float32, torch.bfloat16):
            module, original, _ = self.changed(settled(Stream().to(dtype)), IDS, 3)
            scale = original(IDS).abs().max()
            self.assertLess(((module(IDS) - original(IDS)).abs().max() / scale).item(), 1e-5 if dtype == torch.float32 else 0.05)
            normlens.uncbwc(module)
            self.assertEqual({parameter.dtype for parameter in module.parameters()}, {dtype})


class Baking(unittest.TestCase):
    def test_a_plain_state(self):
        module = settled(Stream().double())
        keys, kinds = list(module.state_dict()), {path: type(part) for path, part in module.named_modules()}
        normlens.cbwc(module, IDS)
        self.assertNotEqual(list(module.state_dict()), keys)
        output = module(IDS)
        self.assertIs(normlens.uncbwc(module), module)
        self.assertEqual(sorted(module.state_dict()), sorted(keys))
        self.assertFalse(any(parametrize.is_parametrized(part) for part in module.modules()))
        self.assertTrue(torch.equal(module(IDS), output))
        for path, part in module.named_modules():
            if not isinstance(part, nn.RMSNorm):
                self.assertIs(type(part), kinds[path])

    def test_of_a_copy_while_training_goes_on(self):
        """A deep copy shares the classes that torch makes for parametrised parts."""
        for tied in (False, True):
            original = settled(Stream(tied=tied).double()).train()
            module = copy.deepcopy(original)
            normlens.cbwc(module, IDS)
            optimizers = [OPTIMIZERS["adam"](one.parameters()) for one in (module, original)]
            losses = [train(one, IDS, optimizer) for one, optimizer in zip((module, original), optimizers)]
            now = module(IDS)
            baked = normlens.uncbwc(copy.deepcopy(module), IDS)
            self.assertTrue(torch.equal(baked(IDS), now))
            losses += [train(one, IDS, optimizer) for one, optimizer in zip((module, original), optimizers)]
            self.assertLess((torch.tensor(losses[::2]) - torch.tensor(losses[1::2])).abs().max().item(), 1e-10)
            other, now = copy.deepcopy(module), module(IDS)
            normlens.uncbwc(module, IDS)
            self.assertTrue(torch.equal(other(IDS), now))
            self.assertTrue(torch.equal(normlens.uncbwc(other, IDS)(IDS), now))

    def test_of_a_copy_of_a_part_that_was_parametrised_before(self):
        module = settled(Stream(bias=False).double())
        for mix in module.mix:
            mix[2].more = nn.Parameter(torch.ones(2).double())
            parametrize.register_parametrization(mix[2], "more", nn.Identity())
        other, before = copy.deepcopy(module), module(IDS)
        _, report = normlens.cbwc(other, IDS)
        self.assertEqual(len(report.folded), 3)
        self.assertTrue(torch.equal(module(IDS), before))
        normlens.uncbwc(other, IDS)
        self.assertTrue(parametrize.is_parametrized(other.mix[0][2], "more"))
        self.assertTrue(torch.equal(module(IDS), before))

    def test_what_no_module_registers_keeps_its_numbers(self):
        class Held(Stream):
            def __init__(self):
                super().__init__()
                self.double()
                self.held = [self.embed.weight, self.mix[1][2].weight.data.T]

            def forward(self, ids):
                return nn.functional.linear(self.norms[0](self.embed(ids)) @ self.held[1].T @ self.held[1], self.held[0])

        module = settled(Held().double())
        normlens.cbwc(module, IDS)
        before = module(IDS)
        normlens.uncbwc(module, IDS)
        self.assertTrue(torch.equal(module(IDS), before))

    def test_that_is_not_equal_is_undone(self):
        module = settled(Stream().double())
        normlens.cbwc(module, IDS)
        keys, before = list(module.state_dict()), module(IDS)
        real = normlens.module.centered._plain

        def spoilt(part, name):
            real(part, name)
            part.register_forward_hook(lambda part, args, output: output * 1.001)

        with unittest.mock.patch("normlens.module.centered._plain", spoilt):
            with self.assertRaisesRegex(normlens.NotEqual, "undone"):
                normlens.uncbwc(module, IDS)
        for part in module.modules():
            part._forward_hooks.clear()
        self.assertEqual(sorted(module.state_dict()), sorted(keys))
        self.assertTrue(torch.equal(module(IDS), before))

    def test_of_a_module_that_is_plain(self):
        module = settled(Stream().double())
        before = snapshot(module)
        normlens.uncbwc(module)
        assert_same(self, before, module)

    def test_others_parametrisations_stay(self):
        module = settled(Stream().double())
        nn.utils.parametrizations.weight_norm(module.head)
        normlens.cbwc(module, IDS)
        normlens.uncbwc(module)
        self.assertTrue(parametrize.is_parametrized(module.head))


class Undoing(unittest.TestCase):
    def test_a_form_that_is_not_equal_is_undone(self):
        real = normlens.module.centered.centered
        for tied in (False, True):
            module = settled(Stream(tied=tied).double())
            before = snapshot(module)
            with unittest.mock.patch("normlens.module.centered.centered", lambda raw, *more: real(raw, *more) * 1.001):
                with self.assertRaisesRegex(normlens.NotEqual, "undone"):
                    normlens.cbwc(module, IDS)
            assert_same(self, before, module)

    def test_gradients_that_do_not_flow_are_found(self):
        real = normlens.module.centered.centered
        module = settled(Stream().double())
        before = snapshot(module)
        with unittest.mock.patch("normlens.module.centered.centered", lambda raw, *more: real(raw.detach(), *more) + 0 * raw):
            with self.assertRaisesRegex(normlens.NotEqual, "gradients"):
                normlens.cbwc(module, IDS)
        assert_same(self, before, module)

    def test_statistics_of_a_batch_norm_are_left_alone(self):
        class Batched(Stream):
            def __init__(self):
                super().__init__()
                self.batch = nn.BatchNorm1d(WIDTH)

            def forward(self, ids):
                return self.head(self.batch(self.norms[0](self.embed(ids)).transpose(1, 2)).transpose(1, 2))

        module = settled(Batched().double()).train()
        before = {name: buffer.clone() for name, buffer in module.named_buffers()}
        _, report = normlens.cbwc(module, IDS)
        self.assertEqual(len(report.folded), 1)
        for name, buffer in module.named_buffers():
            self.assertTrue(torch.equal(buffer, before[name]), name)
