"""What counts as equal: outputs of a changed module against the original's.

    run_tests.py test_verify.py ENGINE
"""

import unittest

import package

package.need_torch()

import torch
from torch.nn import functional

import normlens
from equal import fold_of, settled
from normlens.module import verify
from normlens.module.compare import relative
from streams import IDS, Stream


class Judged(unittest.TestCase):
    """As the engine judges: equal elements set no scale, each row has its own, and an infinite limit is no check."""

    def test_rows(self):
        original = torch.randn(4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        original[0, 0], original[1, :3], original[2, 1] = torch.finfo(torch.float64).min, 1e9, float("nan")
        self.assertEqual(relative(original, original.clone()), 0)
        for place in ((0, 1), (3, 2)):
            other = original.clone()
            other[place] += 0.1
            self.assertGreater(relative(other, original), 0.02, place)
        other = original.clone()
        other[2, 1] = 0
        self.assertEqual(relative(other, original), float("inf"))

    def test_a_mask_hides_nothing(self):
        class Masked(Stream):
            def __init__(self):
                super().__init__()
                self.held = [self.embed.weight]

            def forward(self, ids, bad):
                logits = functional.linear(self.norms[0](self.embed(ids)), self.held[0])
                return logits.masked_fill(bad, torch.finfo(logits.dtype).min)

        for dtype in (torch.float32, torch.float64):
            module = settled(Masked().to(dtype))
            with self.assertRaisesRegex(normlens.NotEqual, "differs from the original"):
                normlens.fold(module, (IDS, torch.arange(11).expand(3, 5, 11) < 3), policy="free")

    def test_a_limit_in_its_own_type_is_finite(self):
        original, exact = torch.ones(2, 3), torch.ones(2, 3, dtype=torch.float64)
        exact[0, 0] = torch.finfo(torch.float64).min
        gap, limit, _ = verify._own(original + 0.1, original, exact)
        self.assertGreater(gap, limit)


class Casts(unittest.TestCase):
    def test_casts_on_the_way_do_not_round_in_float64(self):
        class Casting(Stream):
            def forward(self, ids):
                x = self.embed(ids).to(torch.float32).float()
                y = functional.softmax(self.norms[0](x.to(self.head.weight.dtype)), -1, dtype=torch.float32)
                return self.head(y.to(self.head.weight.dtype))

        folded, report, original = fold_of(settled(Casting()), IDS)
        worst = max(check.difference for check in report.checks if check.dtype == "float64")
        self.assertEqual(len(report.folded), 1)
        self.assertLess(worst, verify.LIMIT / 100)
