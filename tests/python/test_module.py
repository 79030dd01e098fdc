"""Modules folded: each trap of a module that a graph does not have.

    run_tests.py test_module.py ENGINE
"""

import collections
import copy
import enum
import random
import types
import unittest
import unittest.mock

import package

package.need_torch()

import torch
from torch import nn
from torch.nn import functional

import normlens
from equal import assert_equal, assert_same, fold_of, layer_norms, settled, snapshot
from normlens.module import export
from streams import IDS, WIDTH, Stream, X


def stream_of(forward):
    return settled(type("Given", (Stream,), {"forward": forward})().double())


def stream(**options):
    return settled(Stream(**options).double())


class Folds(unittest.TestCase):
    def folded(self, module, example, count, **options):
        """Folds; so many norms are RMSNorms, outputs are equal, and the original is as it was."""
        before = snapshot(module)
        folded, report, original = fold_of(module, example, **options)
        assert_same(self, before, module)
        self.assertEqual(len(report.folded), count, report)
        for path in report.folded:
            self.assertIsInstance(folded.get_submodule(path), nn.RMSNorm)
        self.assertEqual(set(layer_norms(folded)), set(layer_norms(original)) - set(report.folded))
        assert_equal(self, folded, original, example)
        return folded, report

    def test_a_stream(self):
        folded, report = self.folded(stream(), IDS, 3)
        self.assertEqual(report.untied, ())
        self.assertTrue(all(check.passed for check in report.checks))
        for norm in folded.norms[:2]:
            self.assertIs(type(norm), nn.RMSNorm, "its shift went into the linear behind it")
        self.assertIsNotNone(folded.norms[2].bias, "the head has no bias that could take it")

    def test_in_its_own_type(self):
        for dtype, limit in ((torch.float32, 1e-5), (torch.bfloat16, 0.1), (torch.float16, 0.02)):
            with self.subTest(dtype):
                module = settled(Stream().to(dtype))
                folded, report, original = fold_of(module, IDS)
                self.assertEqual(len(report.folded), 3, report)
                self.assertEqual({p.dtype for p in folded.parameters()}, {dtype})
                assert_equal(self, folded, original, IDS, limit)
                self.assertIn(str(dtype).removeprefix("torch."), {check.dtype for check in report.checks})

    def test_tied_embeddings_are_untied_aloud(self):
        module = stream(tied=True)
        folded, report = self.folded(module, IDS, 3, policy="free")
        self.assertEqual(report.untied, ("embed.weight is centered, head.weight keeps the original",))
        self.assertIsNot(folded.embed.weight, folded.head.weight)
        self.assertTrue(torch.equal(folded.head.weight, module.head.weight))
        self.assertIs(module.embed.weight, module.head.weight)

    def test_tied_embeddings_stay_tied_where_no_copy_may_be(self):
        folded, report = self.folded(stream(tied=True), IDS, 3, max_growth=0)
        self.assertEqual(report.untied, ())
        self.assertIs(folded.embed.weight, folded.head.weight)
        self.assertEqual(len(folded.embed._forward_hooks), 1, "the embedding's output is centered when it runs")

    def test_a_tied_pair_that_a_function_reads_is_kept(self):
        def forward(self, ids):
            x = self.embed(ids)
            return functional.linear(self.norms[0](x), self.embed.weight)

        _, report = self.folded(stream_of(forward), IDS, 0, policy="free")
        self.assertIn("two tensors, for two reads of one module", report.kept["norms.0"])

    def test_in_place(self):
        module = stream()
        parameters = dict(module.named_parameters())
        folded, report, original = fold_of(module, IDS, inplace=True)
        self.assertIs(folded, module)
        self.assertEqual(len(report.folded), 3)
        assert_equal(self, module, original, IDS)
        for name, parameter in module.named_parameters():
            self.assertIs(parameter, parameters[name], "an optimizer holds it")

    def test_a_centered_buffer_that_no_state_dict_holds_is_named(self):
        class Sines(nn.Module):
            def __init__(self, persistent):
                super().__init__()
                self.stem, self.norm = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH)
                self.register_buffer("positions", torch.randn(WIDTH), persistent=persistent)

            def forward(self, x):
                return self.norm(self.stem(x) + self.positions)

        for persistent in (True, False):
            for inplace in (False, True):
                module = settled(Sines(persistent).double())
                _, report = normlens.fold(module, torch.randn(3, WIDTH, dtype=torch.float64), inplace=inplace)
                said = [text for text in report.conditions if "no state_dict holds it" in text]
                self.assertEqual(said, [] if persistent else ["positions is centered, and no state_dict holds it: save the module itself"])

    def test_modes_are_left_alone(self):
        module = stream(drop=0.5).train()
        module.mix[0].eval()
        folded, _ = self.folded(module, IDS, 3)
        module = stream(drop=0.5).train()
        module.mix[0].eval()
        folded, _ = normlens.fold(module, IDS)
        self.assertTrue(folded.training and folded.norms[0].training)
        self.assertFalse(folded.mix[0].training)

    def test_linears_without_a_bias(self):
        folded, _ = self.folded(stream(bias=False), IDS, 3)
        self.assertTrue(all(norm.bias is not None for norm in folded.norms))

    def test_norms_without_affine(self):
        folded, _ = self.folded(stream(affine=False), IDS, 3)
        self.assertTrue(all(type(norm) is nn.RMSNorm and norm.weight is None for norm in folded.norms))

    def test_a_norm_that_is_called_twice(self):
        def forward(self, ids):
            x = self.embed(ids)
            for mix in self.mix:
                x = x + mix(self.norms[0](x))
            return self.head(self.norms[0](x))

        self.folded(stream_of(forward), IDS, 1)

    def test_a_norm_that_is_called_twice_and_must_stay_once(self):
        def forward(self, ids):
            x = self.embed(ids)
            return self.head(self.norms[0](torch.relu(self.norms[0](x))))

        _, report = self.folded(stream_of(forward), IDS, 0)
        self.assertTrue(any("called 2 times" in reason for reason in report.kept.values()), report.kept)

    def test_a_norm_with_two_names(self):
        class Twice(Stream):
            def __init__(self):
                super().__init__()
                self.again = self.norms[0]

            def forward(self, ids):
                x = self.embed(ids)
                return self.head(self.norms[0](x) + self.again(x + 1.5 * self.mix[0](x)))

        folded, report, original = fold_of(settled(Twice().double()), IDS)
        assert_equal(self, folded, original, IDS)
        self.assertIs(folded.again, folded.norms[0])

    def test_a_norm_with_two_names_that_must_stay_under_one(self):
        class Twice(Stream):
            def __init__(self):
                super().__init__()
                self.again = self.norms[0]

            def forward(self, ids):
                x = self.embed(ids)
                y = torch.relu(self.mix[0](self.norms[1](x)))
                return self.head(self.norms[0](x) + self.again(y))

        _, report = self.folded(settled(Twice().double()), IDS, 1)
        self.assertTrue(any("called 2 times" in reason for reason in report.kept.values()), report.kept)

    def test_a_linear_with_two_names_that_is_centered_under_one(self):
        class Twice(Stream):
            def __init__(self):
                super().__init__()
                self.again = self.mix[0]

            def forward(self, ids):
                x = self.embed(ids)
                return torch.sin(self.mix[0](x)), self.head(self.norms[0](self.again(x)))

        _, report = self.folded(settled(Twice().double()), IDS, 0, policy="free")
        self.assertIn("two tensors, for two reads of one module", report.kept["norms.0"])

    def test_a_bias_that_is_read_beside_its_norm(self):
        def forward(self, ids):
            x = self.embed(ids)
            x = x + self.mix[0](self.norms[0](x))
            return self.mix[1](self.norms[1](x)) + self.norms[1].bias.sum()

        for zeros in (False, True):
            module = stream_of(forward)
            if zeros:
                nn.init.zeros_(module.norms[1].bias)
            folded, _ = self.folded(module, IDS, 2)
            self.assertIsNotNone(folded.norms[1].bias)
            self.assertIs(type(folded.norms[0]), nn.RMSNorm)

    def test_an_output_of_a_norm_that_is_read_twice(self):
        def forward(self, ids):
            y = self.norms[0](self.embed(ids))
            return self.mix[0](y) + torch.sin(y)

        folded, _ = self.folded(stream_of(forward), IDS, 1)
        self.assertIsNotNone(folded.norms[0].bias, "not every reader could take it")

    def test_a_bias_that_two_linears_share(self):
        class Shared(Stream):
            def __init__(self):
                super().__init__()
                self.mix[1][0].bias = self.mix[0][0].bias

        self.folded(settled(Shared().double()), IDS, 3)

    def test_a_linear_that_is_called_twice(self):
        def forward(self, ids):
            x = self.embed(ids)
            for norm in self.norms[:2]:
                x = x + self.mix[0](norm(x))
            return self.head(self.norms[2](x))

        self.folded(stream_of(forward), IDS, 3)

    def test_a_linear_whose_output_is_returned_too(self):
        def forward(self, ids):
            x = self.embed(ids)
            return x, self.head(self.norms[0](x))

        _, report = self.folded(stream_of(forward), IDS, 0)
        self.assertTrue(report.kept["norms.0"])

    def test_a_weight_that_is_computed(self):
        module = stream()
        nn.utils.parametrizations.weight_norm(module.mix[0][2])
        folded, report, original = fold_of(module, IDS)
        assert_equal(self, folded, original, IDS)
        self.assertIn("norms.0", report.folded)
        self.assertEqual(len(report.folded) + len(report.kept), 3)

    def test_a_parameter_that_is_a_part_of_another(self):
        module = stream()
        memory = torch.randn(40, WIDTH, dtype=torch.float64)
        module.embed.weight.data = memory[:11]
        module.head.weight.data = memory[5:16]
        folded, report, original = fold_of(module, IDS)
        assert_equal(self, folded, original, IDS)

    def test_two_parameters_of_one_memory(self):
        module = stream()
        module.mix[1][2].weight.data = module.mix[0][2].weight.data
        self.folded(module, IDS, 3)

    def test_a_layer_scale(self):
        class Scaled(Stream):
            def __init__(self):
                super().__init__()
                self.gamma = nn.Parameter(torch.rand(WIDTH) + 0.5)

            def forward(self, ids):
                x = self.embed(ids)
                x = x + self.mix[0](self.norms[0](x)) * self.gamma
                return self.head(self.norms[1](x))

        folded, _ = self.folded(settled(Scaled().double()), IDS, 2)
        self.assertTrue(torch.equal(folded.gamma, torch.ones(WIDTH, dtype=torch.float64)))

    def test_a_scale_that_is_read_twice(self):
        class Scaled(Stream):
            def __init__(self):
                super().__init__()
                self.gamma = nn.Parameter(torch.rand(WIDTH) + 0.5)

            def forward(self, ids):
                x = self.embed(ids)
                for norm, mix in zip(self.norms, self.mix):
                    x = x + mix(norm(x)) * self.gamma
                return self.head(self.norms[2](x))

        folded, report, original = fold_of(settled(Scaled().double()), IDS)
        assert_equal(self, folded, original, IDS)
        self.assertIn("norms.0", report.folded)

    def test_a_norm_over_channels(self):
        class Norm2d(nn.LayerNorm):
            def forward(self, x):
                x = x.permute(0, 2, 3, 1)
                return functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps).permute(0, 3, 1, 2)

        class Image(nn.Module):
            def __init__(self):
                super().__init__()
                self.cut, self.norm = nn.Conv2d(3, WIDTH, 2, 2), Norm2d(WIDTH)

            def forward(self, image):
                return self.norm(self.cut(image)).flatten(1)

        image = torch.randn(2, 3, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
        folded, _ = self.folded(settled(Image().double()), image, 1)
        self.assertTrue(folded.norm.channels_first)

    def test_a_norm_with_a_hook_is_kept(self):
        module = stream()
        module.norms[0].register_forward_hook(lambda part, args, output: None)
        folded, report, original = fold_of(module, IDS)
        self.assertIn("hooks", report.kept["norms.0"])
        assert_equal(self, folded, original, IDS)

    def test_a_norm_that_is_a_function_is_kept(self):
        def forward(self, ids):
            x = functional.layer_norm(self.embed(ids), (WIDTH,))
            return self.head(x)

        _, report = self.folded(stream_of(forward), IDS, 0)
        self.assertTrue(any("no module that could be replaced" in reason for reason in report.kept.values()), report.kept)

    def test_a_norm_that_is_the_model(self):
        class Centering(nn.LayerNorm):
            def forward(self, x):
                x = x - x.mean(-1, keepdim=True)
                return functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

        _, report = self.folded(settled(Centering(WIDTH).double()), X, 0)
        self.assertEqual(len(report.kept), 1)

    def test_torch_s_own_transformers(self):
        """Their fused forward, which they take when they evaluate, has LayerNorms of its own."""
        for layers in (1, 2):
            with self.subTest(layers=layers):
                layer = nn.TransformerEncoderLayer(WIDTH, 2, 24, batch_first=True, norm_first=True, activation="gelu")
                encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(WIDTH), enable_nested_tensor=False)
                module = settled(nn.Sequential(nn.Linear(WIDTH, WIDTH), encoder, nn.Linear(WIDTH, 5)).double())
                folded, _ = self.folded(module, X, 2 * layers + 1)
                self.assertIs(type(folded[1].layers[0].norm1), nn.RMSNorm)

    def test_torch_s_transformer_with_norms_after_is_kept(self):
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 24, batch_first=True)
        _, report = self.folded(settled(nn.Sequential(nn.Linear(WIDTH, WIDTH), layer).double()), X, 0)
        self.assertEqual([norm.verdict for norm in report], ["blocked", "blocked"])

    def test_centerings_at_places_that_are_no_module_s_output_are_not_asked_for(self):
        class Gated(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(WIDTH, WIDTH)
                self.one, self.other = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

            def forward(self, x):
                x = torch.relu(self.first(x))
                return self.one(x) * self.other(x * 3.0)

        _, report = self.folded(settled(Gated().double()), X, 0, policy="all")
        self.assertTrue(all("no module's output" in reason for reason in report.kept.values()), report.kept)

    def test_centerings_of_a_module_s_output(self):
        class Gated(nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.gate = nn.Linear(WIDTH, WIDTH), nn.ReLU()
                self.one, self.other = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

            def forward(self, x):
                x = self.gate(self.first(x))
                return self.one(x) * self.other(x * 3.0)

        folded, _ = self.folded(settled(Gated().double()), X, 2, policy="all")
        self.assertEqual(len(folded.gate._forward_hooks), 1)
        assert_equal(self, copy.deepcopy(folded), folded, X)

    def test_a_centering_behind_a_norm_that_is_replaced_too(self):
        def forward(self, ids):
            x = self.norms[0](self.embed(ids))
            x = x + self.mix[0](self.norms[1](x))
            return self.head(self.norms[2](x))

        folded, _ = self.folded(stream_of(forward), IDS, 3, policy="all")
        self.assertEqual(len(folded.norms[0]._forward_hooks), 1)

    def test_a_centering_that_is_not_equal_falls_back_to_what_is(self):
        def forward(self, ids):
            x = self.norms[0](self.embed(ids))
            return self.head(x + self.norms[1](self.mix[1][1](x)))

        with unittest.mock.patch("normlens.module.resolve.CenterOutput.__call__", lambda self, module, args, output: output * 2):
            module = stream_of(forward)
            foretold = normlens.analyze(module, IDS, policy="all")
            _, report = self.folded(module, IDS, 1, policy="all")
        self.assertIn("its input has a mean when it runs", report.kept["norms.1"])
        self.assertEqual(foretold.norms, report.norms)

    def test_a_fold_that_is_not_equal_is_foretold(self):
        real = normlens.module.resolve.centered_jointly

        def spoilt(tensors, patterns):
            return [value * 1.001 for value in real(tensors, patterns)]

        with unittest.mock.patch("normlens.module.resolve.centered_jointly", spoilt):
            for norm in normlens.analyze(stream(), IDS):
                self.assertFalse(norm.folds)
                self.assertRegex(norm.because, "undone: the changed module differs from the original")

    def test_a_module_that_changes_itself_at_its_first_call(self):
        class Rescaled(Stream):
            done = False

            def forward(self, ids):
                if not self.done:
                    with torch.no_grad():
                        self.embed.weight.div_(2)
                    self.done = True
                return super().forward(ids)

        module = settled(Rescaled().double())
        foretold = normlens.analyze(module, IDS)
        _, report, _ = fold_of(module, IDS)
        self.assertEqual(foretold.norms, report.norms)
        self.assertEqual(len(report.folded), 3)

        for changes in (normlens.fold, normlens.cbwc):  # no run was before
            _, report = changes(settled(Rescaled().double()), IDS)
            self.assertEqual(len(report.folded), 3)

    def test_what_a_run_leaves_in_attributes(self):
        """It is taken back, and each run starts from the same."""

        class Remembering(Stream):
            def __init__(self):
                super().__init__()
                self.calls, self.before, self.sums = 0, None, torch.zeros(2)
                self.seen, self.by_name = [[]], {"calls": {0}}

            def forward(self, ids):
                x = self.embed(ids)
                self.calls += 1
                self.sums += 1
                self.seen[0].append(x)
                self.by_name["calls"].add(self.calls)
                self.new = self.calls
                x, self.before = x if self.before is None else x + self.before, x[:1, :1]
                return self.head(self.norms[0](x if max(self.calls, len(self.seen[0])) < 3 else x.abs()))

        module = settled(Remembering().double())
        held = dict(vars(module))
        for call in (normlens.analyze, normlens.fold, normlens.cbwc):
            changed = call(module, IDS)
            for one in (module, changed[0] if call is normlens.fold else module):
                self.assertEqual((one.calls, one.before, one.seen, one.by_name), (0, None, [[]], {"calls": {0}}))
                self.assertEqual(one.sums.tolist(), [0, 0])
                self.assertEqual(vars(one).keys(), held.keys())
            self.assertTrue(all(vars(module)[name] is value for name, value in held.items()))
            report = changed if call is normlens.analyze else changed[1]
            self.assertEqual([norm.path for norm in report if norm.folds], ["norms.0"])
        for name in ("seen", "before"):
            self.assertIn(f"{name}, which a call leaves in the module, is not read", report.conditions)

    def test_objects_of_other_classes_are_left_as_they_were(self):
        class Slotless:
            def __init__(self):
                self.calls, self.last, self.seen = 0, None, collections.Counter()
                self.total = torch.zeros(WIDTH, dtype=torch.float64)
                self.inner = types.SimpleNamespace(history=[0], batch=nn.BatchNorm1d(WIDTH).double())

        class Counting(Stream):
            def __init__(self):
                super().__init__()
                self.kept, self.random = (Slotless(),), random.Random(3)

            def forward(self, ids):
                kept = self.kept[0]
                kept.calls += 1
                kept.seen["calls"] += 1
                kept.inner.history.append(self.random.random())
                kept.fresh = ids + 1
                x = self.embed(ids)
                kept.last = x.detach()
                kept.total += x.detach().sum((0, 1))
                kept.inner.batch(x.detach().transpose(1, 2))
                return super().forward(ids)

        for change in (normlens.analyze, normlens.cbwc, lambda module, x: normlens.fold(module, x, inplace=True)):
            module = settled(Counting().double()).train()
            kept = module.kept[0]
            before, mean = copy.deepcopy(vars(kept)), kept.inner.batch.running_mean.clone()
            drawn = copy.deepcopy(module.random).random()
            change(module, IDS)
            self.assertIs(module.kept[0], kept)
            self.assertEqual((kept.calls, kept.last, kept.seen, kept.inner.history), (0, None, collections.Counter(), [0]))
            self.assertEqual(vars(kept).keys(), before.keys())
            self.assertEqual(float(kept.total.abs().max()), 0)
            self.assertTrue(torch.equal(kept.inner.batch.running_mean, mean))
            self.assertEqual(module.random.random(), drawn)

    def test_what_a_run_leaves_in_objects_is_a_condition(self):
        class Slotted:
            __slots__ = ("last",)

            def __init__(self):
                self.last = None

        class Remembering(Stream):
            def __init__(self, kept):
                super().__init__()
                self.kept = kept

            def forward(self, ids):
                kept = self.kept["one"]
                x = self.embed(ids)
                y = super().forward(ids)
                y, kept.last = y if kept.last is None else y + kept.last.tanh().sum(), x
                return y

        for kept in (Slotted(), types.SimpleNamespace(last=None)):
            module = settled(Remembering({"one": kept}).double())
            for change in (normlens.analyze, normlens.fold, normlens.cbwc):
                changed = change(module, IDS)
                self.assertIsNone(kept.last)
                if change is not normlens.analyze:
                    self.assertIn("kept, which a call leaves in the module, is not read", changed[1].conditions)

    def test_a_number_that_a_call_changes_is_a_condition(self):
        class Counting(Stream):
            def __init__(self, kept):
                super().__init__()
                self.calls, self.kept = 0, kept

            def forward(self, ids):
                if self.kept is None:
                    self.calls += 1
                else:
                    self.kept.calls += 1
                return super().forward(ids)

        for kept, name in ((None, "calls"), (types.SimpleNamespace(calls=0), "kept")):
            _, report = normlens.fold(settled(Counting(kept).double()), IDS)
            self.assertIn(f"{name}, which a call changes, decides nothing", report.conditions)
        self.assertEqual(normlens.fold(settled(Stream().double()), IDS)[1].conditions, ())

    def test_a_larger_batch_that_takes_another_branch_is_told(self):
        def forward(self, ids):
            x = self.embed(ids)
            return self.head(self.norms[0](x if ids.size(0) == 1 else x.abs()))

        _, report = self.folded(stream_of(forward), IDS[:1], 1)
        self.assertIn("input 0 has size 1 in axis -2", report.conditions)

    def test_inputs_by_name_in_both_ways_and_outputs_of_any_kind(self):
        def forward(self, ids, *, scale=None, flag=True):
            x = self.embed(ids)
            y = self.norms[0](x) if flag else x
            return {"logits": self.head(y * scale), "flag": flag, "all": (y, [ids])}

        scale = torch.tensor(0.5, dtype=torch.float64)
        for example in ({"ids": IDS, "scale": scale}, ((IDS,), {"scale": scale, "flag": True})):
            with self.subTest(type(example).__name__):
                self.folded(stream_of(forward), example, 1)


    def test_a_batch_norm_that_would_have_to_be_rewritten(self):
        class Batched(Stream):
            def __init__(self):
                super().__init__()
                self.conv, self.batch = nn.Conv1d(WIDTH, WIDTH, 1), nn.BatchNorm1d(WIDTH)
                self.batch.running_mean.normal_()

            def forward(self, ids):
                x = self.batch(self.conv(self.embed(ids).transpose(1, 2))).transpose(1, 2)
                return self.head(self.norms[0](x))

        _, report = self.folded(settled(Batched().double()), IDS, 0)
        self.assertIn("BatchNorm", report.kept["norms.0"])

    def test_a_table_whose_rows_are_rescaled_when_they_are_read(self):
        """Rows that the example does not read have not been rescaled yet."""
        module = stream()
        module.embed.max_norm = 1.0
        few = IDS % 3
        folded, _, original = fold_of(module, few)
        assert_equal(self, folded, original, few)
        assert_equal(self, folded, original, IDS)

    def test_a_model_that_cannot_run_with_hooks(self):
        def forward(self, ids):
            x = self.embed(ids)
            return torch.cond(ids.sum() > 3, lambda x: self.norms[0](x), lambda x: self.norms[1](x), (x,))

        self.folded(stream_of(forward), IDS, 0)

    def test_a_plan_that_the_engine_cannot_carry_out(self):
        class Autocast(Stream):
            def forward(self, ids):
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    return super().forward(ids)

        _, report, _ = fold_of(settled(Autocast()), IDS)
        self.assertEqual(report.folded, ())
        self.assertIn("torch.autocast", report.kept["norms.0"])

    def test_a_size_of_1_that_it_rests_on_is_told(self):
        def forward(self, x, gate):
            return self.head(self.norms[0](self.mix[0][2](x) * gate))

        x = torch.randn(3, 5, 24, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
        unused = "embed, norms.1, norms.2, mix.0.0 and 1 more are not used"
        for gate in (x[..., :1], x[:, :1, :1]):
            _, report = self.folded(stream_of(forward), (x, gate), 1)
            self.assertEqual(report.conditions, ("input 1 has size 1 in axis -1", unused))

    def assert_told(self, decision, example, condition):
        """Of a module that does something else when the decision falls otherwise."""
        forwards = {
            "parity": lambda self, x: self.end(self.start(x), x.shape[0] % 2 == 0),
            "equal": lambda self, x, y: self.end(self.start(x), x.shape[0] == y.shape[0]),
            "mode": lambda self, x, mode: self.end(self.start(x), mode == 3),
            "both": lambda self, x, a=False, b=False: self.end(self.start(x), not (a and b)),
            "mask": lambda self, x, mask=None: self.end(self.start(x), mask is None),
        }

        class Deciding(nn.Module):
            def __init__(self):
                super().__init__()
                self.start, self.norm = nn.Linear(24, 24), nn.LayerNorm(24)

            def end(self, y, plain):
                return self.norm(y if plain else y.abs())

            forward = forwards[decision]

        _, report = self.folded(settled(Deciding().double()), example, 1)
        self.assertIn(condition, report.conditions)

    def test_the_branch_that_it_rests_on_is_told(self):
        class Branching(nn.Module):
            def __init__(self, takes_first):
                super().__init__()
                self.first, self.second, self.norm = nn.Linear(24, 24), nn.Linear(24, 24), nn.LayerNorm(24)
                self.takes_first = takes_first

            def forward(self, x, direct=True):
                if self.takes_first is not None:
                    return self.norm(self.first(x) if self.takes_first else self.second(x))
                y = self.first(x) + self.second(x)
                return self.norm(y if direct and x.shape[0] > 4 else y.abs())

        x = torch.randn(8, 24, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
        _, report = self.folded(settled(Branching(None).double()), (x,), 1)
        self.assertEqual(report.conditions, ("input 0 has size 5 or more in axis -2", "direct is True"))
        with unittest.mock.patch.object(export, "_open_shapes", export._fixed_shapes):
            _, report = self.folded(settled(Branching(None).double()), (x,), 1)
        self.assertEqual(report.conditions, ("input 0 has size 8 in axis -2", "direct is True"))
        self.assert_told("parity", (x[:6],), "input 0 has a size in axis -2 that the code treats as it does 6, unlike 5")
        self.assert_told("equal", (x, x + 1), "input 0 has a size in axis -2 that the code treats as it does 8, unlike 7")
        self.assert_told("mode", (x, 3), "mode is 3")
        self.assert_told("both", (x,), "a, b are as in the example")
        self.assert_told("mask", (x, None), "mask is None")
        for first, unused in ((True, "second"), (False, "first")):
            _, report = self.folded(settled(Branching(first).double()), (x,), 1)
            self.assertEqual(report.conditions, (f"{unused} is not used",))


class Refuses(unittest.TestCase):
    def test_a_module_without_numbers(self):
        with self.assertRaisesRegex(normlens.ExportFailed, "meta device"):
            normlens.fold(Stream().to("meta"), IDS)

    def test_a_module_that_cannot_be_exported(self):
        class Branches(Stream):
            def forward(self, ids):
                x = self.norms[0](self.embed(ids))
                return x if x.sum().item() > 0 else -x

        module = stream()
        module.__class__ = Branches
        for call in (normlens.analyze, normlens.fold, normlens.cbwc):
            with self.subTest(call.__name__):
                with self.assertRaisesRegex(normlens.ExportFailed, "graph of Branches: .*data-dependent"):
                    call(module, IDS)

    def test_an_argument_that_no_file_has_a_form_for(self):
        class Told(Stream):
            def forward(self, ids, kind):
                return super().forward(ids)

        module = stream()
        module.__class__ = Told
        with self.assertRaisesRegex(normlens.ExportFailed, "cannot write its graph of Told"):
            normlens.fold(module, (IDS, enum.Enum("Kind", "A").A))

    def test_a_module_without_inputs(self):
        with self.assertRaisesRegex(TypeError, "example_inputs are needed"):
            normlens.fold(stream())

    def test_options_for_files(self):
        for options in ({"norm": "fast"}, {"output": "x.pt2"}):
            with self.assertRaises(ValueError):
                normlens.fold(stream(), IDS, **options)

    def test_a_fold_that_is_not_equal_is_undone(self):
        """With an edit spoilt on its way: the verification judges, and nothing of the fold is left."""
        real = normlens.module.resolve.centered_jointly

        def spoilt(tensors, patterns):
            return [value * 1.001 for value in real(tensors, patterns)]

        for inplace in (True, False):
            for tied in (True, False):
                module = stream(tied=tied)
                before = snapshot(module)
                with unittest.mock.patch("normlens.module.resolve.centered_jointly", spoilt):
                    with self.assertRaisesRegex(normlens.NotEqual, "differs from the original.*undone") as refused:
                        normlens.fold(module, IDS, inplace=inplace, policy="free")
                self.assertFalse(all(check.passed for check in refused.exception.checks))
                assert_same(self, before, module)

    def test_a_norm_that_is_called_past_the_modules_is_no_fold(self):
        class Listed(Stream):
            def __init__(self):
                super().__init__()
                self.held = [self.norms[0]]

            def forward(self, ids):
                return self.head(self.held[0](self.embed(ids)))

        module = settled(Listed().double())
        before = snapshot(module)
        with self.assertRaisesRegex(normlens.NotEqual, "norms.0 was replaced, but .* elsewhere"):
            normlens.fold(module, IDS, inplace=True)
        assert_same(self, before, module)

    def test_an_edit_that_fails_is_undone(self):
        module = stream()
        before = snapshot(module)
        with unittest.mock.patch("normlens.module.changes.Changes.replace_module", side_effect=MemoryError):
            with self.assertRaises(MemoryError):
                normlens.fold(module, IDS, inplace=True)
        assert_same(self, before, module)

    def test_outputs_that_are_nowhere_finite(self):
        class Lost(Stream):
            def forward(self, ids):
                return super().forward(ids) * float("nan")

        module = settled(Lost().double())
        with self.assertRaisesRegex(normlens.NotEqual, "finite"):
            normlens.fold(module, IDS)


class Gated(nn.Module):
    """As LLaMA has it, with its own class of norm: one norm read by two linears without biases, a norm before a head."""

    def __init__(self, tied):
        super().__init__()
        self.table, self.norm, self.last = nn.Embedding(12, WIDTH), Written(), Written()
        self.gate, self.up = nn.Linear(WIDTH, 16, bias=False), nn.Linear(WIDTH, 16, bias=False)
        self.down, self.head = nn.Linear(16, WIDTH, bias=False), nn.Linear(WIDTH, 12, bias=False)
        if tied:
            self.head.weight = self.table.weight

    def forward(self, ids):
        x = self.table(ids)
        y = self.norm(x)
        return self.head(self.last(x + self.down(torch.sigmoid(self.gate(y)) * self.up(y))))


class Written(nn.Module):
    """As transformers writes it: float32 inside, the weight behind it."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * y


class Gammas(unittest.TestCase):
    """fold(gamma="fold")"""

    def moved(self, module, example, **options):
        """Names of the norms' weights that are ones then; outputs are equal, and the original is as it was."""
        before = snapshot(module)
        folded, report, original = fold_of(module, example, gamma="fold", **options)
        assert_same(self, before, module)
        assert_equal(self, folded, original, example)
        weights = {name: weight for name, weight in folded.named_parameters() if weight.dim() == 1 and "norm" in name or "last" in name}
        return {name for name, weight in weights.items() if bool((weight == 1).all())}, report

    def test_of_norms_that_were_there_before(self):
        names, report = self.moved(settled(Gated(tied=False).double()), IDS % 12)
        self.assertEqual(names, {"norm.weight", "last.weight"})
        self.assertEqual(report.folded, ())
        self.assertTrue(report.checks and all(check.passed for check in report.checks))
        self.assertEqual(report.weights_moved, 2)
        self.assertIn("2 norm weights moved into linear layers", report.summary())
        self.assertEqual(sum("last.weight" in text for text in report.changes), 1, report.changes)

    def test_a_tied_head_is_left_alone(self):
        names, _ = self.moved(settled(Gated(tied=True).double()), IDS % 12)
        self.assertEqual(names, {"norm.weight"})

    def test_of_norms_that_a_fold_makes(self):
        module = stream()
        names, report = self.moved(module, IDS)
        self.assertEqual(len(report.folded), 3)
        self.assertEqual(names, {"norms.0.weight", "norms.1.weight"}, "the head has no bias that could take the last one's shift")

    def test_only_where_it_is_asked_for(self):
        folded, report, _ = fold_of(settled(Gated(tied=False).double()), IDS % 12)
        self.assertEqual(report.changes, ())
        self.assertFalse(bool((folded.norm.weight == 1).any()))


