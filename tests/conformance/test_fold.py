"""Folds every visible TorchScript sample and asks the oracle whether the result is equal.

Each sample's JSON names how many LayerNorms are known to fold by weights alone and with run-time centerings; these are
lower bounds. A half type has no float64 oracle beyond its own rounding: the oracle judges it against a noise floor.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

from samples import MODELS, base, engine, facts


def oracle(original, folded, inputs):
    command = [sys.executable, MODELS / "oracle.py", original, folded, inputs]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


class Fold(unittest.TestCase):
    def check(self, path, policy, least):
        inputs = path.parent / f"{base(path)}.inputs.npz"
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / f"out{path.suffix}"
            status, result, errors = engine("fold", path, "-o", out, "--inputs", inputs, "--policy", policy)
            self.assertEqual(status, 0, f"{errors} {result}")
            self.assertGreaterEqual(result["folded"], least, errors)
            if result["folded"] == 0:
                self.assertIsNone(result["output"])
                self.assertFalse(out.exists())
                return
            self.assertIs(result["verify"]["exact"], True, result["verify"])
            judged = oracle(path, out, inputs)
            self.assertEqual(judged.returncode, 0, judged.stdout + judged.stderr)
            other = path.parent / f"{base(path)}.alt.npz"
            if other.exists():
                judged = oracle(path, out, other)
                self.assertEqual(judged.returncode, 0, "at another size: " + judged.stdout + judged.stderr)


def add_case(path):
    known = facts(base(path))
    rows = (("free", known["fold_weights_only"] or 0), ("all", known["fold_with_aux"] or 0))
    for policy, least in rows:
        name = "test_" + path.name.replace(".", "_") + "_" + policy
        setattr(Fold, name, lambda self, policy=policy, least=least: self.check(path, policy, least))


@unittest.skipUnless(MODELS.is_dir(), "the shared sample models are not here")
class Samples(unittest.TestCase):
    def test_there_are_samples(self):
        self.assertGreater(len(list((MODELS / "visible").glob("*.pt"))), 40)


for sample in sorted((MODELS / "visible").glob("*.pt")):
    add_case(sample)

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
