"""The atlas: its page is that of its JSON, and its rows come out as they are written there.

    run_tests.py test_atlas.py ENGINE [all]     all: every architecture, not a few
"""

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

import package

package.need_torch()

from normlens.atlas.page import json_text, markdown
from normlens.atlas.reasons import COUNTS, note_of
from normlens.atlas.table import PRINTED, ROWS

WRITTEN = package.ROOT / "resources" / "reference" / "atlas.json"
FEW = ("BLOOM", "OLMo", "RoBERTa, pre-norm", "DeiT", "timm ConvNeXt")
ALL = "all" in sys.argv[2:]


class Atlas(unittest.TestCase):
    def setUp(self):
        self.atlas = json.loads(WRITTEN.read_text(encoding="utf-8"))
        self.rows = {row["name"]: row for row in self.atlas["rows"]}

    def test_the_page_is_that_of_the_json(self):
        self.assertEqual(json_text(self.atlas), WRITTEN.read_text(encoding="utf-8"))
        page = package.ROOT / "docs" / "atlas.md"
        self.assertEqual(markdown(self.atlas), page.read_text(encoding="utf-8"))

    def test_every_architecture_is_there(self):
        self.assertEqual([row.name for row in ROWS], list(self.rows))
        self.assertGreaterEqual(len(self.rows), 120)

    def test_the_papers_table_comes_out(self):
        for name in PRINTED:
            row = self.rows[name]
            self.assertEqual([row["layer_norms"], row["paper"], row["paper_practical"]], row["printed"], name)

    def test_verdicts_sum_to_the_norms(self):
        for row in self.rows.values():
            self.assertEqual(sum(row[count] for count in COUNTS[1:5]), row["layer_norms"], row["name"])

    def test_a_difference_is_named(self):
        pt2 = dict.fromkeys(COUNTS, 3)
        row = {"pt2": pt2, "onnx": {**pt2, "free": 2}, "held": ["index_4"]}
        self.assertEqual(note_of({**row, "onnx": pt2}), "")
        self.assertIn("3 and 2 free: what the .pt2 computes from constants alone (index_4)", note_of(row))
        self.assertIn(".onnx: no graph", note_of({**row, "onnx": {"refused": "no graph"}}))

    def test_rows_come_out_as_written(self):
        for library in ("transformers", "timm", "torch"):
            made = importlib.metadata.version(library) if importlib.util.find_spec(library) else "none"
            if made != self.atlas["versions"][library]:
                self.skipTest(f"the atlas was made with {library} {self.atlas['versions'][library]}, here is {made}")
        names = list(self.rows) if ALL else FEW
        path = os.pathsep.join([str(package.ROOT / "app" / "python"), os.environ.get("PYTHONPATH", "")])
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, "-m", "normlens.atlas", *names, "--cache", folder]
            done = subprocess.run(words, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        for row in json.loads(done.stdout)["rows"]:
            wanted = self.rows[row["name"]]
            if row["exporter"] != wanted["exporter"]:  # that of today needs onnxscript, the older one refuses more
                self.assertTrue(row["note"] == "" or wanted["note"] or not row["exporter"], row["note"])
                row["exporter"], row["note"] = wanted["exporter"], wanted["note"]
            with self.subTest(row["name"]):
                self.assertEqual(row, wanted)
