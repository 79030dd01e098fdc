"""nn.GroupNorm without space: folded as a module and trained behind centered weights; over space it is refused.

    run_tests.py test_group_norms.py ENGINE
"""

import unittest

import package

package.need_torch()

import torch
from torch import nn

import normlens
from normlens.module.norms import GroupRMSNorm


def drawn(module):
    torch.manual_seed(3)
    for one in module.parameters():
        nn.init.normal_(one, 0.3, 0.5)
    return module.eval()


def mlp(groups):
    """As actors of reinforcement learning have it."""
    layers = [nn.Linear(6, 32), nn.GroupNorm(groups, 32), nn.Mish(), nn.Linear(32, 32), nn.GroupNorm(groups, 32), nn.Mish()]
    return drawn(nn.Sequential(*layers, nn.Linear(32, 3)))


class Temporal(nn.Module):
    """As a diffusion policy has it: channels over time."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(6, 16, 3, padding=1), nn.GroupNorm(8, 16)

    def forward(self, x):
        return nn.functional.mish(self.norm(self.conv(x)))


class GroupNorms(unittest.TestCase):
    def test_fold_group_by_group(self):
        for groups in (1, 4, 8):
            x, module = torch.randn(5, 6), mlp(groups)
            wanted = module.double()(x.double())
            folded, report = normlens.fold(module, x.double())
            self.assertEqual(len(report.folded), 2, report)
            self.assertTrue(all(isinstance(folded[at], GroupRMSNorm) for at in (1, 4)))
            self.assertLess(float((folded(x.double()) - wanted).abs().max()), 1e-12)

    def test_take_no_space_afterwards(self):
        folded, _ = normlens.fold(mlp(4), torch.randn(5, 6))
        with self.assertRaises(ValueError):
            folded[1](torch.randn(5, 32, 7))
        self.assertEqual(folded[1](torch.randn(5, 32, 1, 1)).shape, (5, 32, 1, 1))

    def test_train_behind_centered_weights(self):
        module, x = mlp(4), torch.randn(5, 6)
        wanted = module(x)
        module, report = normlens.cbwc(module, x)
        self.assertEqual(len(report.folded), 2, report)
        self.assertTrue(torch.allclose(module(x), wanted, atol=1e-4))

    def test_over_time_nothing_folds(self):
        folded, report = normlens.fold(drawn(Temporal()), torch.randn(2, 6, 9))
        self.assertEqual(len(report), 0)
        self.assertIsInstance(folded.norm, nn.GroupNorm)


if __name__ == "__main__":
    unittest.main()
