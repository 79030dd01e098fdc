"""The ops of libnormlens_ops.so as Python sees them: loaded, called, checked against double, traced, exported.

Call: test_ops.py LIBRARY [cuda]. The library needs torch only; nothing else of NormLens.
"""

import io
import math
import sys
import unittest
import warnings

import torch

EPS = 1e-5
DEVICE = "cpu"
TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
# Relative to the largest number: the rounding of the output, and in float32 and float64 that of the sums.
ROUNDING = {torch.float32: 4e-6, torch.float64: 1e-14, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def with_affine(y, weight, bias):
    if weight is not None:
        y = y * weight.double()
    return y if bias is None else y + bias.double()


def root(x):
    return torch.sqrt((x * x).mean(-1, keepdim=True) + EPS)


def centered(x):
    return x - x.mean(-1, keepdim=True)


class Op:
    """One op: called with the same arguments as all, and its value in double before weight and bias."""

    def __init__(self, name, formula, *more):
        self.name, self.formula, self.more = name, formula, more

    def __call__(self, x, weight=None, bias=None):
        return getattr(torch.ops.normlens, self.name)(x, weight, bias, *self.more)

    def default(self):
        return getattr(torch.ops.normlens, self.name).default

    def expected(self, x, weight=None, bias=None):
        return with_affine(self.formula(x.double()), weight, bias)


OPS = (
    Op("rms_norm", lambda x: x / root(x), EPS),
    Op("layer_norm", lambda x: centered(x) / root(centered(x)), EPS),
    Op("center", centered),
)
FUSED = (("add_rms_norm", OPS[0]), ("add_layer_norm", OPS[1]), ("add_center", OPS[2]))


def randn(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=torch.float64).to(dtype).to(DEVICE)


def relative(got, expected):
    return ((got.double() - expected).abs().max() / expected.abs().max().clamp_min(1.0)).item()


class Norms(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)

    def check(self, op, x, weight=None, bias=None):
        y = op(x, weight, bias)
        expected = op.expected(x, weight, bias)
        self.assertEqual(y.shape, expected.shape)
        self.assertEqual(y.dtype, x.dtype)
        self.assertTrue(y.is_contiguous())
        self.assertLess(relative(y, expected), ROUNDING[x.dtype])

    def test_types_and_widths(self):
        for op in OPS:
            for dtype in TYPES:
                for width in (1, 3, 17, 64, 200, 768, 4097):
                    with self.subTest(op=op.name, dtype=dtype, width=width):
                        x = randn(2, 5, width, dtype=dtype)
                        weight, bias = randn(2, width, dtype=dtype)
                        self.check(op, x, weight, bias)
                        self.check(op, x, weight)
                        self.check(op, x, None, bias)
                        self.check(op, x)

    def test_weight_of_another_type(self):
        for op in OPS:
            x = randn(4, 40, dtype=torch.bfloat16)
            self.check(op, x, randn(40), randn(40, dtype=torch.float64))
            self.check(op, randn(4, 40, dtype=torch.float64), randn(40).half())

    def test_views(self):
        base = randn(6, 8, 10, 24)
        views = {
            "rows cut": base[:, ::2],
            "columns cut": base[..., :13],
            "first column cut": base[..., 1:],
            "transposed": base.transpose(1, 2),
            "last axis strided": base.transpose(1, 3),
            "expanded": base[:1].expand(6, -1, -1, -1),
            "one row": base[0, 0, 0],
            "every second column": base[..., ::2],
        }
        for op in OPS:
            for name, x in views.items():
                with self.subTest(name, op=op.name):
                    self.check(op, x, randn(2 * x.shape[-1])[::2], randn(x.shape[-1]))

    def test_empty(self):
        for op in OPS:
            for shape in ((0, 5), (3, 0), (2, 0, 7), (0,)):
                self.assertEqual(tuple(op(torch.zeros(shape, device=DEVICE)).shape), shape)

    def test_many_rows_equal_one_thread(self):
        for op in OPS:
            x, weight = randn(3000, 257), randn(257)
            many = op(x, weight)
            threads = torch.get_num_threads()
            torch.set_num_threads(1)
            one = op(x, weight)
            torch.set_num_threads(threads)
            self.assertTrue(torch.equal(many, one))

    def test_agrees_with_aten(self):
        x, weight, bias = randn(64, 768), randn(768), randn(768)
        aten = torch.ops.aten
        for got, expected in (
            (OPS[0](x, weight), aten.rms_norm(x, [768], weight, EPS)),
            (OPS[1](x, weight, bias), aten.layer_norm(x, [768], weight, bias, EPS)),
            (OPS[2](x), x - x.mean(-1, keepdim=True)),
        ):
            self.assertLess(relative(got, expected.double()), 4e-6)

    def test_not_a_number_and_infinity_spread_as_in_torch(self):
        for dtype in TYPES:
            for poison in (math.nan, math.inf, -math.inf):
                for column in (0, 20, 36):
                    x = randn(3, 37, dtype=dtype)
                    x[1, column] = poison
                    on_cpu = x.cpu()  # torch's kernels for a GPU differ among themselves, by the width
                    for op, theirs in (
                        (OPS[0], torch.nn.functional.rms_norm(on_cpu, [37], eps=EPS)),
                        (OPS[1], torch.nn.functional.layer_norm(on_cpu, [37], eps=EPS)),
                        (OPS[2], on_cpu - on_cpu.mean(-1, keepdim=True)),
                    ):
                        with self.subTest(op=op.name, dtype=dtype, poison=poison, column=column):
                            ours = op(x).cpu()
                            self.assertTrue(torch.equal(ours.isnan(), theirs.isnan()))
                            self.assertTrue(torch.equal(ours.isposinf(), theirs.isposinf()))
                            self.assertTrue(torch.equal(ours.isneginf(), theirs.isneginf()))

    def test_a_far_mean_costs_no_more_digits_than_in_torch(self):
        x = randn(64, 4096) + 1e4
        expected = OPS[1].expected(x)
        theirs = relative(torch.nn.functional.layer_norm(x, [4096], eps=EPS), expected)
        ours = relative(OPS[1](x), expected)
        self.assertLess(ours, 1e-5)
        self.assertLessEqual(ours, theirs)

    def test_refusals_name_the_cause(self):
        x = randn(4, 8)
        norms = torch.ops.normlens
        for words, call in {
            "rms_norm: .*as many elements as the last axis": lambda: norms.rms_norm(x, randn(7), None, EPS),
            "layer_norm: .*at least one axis": lambda: norms.layer_norm(randn(1)[0], None, None, EPS),
            "center: .*float32, float64": lambda: norms.center(torch.ones(4, 8, device=DEVICE).int()),
            "weight must be float32": lambda: norms.center(x, torch.ones(8, device=DEVICE).int()),
            "weight must have one axis": lambda: norms.rms_norm(x, randn(1, 8), None, EPS),
            "add_rms_norm: residual must have the type": lambda: norms.add_rms_norm(x, x.half(), None, None, EPS),
            "add_center: residual must have the shape": lambda: norms.add_center(x, randn(4, 9)),
            "add_layer_norm: x needs": lambda: norms.add_layer_norm(randn(1)[0], randn(1)[0], None, None, EPS),
        }.items():
            with self.subTest(words), self.assertRaisesRegex(RuntimeError, "^normlens::.*" + words) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))

    def test_shapes_alone_are_refused_for_the_same_causes(self):
        x = torch.empty(4, 8, device="meta")
        norms = torch.ops.normlens
        for words, call in {
            "rms_norm: x must be float32": lambda: norms.rms_norm(x.int(), None, None, EPS),
            "rms_norm: weight must have one axis": lambda: norms.rms_norm(x, x, None, EPS),
            "layer_norm: x needs at least one axis": lambda: norms.layer_norm(x[0, 0], None, None, EPS),
            "residual must have the type": lambda: norms.add_rms_norm(x, x.half(), None, None, EPS),
            "residual must have the shape": lambda: norms.add_rms_norm(x, x[:, :3], None, None, EPS),
        }.items():
            with self.subTest(words), self.assertRaisesRegex(RuntimeError, "^normlens::.*" + words):
                call()

    def test_no_derivative_is_told_not_made_up(self):
        x = randn(4, 8).requires_grad_()
        y = torch.ops.normlens.rms_norm(x, None, None, EPS)
        with self.assertWarnsRegex(UserWarning, "autograd kernel was not registered"):
            y.sum().backward()
        self.assertIsNone(x.grad)


class FusedNorms(unittest.TestCase):
    def test_types(self):
        torch.manual_seed(4)
        for name, plain in FUSED:
            for dtype in TYPES:
                for width in (1, 31, 768):
                    with self.subTest(name, dtype=dtype, width=width):
                        x, residual = randn(2, 3, 7, width, dtype=dtype)
                        weight, bias = randn(2, width, dtype=dtype)
                        total, y = getattr(torch.ops.normlens, name)(x, residual, weight, bias, *plain.more)
                        self.assertTrue(torch.equal(total, x + residual))
                        self.assertLess(relative(y, plain.expected(total, weight, bias)), ROUNDING[dtype])

    def test_views(self):
        for name, plain in FUSED:
            x, residual = randn(5, 4, 12).transpose(0, 1), randn(4, 5, 12)
            total, y = getattr(torch.ops.normlens, name)(x, residual, None, None, *plain.more)
            self.assertTrue(torch.equal(total, x + residual))
            self.assertLess(relative(y, plain.expected(total)), 4e-6)


    def test_broadcast(self):
        for x_shape, residual_shape in (((3, 4, 8), (4, 8)), ((1, 4, 8), (3, 4, 8)), ((3, 1, 8), (1, 4, 8)), ((2, 8), (1,))):
            x, residual = randn(*x_shape), randn(*residual_shape)
            total, y = torch.ops.normlens.add_rms_norm(x, residual, None, None, EPS)
            self.assertTrue(torch.equal(total, x + residual))
            self.assertLess(relative(y, OPS[0].expected(total)), 4e-6)


class Integration(unittest.TestCase):
    def test_opcheck(self):
        tests = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
        x, weight = randn(4, 6, 16), randn(16)
        for op in OPS:
            for arguments in ((x, weight, None), (x.transpose(0, 1), None, weight)):
                torch.library.opcheck(op.default(), (*arguments, *op.more), test_utils=tests)
        for name, plain in FUSED:
            fused = getattr(torch.ops.normlens, name).default
            for residual in (x * 2, x[:1] * 2):
                torch.library.opcheck(fused, (x, residual, weight, weight, *plain.more), test_utils=tests)

    def test_saved_and_loaded_torchscript(self):
        class Norm(torch.nn.Module):
            def forward(self, x, weight):
                total, y = torch.ops.normlens.add_layer_norm(x, x, weight, None, 1e-5)
                return torch.ops.normlens.rms_norm(y, weight, None, 1e-5) + total

        x, weight = randn(3, 16), randn(16)
        saved = io.BytesIO()
        torch.jit.save(torch.jit.trace(Norm(), (x, weight)), saved)
        saved.seek(0)
        loaded = torch.jit.load(saved)
        self.assertTrue(torch.equal(loaded(x, weight), Norm()(x, weight)))


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=FutureWarning)  # torch.jit is what NormLens is about
    torch.ops.load_library(sys.argv.pop(1))
    if sys.argv[1:] == ["cuda"]:
        DEVICE = sys.argv.pop()
    unittest.main(warnings="ignore")
