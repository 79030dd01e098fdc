"""What the laboratory trained, as torch sees it."""

import json
import pathlib
import tempfile
import unittest

import torch

from samples import ran

CHARACTERS = 8  # at least so many are in the generated text
TRANSFORMER = {"architecture": "pre_norm_transformer", "layers": [2], "steps_per_epoch": 4, "context": 16, "heads": 2,
               "data": {"kind": "characters", "samples": 4000}}


class Trained(unittest.TestCase):
    def test_what_was_trained_folds_and_torch_loads_it(self):
        torch.manual_seed(0)
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        settings = {"width": 16, "epochs": 2, "batch": 4, "threads": 1, "random_affine": True,
                    "networks": ["layer_norm"], **TRANSFORMER}
        (folder / "run.json").write_text(json.dumps(settings))
        network, = ran(self, "lab", folder / "run.json", "-o", folder / "runs")["weights"]
        path, out = folder / "runs" / pathlib.Path(network).name, folder / "folded.pt"
        result = ran(self, "fold", path, "-o", out)
        self.assertEqual(result["folded"], 5)
        self.assertIs(result["verify"]["exact"], True, result["verify"])
        x = torch.randint(0, CHARACTERS, (3, 11))
        with torch.no_grad():
            torch.testing.assert_close(torch.jit.load(out)(x), torch.jit.load(path)(x), rtol=1e-4, atol=1e-5)
