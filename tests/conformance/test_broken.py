"""Broken and hostile files: one plain line, exit 3, within time, nothing written, never a crash."""

import json
import pathlib
import sys
import tempfile
import unittest

from samples import MODELS, engine

BROKEN = MODELS / "broken"
# What the file is called decides the format that is asked for; ONNX files are another format's business.
SUFFIXES = (".pt", ".pth", ".pt2", ".safetensors")
# The manifest leaves it open whether these load: both answers are sound.
EITHER = {"bitflip1.pt", "zip_deflated.pt", "zip_bomb_lite.pt", "zip_slip.pt"}


@unittest.skipUnless(BROKEN.is_dir(), "the shared sample models are not here")
class Broken(unittest.TestCase):
    def test_refusals(self):
        manifest = json.loads((BROKEN / "manifest.json").read_text())
        for name in manifest:
            if not name.endswith(SUFFIXES):
                continue
            with self.subTest(file=name), tempfile.TemporaryDirectory() as folder:
                path = BROKEN / name
                if name.startswith("directory"):
                    path = pathlib.Path(folder) / name
                    path.mkdir()
                out = pathlib.Path(folder) / "out.pt"
                status, result, errors = engine("fold", path, "-o", out, timeout=10)
                if name in EITHER and status == 0:
                    continue
                self.assertEqual(status, 3, errors)
                self.assertFalse(out.exists())
                self.assertEqual(len(errors.strip().splitlines()), 1, errors)
                self.assertIn(name, errors)
                self.assertTrue(result["error"]["message"])
        self.assertFalse(pathlib.Path("/tmp/PWNED_by_pickle").exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
