"""The same architecture gives the same verdict for the same LayerNorm, whatever file it comes in.

LayerNorms are compared by execution order. EXCEPTIONS names each file that may differ, with the reason.
"""

import collections
import unittest

from samples import MODELS, base, engine

EXCEPTIONS = {}  # file name -> why its verdicts differ from the others'

# Copies of a trace in another state of optimisation or another type say the same as the trace.
SKIPPED = (".f64.pt",)


def verdicts(path):
    inputs = path.parent / f"{base(path)}.inputs.npz"
    status, analysis, errors = engine("analyze", path, "--inputs", inputs)
    if status != 0:
        raise AssertionError(f"{path.name}: {errors}")
    norms = sorted(analysis["layer_norms"], key=lambda norm: norm["index"])
    return [norm["verdict"] for norm in norms]


class Dialects(unittest.TestCase):
    def compare(self, files):
        table = {path.name: verdicts(path) for path in files}
        plain = {name: row for name, row in table.items() if name not in EXCEPTIONS}
        self.assertEqual(len({tuple(row) for row in plain.values()}), 1, table)
        for name in EXCEPTIONS.keys() & table.keys():
            self.assertNotIn(table[name], plain.values(), f"{name} is no exception any more")


architectures = collections.defaultdict(list)
for sample in sorted((MODELS / "visible").glob("*")):
    if sample.suffix in (".pt", ".onnx") and not sample.name.endswith(SKIPPED):
        architectures[base(sample)].append(sample)
for name, samples in architectures.items():
    if len(samples) > 1:
        setattr(Dialects, f"test_{name}", lambda self, samples=samples: self.compare(samples))
