"""What the laboratory trained, as torch sees it: one network folds, and of the one with centered weights nothing is left to fold."""

import json
import pathlib
import sys
import tempfile
import unittest

import torch

from samples import engine

CHARACTERS = 8  # at least so many are in the generated text
TRANSFORMER = {"experiment": "transformer", "layers": [2], "steps_per_epoch": 4, "context": 16, "heads": 2,
               "data": {"kind": "characters", "samples": 4000}}
NETWORKS = ["layer_norm", "cbwc_rms_norm"]


def trained(folder):
    """-> the paths of the networks, by their words"""
    settings = {"width": 16, "epochs": 2, "batch": 4, "threads": 1, "random_affine": True, "networks": NETWORKS,
                **TRANSFORMER}
    (folder / "run.json").write_text(json.dumps(settings))
    status, report, errors = engine("lab", folder / "run.json", "-o", folder / "runs")
    assert status == 0, errors
    names = {pathlib.Path(name).name for name in report["weights"]}
    return {word: folder / "runs" / next(name for name in names if name.startswith(f"{word}_2x"))
            for word in NETWORKS}


class Trained(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        torch.manual_seed(0)

    def test_of_centered_networks_nothing_is_left_to_fold(self):
        networks = trained(self.folder)
        status, analysis, errors = engine("analyze", networks["cbwc_rms_norm"])
        self.assertEqual(status, 0, errors)
        self.assertIsNone(analysis["probe_error"])
        self.assertEqual(analysis["layer_norms"], [])
        self.assertEqual([norm["kind"] for norm in analysis["other_norms"]], 5 * ["RMSNorm"])

    def test_the_other_network_folds_and_torch_loads_it(self):
        path = trained(self.folder)["layer_norm"]
        out = self.folder / "folded.pt"
        status, result, errors = engine("fold", path, "-o", out)
        self.assertEqual(status, 0, f"{errors} {result}")
        self.assertEqual(result["folded"], 5)
        self.assertIs(result["verify"]["exact"], True, result["verify"])
        x = torch.randint(0, CHARACTERS, (3, 11))
        with torch.no_grad():
            torch.testing.assert_close(torch.jit.load(out)(x), torch.jit.load(path)(x), rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
