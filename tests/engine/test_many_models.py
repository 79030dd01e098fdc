"""The lines of docs/many_models.md, as they stand there: GNU parallel, and a Slurm array whose jobs are run one by one."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ENGINE = sys.argv.pop(1)
ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCKS = dict(re.findall(r"^```sh (\w+)\n(.*?)^```$", (ROOT / "docs" / "many_models.md").read_text(), re.M | re.S))


class Lines(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        programs, models = self.folder / "bin", self.folder / "models" / "a folder"
        programs.mkdir()
        models.mkdir(parents=True)
        for name in ("gpt2", "vit", "bert"):
            shutil.copyfile(ROOT / "resources" / "models" / f"{name}.pt", models / f"it's {name}.pt")
        self.names = ["it's bert.pt", "it's gpt2.pt", "it's vit.pt"]
        (programs / "normlens").write_text(f'#!/bin/sh\nexec "{ENGINE}" "$@"\n')
        (programs / "normlens").chmod(0o755)
        self.environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "OMP_WAIT_POLICY": "passive",
                                         "HOME": str(self.folder)}
        self.shell(BLOCKS["list"])
        self.assertEqual((self.folder / "models.txt").read_text().splitlines(),
                         [f"models/a folder/{name}" for name in self.names])

    def shell(self, text, status=0, **variables):
        text = re.sub(r"\b(8|14)GB", "2GB", text)
        done = subprocess.run(["bash", "-c", text], cwd=self.folder, env=self.environment | variables,
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout

    def all_folded(self):
        for name in self.names:
            alone = self.folder / "alone.pt"
            subprocess.run([ENGINE, "fold", f"models/a folder/{name}", "-o", alone, "--quiet"], cwd=self.folder, check=True)
            self.assertEqual((self.folder / "folded" / name).read_bytes(), alone.read_bytes())
            result = json.loads((self.folder / "results" / f"{name}.json").read_text())
            self.assertEqual(result["output"], f"folded/{name}")

    def jobs(self):
        """Their exit codes, in the order in which they ended."""
        return [line.split("\t")[6] for line in (self.folder / "folds.log").read_text().splitlines()[1:]]

    def test_gnu_parallel(self):
        if shutil.which("parallel") is None:
            self.skipTest("GNU parallel is not installed: packaging/setup installs it")
        model = self.folder / "models" / "a folder" / self.names[2]
        whole = model.read_bytes()
        model.write_text("no model")
        self.shell(BLOCKS["parallel"], status=1)
        self.assertEqual(sorted(self.jobs()), ["0", "0", "3"])
        model.write_bytes(whole)
        self.shell(BLOCKS["parallel"])
        self.assertEqual(sorted(self.jobs()), ["0", "0", "0", "3"])
        self.all_folded()
        self.shell(BLOCKS["parallel"])
        self.assertEqual(len(self.jobs()), 4)

    def test_slurm_array(self):
        words = self.shell('sbatch() { echo "$@"; }\n' + BLOCKS["submit"]).split()
        self.assertEqual(words, ["--array=1-3", "folds.sbatch"])
        for job in ("1", "2", "3"):
            self.shell(BLOCKS["slurm"], SLURM_ARRAY_TASK_ID=job)
        self.all_folded()
