"""The ops of libnormlens_ops.so as Python sees them: loaded, called, checked against double, traced, exported.

Call: test_ops.py LIBRARY. The library needs torch only; nothing else of NormLens.
"""

import io
import sys
import unittest
import warnings

import torch

EPS = 1e-5
TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
ROUNDING = {torch.float32: 4e-6, torch.float64: 1e-14, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def reference(x, weight=None, bias=None):
    x = x.double()
    y = x / torch.sqrt((x * x).mean(-1, keepdim=True) + EPS)
    if weight is not None:
        y = y * weight.double()
    return y if bias is None else y + bias.double()


def relative(got, expected):
    return ((got.double() - expected).abs().max() / expected.abs().max()).item()


class RmsNorm(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)

    def check(self, x, weight=None, bias=None):
        y = torch.ops.normlens.rms_norm(x, weight, bias, EPS)
        self.assertEqual(y.shape, x.shape)
        self.assertEqual(y.dtype, x.dtype)
        self.assertTrue(y.is_contiguous())
        self.assertLess(relative(y, reference(x, weight, bias)), ROUNDING[x.dtype])

    def test_types_and_widths(self):
        for dtype in TYPES:
            for width in (1, 3, 17, 64, 200, 768, 4097):
                with self.subTest(dtype=dtype, width=width):
                    x = torch.randn(2, 5, width, dtype=torch.float64).to(dtype)
                    weight, bias = torch.randn(2, width, dtype=torch.float64).to(dtype)
                    self.check(x, weight, bias)
                    self.check(x, weight)
                    self.check(x, None, bias)
                    self.check(x)

    def test_weight_of_another_type(self):
        x = torch.randn(4, 40).bfloat16()
        self.check(x, torch.randn(40), torch.randn(40, dtype=torch.float64))
        self.check(torch.randn(4, 40, dtype=torch.float64), torch.randn(40).half())

    def test_views(self):
        base = torch.randn(6, 8, 10, 24)
        for name, x in {
            "rows cut": base[:, ::2],
            "columns cut": base[..., :13],
            "transposed": base.transpose(1, 2),
            "last axis strided": base.transpose(1, 3),
            "expanded": base[:1].expand(6, -1, -1, -1),
            "one row": base[0, 0, 0],
            "every second column": base[..., ::2],
            "offset weight": base[:, 1:],
        }.items():
            with self.subTest(name):
                self.check(x, torch.randn(2 * x.shape[-1])[::2], torch.randn(x.shape[-1]))

    def test_empty(self):
        for shape in ((0, 5), (3, 0), (2, 0, 7), (0,)):
            y = torch.ops.normlens.rms_norm(torch.zeros(shape), None, None, EPS)
            self.assertEqual(tuple(y.shape), shape)

    def test_many_rows_equal_one_thread(self):
        x, weight = torch.randn(3000, 257), torch.randn(257)
        many = torch.ops.normlens.rms_norm(x, weight, None, EPS)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        one = torch.ops.normlens.rms_norm(x, weight, None, EPS)
        torch.set_num_threads(threads)
        self.assertTrue(torch.equal(many, one))

    def test_agrees_with_aten(self):
        x, weight = torch.randn(64, 768), torch.randn(768)
        expected = torch.ops.aten.rms_norm(x, [768], weight, EPS)
        got = torch.ops.normlens.rms_norm(x, weight, None, EPS)
        self.assertLess(relative(got, expected.double()), 2e-6)

    def test_refusals_name_the_cause(self):
        x = torch.randn(4, 8)
        for words, call in {
            "as many elements as the last axis": lambda: torch.ops.normlens.rms_norm(x, torch.ones(7), None, EPS),
            "at least one axis": lambda: torch.ops.normlens.rms_norm(torch.tensor(1.0), None, None, EPS),
            "float32, float64": lambda: torch.ops.normlens.rms_norm(torch.ones(4, 8).int(), None, None, EPS),
            "residual must have": lambda: torch.ops.normlens.add_rms_norm(x, x[:2], None, None, EPS),
        }.items():
            with self.subTest(words), self.assertRaisesRegex(RuntimeError, words):
                call()


class AddRmsNorm(unittest.TestCase):
    def test_types(self):
        torch.manual_seed(4)
        for dtype in TYPES:
            for width in (1, 31, 768):
                with self.subTest(dtype=dtype, width=width):
                    x, residual = torch.randn(2, 3, 7, width, dtype=torch.float64).to(dtype)
                    weight, bias = torch.randn(2, width, dtype=torch.float64).to(dtype)
                    total, y = torch.ops.normlens.add_rms_norm(x, residual, weight, bias, EPS)
                    self.assertTrue(torch.equal(total, x + residual))
                    self.assertTrue(torch.equal(y, torch.ops.normlens.rms_norm(total, weight, bias, EPS)))

    def test_views(self):
        x, residual = torch.randn(5, 4, 12).transpose(0, 1), torch.randn(4, 5, 12)
        total, y = torch.ops.normlens.add_rms_norm(x, residual, None, None, EPS)
        self.assertTrue(torch.equal(total, x + residual))
        self.assertLess(relative(y, reference(total)), 4e-6)


class Integration(unittest.TestCase):
    def test_opcheck(self):
        x, weight = torch.randn(4, 6, 16), torch.randn(16)
        tests = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
        torch.library.opcheck(torch.ops.normlens.rms_norm.default, (x, weight, None, EPS), test_utils=tests)
        torch.library.opcheck(torch.ops.normlens.rms_norm.default, (x.transpose(0, 1), None, weight, EPS),
                              test_utils=tests)
        torch.library.opcheck(torch.ops.normlens.add_rms_norm.default, (x, x * 2, weight, weight, EPS),
                              test_utils=tests)

    def test_saved_and_loaded_torchscript(self):
        class Norm(torch.nn.Module):
            def forward(self, x, weight):
                return torch.ops.normlens.rms_norm(x, weight, None, 1e-5)

        x, weight = torch.randn(3, 16), torch.randn(16)
        saved = io.BytesIO()
        torch.jit.save(torch.jit.trace(Norm(), (x, weight)), saved)
        saved.seek(0)
        loaded = torch.jit.load(saved)
        self.assertTrue(torch.equal(loaded(x, weight), Norm()(x, weight)))


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=FutureWarning)  # torch.jit is what NormLens is about
    torch.ops.load_library(sys.argv.pop(1))
    unittest.main(warnings="ignore")
