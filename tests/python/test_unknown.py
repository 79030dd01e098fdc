"""A model that does not end: its verdicts are unknown, and the report says so and what to give.

    run_tests.py test_unknown.py ENGINE
"""

import pathlib
import tempfile
import unittest
import warnings

import package

package.need_torch()

import torch
from torch import nn

import normlens


class Endless(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        turns = 0
        while bool(x.abs().sum() + 1 > 0):
            turns += 1
        return self.norm(x) + turns


class Unknown(unittest.TestCase):
    def test_a_model_that_does_not_end(self):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = pathlib.Path(folder, "endless.pt")
            torch.jit.script(Endless().eval()).save(str(path))
            report = normlens.analyze(path, time_limit=1)
        self.assertEqual([norm.verdict for norm in report], ["unknown"])
        self.assertEqual((report.totals["unknown"], report.totals["blocked"]), (1, 0))
        self.assertRegex(report.summary(), "0 blocked, 1 unknown$")
        self.assertRegex(report[0].reason, "allow more time with time_limit, or give inputs with example_inputs.$")
        self.assertRegex(repr(report).replace("\n", " "), r"norm +unknown +stays +The model was not run")
        self.assertIn("</span> unknown", report._repr_html_())
