"""Folds that are right in float64, in the type that ships: judged by the original's own error there, and by its range."""

import pathlib
import tempfile
import unittest

import numpy
import torch
from samples import engine

WIDTH = 32


class CancellingTables(torch.nn.Module):
    """An outlier channel of two tables cancels: the original is right, and rounding of the centered tables is not."""

    def __init__(self, outlier):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(20, WIDTH), torch.nn.Embedding(6, WIDTH)
        self.norm, self.head = torch.nn.LayerNorm(WIDTH, eps=1e-12), torch.nn.Linear(WIDTH, 5)
        for table, sign in ((self.words, 1), (self.places, -1)):
            table.weight.data *= 0.01
            table.weight.data[:, 3] = sign * outlier

    def forward(self, ids, places):
        return self.head(self.norm(self.words(ids) + self.places(places)))


class IndexOfCancellingTables(CancellingTables):
    """Beside other numbers, which are right, an index that the wrong ones decide."""

    def __init__(self, outlier):
        super().__init__(outlier)
        self.other, self.last = torch.nn.Embedding(20, WIDTH), torch.nn.LayerNorm(WIDTH)

    def forward(self, ids, places):
        return self.norm(self.words(ids) + self.places(places)).argmax(-1), self.head(self.last(self.other(ids)))


class FarFromZero(torch.nn.Module):
    """A mean of 1000 takes all digits of bfloat16: the original is off by more than its numbers, and the fold is not."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(20, WIDTH)
        self.norm, self.inner = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.last, self.head = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, 5)
        self.inner.bias.data += 1000

    def forward(self, ids):
        x = self.table(ids)
        return self.head(self.last(x + self.inner(self.norm(x))))


class OneChannelAgainstAll(torch.nn.Module):
    """Centering nearly doubles what the last channel is."""

    def __init__(self, others):
        super().__init__()
        self.first, self.norm = torch.nn.Linear(4, len(others), bias=False), torch.nn.LayerNorm(len(others))
        self.first.weight.data = others + 0.01 * torch.randn_like(others)
        self.first.weight.data[-1] = -1

    def forward(self, x):
        return self.norm(self.first(x))


class WrittenNorm(torch.nn.Module):
    """The square of a large number is infinite in float16, and what is divided by it 0."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        h = self.first(x)
        h = h - h.mean(-1, keepdim=True)
        return h / torch.sqrt((h * h).mean(-1, keepdim=True) + 1e-5)


class SumOfANorm(torch.nn.Module):
    """The second output is 0 in exact arithmetic: what it is by rounding has no scale."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = torch.nn.Linear(WIDTH, WIDTH), torch.nn.LayerNorm(WIDTH)

    def forward(self, x):
        h = self.norm(self.first(x))
        return h, h.sum()


class OwnType(unittest.TestCase):
    def fold(self, made, *inputs):
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            model, out, npz = (pathlib.Path(folder) / name for name in ("m.pt", "o.pt", "i.npz"))
            torch.jit.trace(made.eval(), inputs, check_trace=False).save(str(model))
            numpy.savez(npz, **{f"in_{i}": value.numpy() for i, value in enumerate(inputs)})
            status, result, errors = engine("fold", model, "-o", out, "--inputs", npz)
            self.assertIn(status, (0, 1), errors)
            return result

    def test_what_cancels_is_judged_by_the_originals_own_error(self):
        torch.manual_seed(0)
        ids = torch.randint(0, 20, (2, 6)), torch.arange(6).expand(2, 6).contiguous()
        for dtype, outlier in ((torch.bfloat16, 1e3), (torch.float16, 6e4), (torch.float32, 3e3)):
            result = self.fold(CancellingTables(outlier).to(dtype), *ids)
            verify, name = result["verify"], str(dtype).removeprefix("torch.")
            self.assertEqual(verify["exact"], False, verify)
            self.assertIn(f"right in float64, but not in {name}", result["reason"])
            self.assertGreater(verify["file"]["errors"]["folded"], 6 * verify["file"]["errors"]["original"])
        for dtype in (torch.bfloat16, torch.float16, torch.float32):
            self.assertEqual(self.fold(CancellingTables(1.0).to(dtype), *ids)["verify"]["exact"], True, dtype)

    def test_an_index_does_not_hide_what_decides_it(self):
        torch.manual_seed(0)
        ids = torch.randint(0, 20, (2, 6)), torch.arange(6).expand(2, 6).contiguous()
        for dtype, outlier in ((torch.bfloat16, 1e3), (torch.float16, 6e4)):
            self.assertEqual(self.fold(IndexOfCancellingTables(outlier).to(dtype), *ids)["verify"]["exact"], False, dtype)
        self.assertEqual(self.fold(IndexOfCancellingTables(1.0).half(), *ids)["verify"]["exact"], True)

    def test_a_fold_that_leaves_the_range_of_float16_is_refused(self):
        torch.manual_seed(0)
        x = torch.randn(3, 4)
        result = self.fold(OneChannelAgainstAll(torch.ones(16, 4)).half(), x.half())
        self.assertEqual(result["verify"]["exact"], False, result)
        self.assertIn("float16 ends at 65504", result["reason"])
        self.assertEqual(self.fold(OneChannelAgainstAll(torch.randn(16, 4)).half(), x.half())["verify"]["exact"], True)
        self.assertEqual(self.fold(OneChannelAgainstAll(torch.ones(16, 4)), x)["verify"]["exact"], True)

    def test_a_weight_that_centered_leaves_float16_is_not_centered(self):
        torch.manual_seed(0)
        model = OneChannelAgainstAll(torch.full((16, 4), 6e4)).half()
        model.first.weight.data[-1] = -6e4
        result = self.fold(model, 0.1 * torch.randn(3, 4).half())
        self.assertEqual((result["folded"], result["output"]), (0, None), result)
        self.assertIn("would be too large for float16", result["norms"][0]["because"])

    def test_an_original_that_is_lost_in_rounding_is_said_to_be(self):
        torch.manual_seed(0)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            torch.jit.trace(FarFromZero().bfloat16().eval(), torch.randint(0, 20, (2, 6))).save(str(folder / "m.pt"))
            status, result, _ = engine("fold", folder / "m.pt", "-o", folder / "f.pt")
            errors = result["verify"]["file"]["errors"]
            self.assertTrue(status == 0 and result["verify"]["file"]["beyond_rounding"], result)
            self.assertGreater(errors["original"], 5 * errors["folded"])
            status, result, said = engine("bench", folder / "m.pt", folder / "f.pt", "--rounds", "2")
            self.assertNotIn("wrong result", said)

    def test_other_inputs_may_be_nearer_to_the_range_than_the_sample(self):
        torch.manual_seed(0)
        result = self.fold(OneChannelAgainstAll(torch.ones(3, 4)).half(), (11250 + 100 * torch.randn(3, 4)).half())
        self.assertIn("float16 ends at 65504", result["reason"])

    def test_a_fold_that_is_nearer_to_exact_numbers_is_not_refused(self):
        torch.manual_seed(0)
        x = 1e4 * torch.randn(3, WIDTH).half()
        self.assertEqual(self.fold(WrittenNorm().half(), x)["verify"]["exact"], True)

    def test_what_is_nothing_in_exact_arithmetic_refuses_nothing(self):
        for seed in range(5):
            for dtype in (torch.float32, torch.float64):
                torch.manual_seed(seed)
                done = self.fold(SumOfANorm().to(dtype), torch.randn(3, WIDTH).to(dtype))
                self.assertEqual(done["verify"]["exact"], True, (seed, dtype))
