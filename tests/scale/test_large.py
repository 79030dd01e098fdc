"""Models that are larger than memory: verdicts without reading weights, folds in bounded memory.

    run_tests.py test_large.py ENGINE

Weights are holes in sparse files, so that tens of billions of parameters take no room. What is written does.
"""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import make_sparse
import onnx

ENGINE = sys.argv[1]
MB = 1 << 20
DISK = os.environ.get("NORMLENS_SCALE_FOLDER", "/var/tmp")


def run(*words):
    """What the engine said, and the largest resident memory of its processes, in bytes."""
    script = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss\n"
        "print(done.returncode, peak, flush=True)\n"
        "sys.stdout.write(done.stdout)\n"
        "sys.stderr.write(done.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, ENGINE, *map(str, words)], capture_output=True, text=True)
    facts, _, out = done.stdout.partition("\n")
    status, peak = map(int, facts.split())
    return status, out, done.stderr, peak * 1024


class Large(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=DISK))
        self.addCleanup(shutil.rmtree, self.folder)
        self.model = self.folder / "model.onnx"
        _, _, _, self.idle = run("--version")

    def test_seventy_billion_parameters_are_judged_without_their_weights(self):
        make_sparse.make(86, 8192, self.model)
        status, out, err, peak = run("analyze", self.model, "--json")
        self.assertEqual(status, 0, err)
        told = json.loads(out)
        self.assertIsNone(told["probe_error"])
        self.assertEqual(told["totals"]["free"], told["totals"]["layer_norms"])
        self.assertEqual(told["totals"]["layer_norms"], 2 * 86 + 1)
        self.assertLess(peak, 1024 * MB)

    def test_a_fold_takes_the_memory_of_its_largest_tensor(self):
        make_sparse.make(1, 4096, self.model)
        data = sorted(self.folder.glob("*.data"))
        total = sum(path.stat().st_size for path in data)
        largest = 32000 * 4096 * 4
        out = self.folder / "out.onnx"
        status, told, err, peak = run("fold", self.model, "-o", out, "--no-verify", "--json")
        self.assertEqual(status, 0, err)
        self.assertEqual(json.loads(told)["folded"], 3)
        written = sum(path.stat().st_size for path in self.folder.glob("out.onnx.*.data"))
        self.assertGreaterEqual(written, total)
        self.assertLess(peak - self.idle, 256 * MB + largest)

    def test_a_fold_is_proved_in_sections_where_the_whole_does_not_fit(self):
        make_sparse.make(8, 1024, self.model)
        whole = ("fold", self.model, "-o", self.folder / "out.onnx", "--max-growth", "100", "--json", "--memory-limit")
        status, told, err, _ = run(*whole, "1800MB")
        self.assertEqual(status, 0, err)
        told = json.loads(told)
        self.assertTrue(told["verify"]["exact"])
        self.assertEqual((told["folded"], told["verify"]["sections"]), (17, 18))
        status, told, err, _ = run(*whole, "4GB")
        self.assertEqual(status, 0, err)
        self.assertNotIn("sections", json.loads(told)["verify"])
        # Not even a section.
        status, _, err, _ = run(*whole, "300MB")
        self.assertEqual(status, 3)
        self.assertIn("there is not enough memory", err)

    # The verdict does not read so large a weight; the fold does, and its plan is made again.
    def test_a_large_weight_that_holds_infinity_is_left_out_when_it_is_read(self):
        make_sparse.make(1, 4096, self.model)
        holder = "transformer.h.0.mlp.c_proj.weight"
        tensor = next(one for one in onnx.load(self.model, load_external_data=False).graph.initializer if one.name == holder)
        facts = {entry.key: entry.value for entry in tensor.external_data}
        with open(self.folder / facts["location"], "r+b") as data:
            data.seek(int(facts["offset"]) + 4000)
            data.write(struct.pack("<f", float("inf")))
        status, told, err, _ = run("analyze", self.model, "--json")
        self.assertEqual((status, json.loads(told)["totals"]["free"]), (0, 3), err)
        status, told, err, _ = run("fold", self.model, "-o", self.folder / "out.onnx", "--no-verify", "--json")
        self.assertEqual(status, 0, err)
        self.assertEqual(json.loads(told)["folded"], 2)
        self.assertTrue((self.folder / "out.onnx").exists())
