"""The papers' foldability table (paper 001, table 3), on their architectures at published depth."""

import json
import sys
import unittest

from samples import MODELS, engine

TRUTH = MODELS / "paper" / "truth.json"


@unittest.skipUnless(TRUTH.is_file(), "the shared sample models are not here")
class Papers(unittest.TestCase):
    def test_counts(self):
        for name, expected in json.loads(TRUTH.read_text()).items():
            with self.subTest(model=name):
                folder = MODELS / "paper"
                status, result, errors = engine("analyze", folder / f"{name}.pt", "--inputs", folder / f"{name}.inputs.npz")
                self.assertEqual(status, 0, errors)
                for key, count in expected.items():
                    self.assertEqual(result["totals"][key], count, key)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
