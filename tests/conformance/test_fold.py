"""Folds every visible TorchScript sample and asks the oracle whether the result is equal.

Each sample's JSON names how many LayerNorms are known to fold by weights alone and with run-time centerings; these are
lower bounds. A half type has no float64 oracle beyond its own rounding: the oracle judges it against a noise floor.
"""

import pathlib
import sys
import tempfile
import unittest

from samples import MODELS, base, engine, facts


def oracle(original, folded):
    """Its verdict on the sample's inputs and on those of another size. Imported once: starting torch takes seconds."""
    import torch

    sys.path.insert(0, str(MODELS))
    from oracle import check

    inputs = original.parent / f"{base(original)}.inputs.npz"
    other = original.parent / f"{base(original)}.alt.npz"
    with torch.jit.optimized_execution(False):
        return check(str(original), str(folded), str(inputs), n=1, alt=str(other))


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
            judged = oracle(path, out)
            self.assertTrue(judged["exact"], judged)
            self.assertTrue(judged["interface"]["same"] and not judged["errors"], judged)
            # These policies copy tied weights without a limit; the file may grow by what was announced and no more.
            size = judged["size"]
            self.assertLessEqual(size["folded_bytes"] - size["original_bytes"], result["bytes_grown"] + 1024, judged)


def add_case(path):
    known = facts(base(path))
    by_weights, with_centering = known["fold_weights_only"] or 0, known["fold_with_aux"] or 0
    rows = [("free", by_weights)]
    if with_centering > by_weights or known["layer_norms"] > by_weights:
        rows.append(("all", with_centering))
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
