"""The contract of a fold: what the report states, and the check of it that the folded module carries.

    test_guard.py ENGINE
"""

import copy
import pickle
import sys
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

    def test_a_guard_that_was_not_tried_is_named(self):
        text = "input 0 has a size from 2 to 2000 in axis -2 (a guard of the code that was not tried)"
        self.assert_told(text, lambda x, *_: x.size(1) > 2000, WIDE)

    def test_a_trial_has_elements(self):
        text = "input 0 has a size in axis -2 that the code treats as it does 3, unlike 17"
        self.assert_told(text, lambda x, *_: x.size(1) % 17 == 0, WIDE)

    def test_types_layouts_ranks_lengths_and_keys_are_tried(self):
        self.assert_told("x is float32", lambda x, *_: x.dtype == torch.int64, WIDE)
        self.assert_told("x is float32", lambda x, *_: x.dtype == torch.float16, WIDE)
        self.assert_told("x is contiguous", lambda x, *_: not x.is_contiguous(), WIDE)
        self.assert_told("x has 3 axes", lambda x, *_: x.dim() == 2, WIDE)
        self.assert_told("x has length 1", lambda x, *_: len(x) > 1, [WIDE])
        self.assert_told("x has the key 'y'", lambda x, *_: "y" not in x, {"x": WIDE, "y": WIDE})
        self.assert_told("x has its keys in this order", lambda x, *_: list(x)[0] == "y", {"x": WIDE, "y": WIDE})
        self.assert_told("x[0] is float32", lambda x, *_: x[0].dtype == torch.int64, [WIDE])


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
        module, _ = folded(_sizes, WIDE, guard="raise")
        guard = next(iter(module._forward_pre_hooks.values()))
        call = timeit.Timer(lambda: guard(module, (WIDE, 1.0), {"mode": "plain"}))
        self.assertLess(min(call.repeat(50, 200)) / 200, 5e-6)

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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
