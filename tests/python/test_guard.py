"""The contract of a fold: what the report states, and the check of it that the folded module carries.

    run_tests.py test_guard.py ENGINE
"""

import contextlib
import copy
import enum
import pickle
import timeit
import unittest
import warnings

import package

package.need_torch()

import torch
from torch import nn

import families
import normlens
from equal import settled
from normlens.module.guard import Guard

WIDE = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(5))


class Way(enum.IntEnum):
    ONE = 1
    OTHER = 2


class Deciding(nn.Module):
    """Does something else where `other` is true of its arguments."""

    def __init__(self, other):
        super().__init__()
        self.first, self.norm, self.head, self.other = nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 5), other

    def forward(self, x, scale=1.0, *more, mode="plain", extra=None):
        tensor = x["x"] if isinstance(x, dict) else x[0] if isinstance(x, (list, tuple)) else x
        y = self.first(tensor.to(self.first.weight.dtype))
        end = self.head(self.norm(y))
        return end + y[..., :5] if self.other(x, scale, more, mode) else end


def folded(other, *args, guard=None, **kwargs):
    module, report = normlens.fold(settled(Deciding(other)).eval(), (args, kwargs), guard=guard)
    assert len(report.folded) == 1, report
    return module, report


class Contracts(unittest.TestCase):
    def assert_told(self, condition, other, *args, **kwargs):
        _, report = folded(other, *args, **kwargs)
        self.assertIn(condition, report.conditions)
        self.assertTrue(all(f"\n  holds if {text}" in repr(report) for text in report.conditions))

    def test_the_call_is_stated_first(self):
        _, report = folded(lambda x, *_: x.size(1) > 2000 or x.size(0) % 2 == 1, WIDE, 2.0, mode="text")
        self.assertEqual(report.contract[:3], ("x: float32[any, any, 8]", "scale: 2.0", "mode: 'text'"))
        self.assertIn("x.size(1) <= 2000", report.contract)
        self.assertIn("  exported for x: float32[any, any, 8]; scale: 2.0;", repr(report).splitlines()[1])
        self.assertIn("exported for x: float32", report._repr_html_())
        self.assertEqual({"scale is 2.0", "mode is 'text'"} - set(report.conditions), set())

    def test_what_a_call_leaves_and_other_methods_give(self):
        class Encoder(Deciding):
            def forward(self, x):
                self.mean, self.last = self.first(x).mean(), [self.head(self.norm(self.first(x)))]
                return self.last[0]

            def encode(self, x):
                return self.first(x)

            def classes(self, x):
                return self(x).argmax(-1)

        _, report = normlens.fold(settled(Encoder(None)).eval(), WIDE)
        self.assertEqual(
            report.conditions,
            ("mean, which a call leaves in the module, is not read", "nothing but forward calls Encoder.encode"),
        )

    def test_a_guard_that_was_not_tried_is_named(self):
        text = "input 0 has a size from 2 to 2000 in axis -2 (a guard of the code that was not tried)"
        self.assert_told(text, lambda x, *_: x.size(1) > 2000, WIDE)

    def test_a_trial_has_elements(self):
        text = "input 0 has a size in axis -2 that the code treats as it does 3, unlike 17"
        self.assert_told(text, lambda x, *_: x.size(1) % 17 == 0, WIDE)

    def test_a_size_that_the_code_cannot_compute_with_is_no_trial(self):
        """torch.export's expression of the remainder has no value where what is divided is negative."""
        wide = torch.randn(2, 11, 8, generator=torch.Generator().manual_seed(5))
        text = "input 0 has a size in axis -2 that the code treats as it does 11, unlike 18"
        self.assert_told(text, lambda x, *_: x.unfold(1, 10, 1).size(1) % 40 == 9, wide)

    def test_types_layouts_ranks_lengths_and_keys_are_tried(self):
        self.assert_told("x is float32", lambda x, *_: x.dtype == torch.int64, WIDE)
        self.assert_told("x is float32", lambda x, *_: x.dtype == torch.float16, WIDE)
        self.assert_told("x is contiguous", lambda x, *_: not x.is_contiguous(), WIDE)
        self.assert_told("x has 3 axes", lambda x, *_: x.dim() == 2, WIDE)
        self.assert_told("x has length 1", lambda x, *_: len(x) > 1, [WIDE])
        self.assert_told("x has the key 'y'", lambda x, *_: "y" not in x, {"x": WIDE, "y": WIDE})
        self.assert_told("x has its keys in this order", lambda x, *_: list(x)[0] == "y", {"x": WIDE, "y": WIDE})
        self.assert_told("x[0] is float32", lambda x, *_: x[0].dtype == torch.int64, [WIDE])


class Own(torch.Tensor):
    pass


def graded(x):
    return x.clone().requires_grad_()


def permuted(x):
    return x.to(memory_format=torch.channels_last)


def never(x, *_):
    return False


class Tensors(unittest.TestCase):
    """What the code may ask of a tensor beside its type and sizes: told where it decides by it, and nowhere else."""

    def assert_decides(self, condition, other, example, inside, outside):
        module, report = folded(other, *example, guard="raise")
        self.assertIn(condition, report.conditions)
        module(*inside)
        with self.assertRaises(normlens.OutsideContract):
            module(*outside)

    def test_what_the_code_decides_by_is_told(self):
        turned, spread = WIDE.transpose(0, 1), torch.randn(2, 8, 4, 8)
        for condition, other, one, another in (
            ("x requires {} gradient", lambda x, *_: x.requires_grad, WIDE, graded(WIDE)),
            ("x is a {}", lambda x, *_: isinstance(x, nn.Parameter), WIDE, nn.Parameter(WIDE, False)),
            ("x is {}contiguous", lambda x, *_: not x.is_contiguous(), WIDE, turned),
            ("x is {}contiguous", lambda x, *_: x.is_contiguous(memory_format=torch.channels_last), spread, permuted(spread)),
            ("x is {}contiguous", lambda x, *_: x.stride(1) < x.stride(0), turned, WIDE),
        ):
            for example, outside in ((one, another), (another, one)):
                with self.subTest(condition, example=type(example).__name__):
                    words = {"x is a {}": type(example).__name__, "x is {}contiguous": "" if example.is_contiguous() else "not "}
                    told = condition.format(words.get(condition, "a" if example.requires_grad else "no"))
                    flipped = other if example is one else lambda *args, other=other: not other(*args)
                    self.assert_decides(told, flipped, (example,), (example,), (outside,))

    def test_a_sparse_tensor(self):
        class Sparse(Deciding):
            def forward(self, x):
                y = self.first(x.to_dense() if x.is_sparse else x)
                return self.head(self.norm(y if self.other(x) else y.abs()))

        for other, decides in ((lambda x: not x.is_sparse, True), (lambda x: True, False)):
            module, report = normlens.fold(settled(Sparse(other)).eval(), WIDE, guard="raise")
            self.assertEqual("x is strided" in report.conditions, decides)
            with self.assertRaises(normlens.OutsideContract) if decides else contextlib.nullcontext():
                module(WIDE.to_sparse())

    def test_one_tensor_for_two_arguments(self):
        for example, outside in (((WIDE, WIDE.clone()), (WIDE, WIDE)), ((WIDE, WIDE), (WIDE, WIDE.clone()))):
            alike = example[0] is example[1]
            told = f"x, scale are {'the same tensors as in the example' if alike else 'different tensors'}"
            self.assert_decides(told, lambda x, y, *_: (x is y) != alike, example, example, outside)

    def test_both_of_two_that_make_no_difference_alone(self):
        told = "classes, layouts and gradients of tensors are the example's"
        outside = graded(WIDE.transpose(0, 1))
        self.assert_decides(told, lambda x, *_: x.requires_grad and not x.is_contiguous(), (WIDE,), (WIDE,), (outside,))

    def test_the_order_of_keys(self):
        example = {"x": WIDE, "y": WIDE}
        outside = dict(reversed(example.items()))
        self.assert_decides("x has its keys in this order", lambda x, *_: list(x)[0] == "y", (example,), (example,), (outside,))
        folded(never, example, guard="raise")[0](outside)

    def test_what_makes_no_difference_is_not_told(self):
        for example in ((WIDE, WIDE.clone()), (WIDE, WIDE), (graded(WIDE), nn.Parameter(WIDE))):
            module, report = folded(never, *example, guard="raise")
            self.assertEqual(report.conditions, ())
            others = (graded(WIDE), WIDE.transpose(0, 1), nn.Parameter(WIDE), WIDE[:, ::2])
            for call in (example, (WIDE, WIDE), *((other, WIDE) for other in others)):
                module(*call)
            with self.assertRaisesRegex(normlens.OutsideContract, "x is float32.*Own, not float32"):
                module(WIDE.as_subclass(Own), WIDE)


class Guards(unittest.TestCase):
    def assert_named(self, module, text, *args, **kwargs):
        for one in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), module):
            with self.assertRaisesRegex(normlens.OutsideContract, text):
                one(*args, **kwargs)

    def test_arguments_are_named(self):
        module, _ = folded(_sizes, WIDE, 1.0, guard="raise")
        for shape in ((2, 3, 8), (1, 3, 8), (4, 1, 8), (5, 7, 8)):
            module(torch.ones(shape), 1.0)
        module(x=WIDE, scale=1.0, mode="plain")
        self.assert_named(module, r"x is float32\[3, 8\], not float32\[any, any, 8\]", WIDE[0], 1.0)
        self.assert_named(module, "x is float64", WIDE.double(), 1.0)
        self.assert_named(module, "scale is 2.0, not 1.0", WIDE, 2.0)
        self.assert_named(module, "scale is 1, not 1.0", WIDE, 1)
        self.assert_named(module, "more is a tuple of 1, not a tuple of 0", WIDE, 1.0, 3)
        self.assert_named(module, "mode is 'text', not 'plain'", WIDE, 1.0, mode="text")
        self.assert_named(module, "extra is float32.*, not None", WIDE, 1.0, extra=WIDE)
        self.assert_named(module, "x.size.1. <= 20 does not hold", torch.ones(2, 21, 8), 1.0)

    def test_defaults_of_any_class_are_constants(self):
        for given, other in ((Way.ONE, Way.OTHER), (torch.relu, torch.sigmoid), (torch.float32, torch.float64)):

            class Defaulting(Deciding):
                def forward(self, x, mode=given):
                    return super().forward(x, mode=mode)

            made = settled(Defaulting(lambda x, scale, more, mode, other=other: mode == other)).eval()
            module, _ = normlens.fold(made, (WIDE,), guard="raise")
            module(WIDE)
            with self.assertRaisesRegex(normlens.OutsideContract, "mode is"):
                module(WIDE, other)

    def test_the_first_call_outside_is_warned_of_once(self):
        module, _ = folded(_sizes, WIDE, guard="warn")
        with self.assertWarnsRegex(UserWarning, "Deciding was folded for other calls: x is float64.*unguard"):
            module(WIDE.double())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            module(WIDE.double())

    def test_it_can_be_removed_or_left_out(self):
        module, _ = folded(_sizes, WIDE, guard="raise")
        self.assertIs(normlens.unguard(module), module)
        module(WIDE.double())
        for guard in ("warn", "raise", None):
            module, _ = folded(_sizes, WIDE, guard=guard)
            found = [hook for hook in module._forward_pre_hooks.values() if isinstance(hook, Guard)]
            self.assertEqual(len(found), guard is not None)
        with self.assertRaisesRegex(ValueError, "guard is"):
            normlens.fold(module, WIDE, guard="always")

    def test_it_costs_less_than_5_microseconds(self):
        """At the first call of a shape too."""
        module, _ = folded(_sizes, WIDE, guard="raise")
        guard = next(iter(module._forward_pre_hooks.values()))
        calls = [torch.ones(batch, tokens, 8) for batch in range(2, 12) for tokens in range(2, 20)]
        check = timeit.Timer(lambda: [guard(module, (x, 1.0), {"mode": "plain"}) for x in calls])
        self.assertLess(min(check.repeat(20, 1)) / len(calls), 5e-6)

    def test_compilation_and_export_are_as_without_it(self):
        for guard in ("raise", None):
            module, _ = folded(_sizes, WIDE, guard=guard)
            compiled = torch.compile(module, fullgraph=True, backend="eager")
            self.assertTrue(torch.equal(compiled(WIDE), module(WIDE)))
            dynamic = {"x": {0: torch.export.Dim.AUTO}}
            for strict in (False, True):
                program = torch.export.export(module, (WIDE,), dynamic_shapes=dynamic, strict=strict)
                self.assertTrue(torch.allclose(program.module()(WIDE[:1].expand(4, 3, 8)), module(WIDE[:1].expand(4, 3, 8).clone())))
        self.assertEqual(len(normlens.analyze(module, WIDE)), 0)

    def test_a_trace_is_as_without_it(self):
        module, _ = folded(never, WIDE, guard="raise")
        with warnings.catch_warnings():
            warnings.simplefilter("error", torch.jit.TracerWarning)
            traced = torch.jit.trace(module, WIDE, check_trace=False)
        self.assertTrue(torch.equal(traced(WIDE), module(WIDE)))

    def test_a_model_generates_with_it(self):
        try:
            model, inputs = families.gpt2()
        except ImportError:
            self.skipTest("transformers is not installed: packaging/test installs it")
        module, _ = normlens.fold(settled(model.double()).eval(), inputs)
        given = {**inputs, "max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False}
        with self.assertWarnsRegex(UserWarning, "GPT2LMHeadModel was folded for other calls"):
            text = module.generate(**given)
        self.assertTrue(torch.equal(text, normlens.unguard(module).generate(**given)))


def _sizes(x, scale, more, mode):
    return x.size(1) > 20
