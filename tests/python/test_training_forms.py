"""The training form of recurrent neighbours, of linears with one mean, of norms by groups; and the papers' practical form.

    run_tests.py test_training_forms.py ENGINE
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
from equal import settled
from normlens.module.compare import relative
from streams import IDS, Stream
from training import by_name

X = torch.randn(4, 6, 8, generator=torch.Generator().manual_seed(5), dtype=torch.float64)


def step(module, x, optimizer, seed=0):
    torch.manual_seed(seed)
    loss = module(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


class Joint(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other, self.norm = nn.Linear(8, 8), nn.Linear(8, 8), nn.LayerNorm(16)

    def forward(self, x):
        return self.norm(torch.cat([self.one(x), self.other(x)], -1))


class Forms(unittest.TestCase):
    def assert_trains_alike(self, module, x, folded, steps=8):
        """Each step is LayerNorm's, and the weights that are baked compute what was trained."""
        original = settled(module.double()).train()
        module = copy.deepcopy(original)
        module, report = normlens.cbwc(module, x)
        self.assertEqual(report.folded, folded, report)
        optimizers = [torch.optim.Adam(one.parameters(), 0.01) for one in (module, original)]
        for place in range(steps):
            one, other = (step(m, x, made, place) for m, made in zip((module, original), optimizers))
            self.assertLess(abs(one - other), 1e-12)
        for (name, one), (_, other) in zip(by_name(module), by_name(original)):
            self.assertLess((one - other).abs().max().item(), 1e-9, name)
        trained = module.eval()(x)
        self.assertLess(relative(trained, original.eval()(x)), 1e-9)
        self.assertTrue(torch.equal(normlens.uncbwc(module, x)(x), trained))
        self.assertFalse(any(parametrize.is_parametrized(part) for part in module.modules()))
        return module, report

    def test_linears_that_are_concatenated_have_one_mean(self):
        module, _ = self.assert_trains_alike(Joint(), X, ("norm",))
        joint = torch.cat([module.one.weight, module.other.weight])
        self.assertLess(joint.mean(0).abs().max().item(), 1e-15)
        self.assertGreater(module.one.weight.mean(0).abs().max().item(), 1e-3, "neither has a mean of zero alone")

    def test_a_copy_of_linears_with_one_mean_stands_alone(self):
        module = settled(Joint().double())
        normlens.cbwc(module, X)
        names, before = [name for name, _ in module.named_parameters()], module(X)
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(len(names), 6)
        other = copy.deepcopy(module)
        with torch.no_grad():
            other.one.parametrizations.weight.original.add_(1)
        self.assertTrue(torch.equal(module(X), before))
        again = settled(Joint().double())
        normlens.cbwc(again, X)
        again.load_state_dict(module.state_dict())
        self.assertTrue(torch.equal(again(X), before))

    def test_linears_of_a_single_number(self):
        layers = (nn.Linear(1, 8), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 1), nn.Linear(1, 4, bias=False), nn.LayerNorm(4))
        self.assert_trains_alike(nn.Sequential(*layers), X[..., :1], ("1", "5"))

    def test_group_norms(self):
        for groups in (1, 2, 4):
            layers = (nn.Linear(8, 16), nn.GroupNorm(groups, 16), nn.SiLU(), nn.Linear(16, 8), nn.GroupNorm(groups, 8))
            self.assert_trains_alike(nn.Sequential(*layers), X[:, 0], ("1", "4"))

    def test_recurrent_neighbours(self):
        """Gates read each channel: what a recurrent module gives, or reads, keeps its mean; linears behind it lose theirs."""

        class Recurrent(nn.Module):
            def __init__(self, kind, **more):
                super().__init__()
                wide = more.get("proj_size") or 8 * (1 + more.get("bidirectional", False))
                self.first, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)
                self.cells = kind(8, 8, batch_first=True, **more)
                self.behind, self.mix, self.last = nn.LayerNorm(wide), nn.Linear(wide, 8), nn.LayerNorm(8)

            def forward(self, x):
                x = self.first(x)
                given = self.cells(x)[0]
                return self.last(self.mix(self.behind(given))) + self.norm(x)

        for kind, more in (
            (nn.RNN, {}),
            (nn.RNN, {"nonlinearity": "relu", "num_layers": 2}),
            (nn.LSTM, {}),
            (nn.LSTM, {"proj_size": 4}),
            (nn.LSTM, {"bidirectional": True}),
            (nn.GRU, {}),
        ):
            with self.subTest(kind.__name__, **more):
                _, report = self.assert_trains_alike(Recurrent(kind, **more), X, ("last",), steps=3)
                self.assertIn("cells", report.kept["behind"])
                self.assertIn("first.weight would change cells", report.kept["norm"])

    def test_a_table_of_sparse_gradients_stays(self):
        module = nn.Sequential(nn.Embedding(20, 8, sparse=True), nn.LayerNorm(8), nn.Linear(8, 5)).double()
        _, report = normlens.cbwc(settled(module).train(), IDS)
        self.assertEqual(report.folded, ())
        self.assertIn("0 has sparse gradients", report.kept["1"])

    def test_cells_and_recurrences_without_a_nonlinearity(self):
        """Paper 001, C.2.1, centers W and U of h = W x + U h. That is exact for the first step alone, where U reads zeros."""

        class Linear(nn.Module):
            def __init__(self, steps):
                super().__init__()
                self.steps, self.w, self.u, self.norm = steps, nn.Linear(8, 8), nn.Linear(8, 8), nn.LayerNorm(8)

            def forward(self, x):
                h = self.u(x[:, 0])
                for at in range(self.steps):
                    h = self.w(x[:, at]) + (h if at == 0 else self.u(h))
                return self.norm(h)

        self.assert_trains_alike(Linear(1), X, ("norm",))
        _, report = self.assert_trains_alike(Linear(2), X, ())
        self.assertTrue(report.kept["norm"])
        for kind in (nn.RNNCell, nn.GRUCell):
            self.assert_trains_alike(nn.Sequential(kind(8, 8), nn.LayerNorm(8), nn.Linear(8, 4), nn.LayerNorm(4)), X[:, 0], ("3",))


class Mixed(nn.Module):
    """A linear and a relu make the norm's input, so that the analysis blocks it; a second linear is read by another one too."""

    def __init__(self, share=1.0):
        super().__init__()
        self.one, self.other, self.read = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 8)
        self.norm, self.second, self.share = nn.LayerNorm(16), nn.LayerNorm(16), share

    def forward(self, x):
        read = self.other(x)
        return self.norm(self.one(x) + self.share * torch.relu(x.repeat(1, 1, 2))), self.second(read), self.read(read)


class Practical(unittest.TestCase):
    def test_a_dropout_is_exact_once_the_module_evaluates(self):
        module = settled(Stream(drop=0.2).double()).train()
        original = copy.deepcopy(module)
        self.assertEqual(len(normlens.cbwc(copy.deepcopy(module), IDS)[1].folded), 1)
        module, report = normlens.cbwc(module, IDS, exact=False)
        self.assertEqual(len(report.folded), 3)
        self.assertTrue(module.training)
        self.assertEqual(report[0].because, "", "no dropout stands before it")
        self.assertIn("the mean of its input", report["norms.1"].because)
        outputs, gradients = report.deviations
        self.assertGreater(outputs.difference, 1e-6)
        self.assertLess(outputs.difference, 0.5)
        self.assertGreater(gradients.difference, 1e-6)
        torch.manual_seed(normlens.module.verify.SEED)
        one = module(IDS)
        torch.manual_seed(normlens.module.verify.SEED)
        self.assertAlmostEqual(relative(one, original(IDS)), outputs.difference, 12)
        self.assertLess(relative(module.eval()(IDS), original.eval()(IDS)), 1e-12)
        self.assertLess(relative(normlens.uncbwc(module, IDS)(IDS), original(IDS)), 1e-12)

    def test_what_the_analysis_blocks_is_replaced_and_measured(self):
        module = settled(Mixed().double())
        self.assertEqual(normlens.cbwc(copy.deepcopy(module), X)[1].folded, ())
        original = copy.deepcopy(module)
        module, report = normlens.cbwc(module, X, exact=False)
        self.assertEqual(report.folded, ("norm", "second"))
        self.assertIn("parametrise one.weight", report.changes)
        self.assertFalse(parametrize.is_parametrized(module.other), "another linear reads it")
        outputs, expected = module(X), original(X)
        self.assertTrue(torch.equal(outputs[2], expected[2]))
        self.assertAlmostEqual(relative(outputs, expected), report.deviations[0].difference, 12)
        x = original.one(X) + torch.relu(X.repeat(1, 1, 2))
        centered = x - original.one(X).mean(-1, keepdim=True)
        share = (centered.mean(-1).square().mean() / centered.square().mean()).sqrt().item()
        self.assertIn(f"{share:.1e} of the input's scale", report["norm"].because)
        self.assertIn("deviates", repr(report))

    def test_less_of_what_is_not_centered_deviates_less(self):
        gaps = [normlens.cbwc(settled(Mixed(share).double()), X, exact=False)[1].deviations[0].difference for share in (1, 0.01)]
        second = normlens.cbwc(settled(Mixed(0.0).double()), X, exact=False)[1]["norm"].because
        self.assertLess(gaps[1], gaps[0] + 1e-12)
        self.assertNotIn("e-01", second)

    def test_it_trains_between_layer_norm_and_rms_norm_alone(self):
        """Paper 001, 5.3. The distance is that of the losses' curves, with one dropout for all."""
        original = settled(Stream(drop=0.1).double()).train()
        alone, practical = copy.deepcopy(original), copy.deepcopy(original)
        for place, norm in enumerate(alone.norms):
            alone.norms[place] = normlens.module.norms.LayerNormForm((1, 16), (16,), norm.eps, False).rms_norm(norm)
        normlens.cbwc(practical, IDS, exact=False)
        curves = []
        for module in (original, practical, alone):
            optimizer = torch.optim.SGD(module.parameters(), 0.1)
            curves.append(torch.tensor([step(module, IDS, optimizer, seed) for seed in range(40)]))
        self.assertTrue(all(curve[-1] < curve[0] for curve in curves))
        near, far = ((curve - curves[0]).abs().max().item() for curve in curves[1:])
        self.assertLess(near, far)

    def test_it_is_undone_where_the_exact_part_is_not_equal(self):
        module = settled(Stream(drop=0.2).double())
        module.eval()
        keys, before = sorted(module.state_dict()), module(IDS)
        real = normlens.module.centered.centered
        with unittest.mock.patch("normlens.module.centered.centered", lambda raw, *more: real(raw, *more) * 1.001):
            with self.assertRaisesRegex(normlens.NotEqual, "undone"):
                normlens.cbwc(module, IDS, exact=False)
        self.assertEqual(sorted(module.state_dict()), keys)
        self.assertTrue(torch.equal(module(IDS), before))


if __name__ == "__main__":
    unittest.main()
