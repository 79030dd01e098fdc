"""The lines of docs/sweep.md for several machines, as they stand there: with GNU parallel where it is installed, else
with a stand-in; and a Slurm array, its jobs run one by one. Given again they do what is missing, and nothing else."""

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
BLOCKS = dict(re.findall(r"^```sh (\w+)\n(.*?)^```$", (ROOT / "docs" / "sweep.md").read_text(), re.M | re.S))

# GNU parallel as far as that line needs it: `parallel ... -j N COMMAND... :::: LIST`, a job after another.
STAND_IN = r"""#!/usr/bin/env python3
import os, pathlib, shlex, subprocess, sys
words = sys.argv[1:]
machines = pathlib.Path(words[words.index("--sshloginfile") + 1]).read_text().split()
assert machines == [":"] and words[words.index("--workdir") + 1] == "."
command, items = words[words.index("-j") + 2:words.index("::::")], words[words.index("::::") + 1]
failed = 0
for item in pathlib.Path(items).read_text().splitlines():
    filled = (word.replace("{/}", shlex.quote(os.path.basename(item))).replace("{}", shlex.quote(item))
              for word in command)
    failed += subprocess.run(["sh", "-c", " ".join(filled)]).returncode != 0
sys.exit(failed)
"""


def written(path, text):
    path.write_text(text)
    path.chmod(0o755)


class Lines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        programs, models = self.folder / "bin", self.folder / "models" / "a folder"
        programs.mkdir()
        models.mkdir(parents=True)
        for name in ("gpt2", "vit", "bert"):
            shutil.copyfile(ROOT / "resources" / "models" / f"{name}.pt", models / f"it's {name}.pt")
        self.names = ["it's bert.pt", "it's gpt2.pt", "it's vit.pt"]
        written(programs / "normlens", f'#!/bin/sh\nexec "{ENGINE}" "$@"\n')
        if shutil.which("parallel") is None:
            written(programs / "parallel", STAND_IN)
        (self.folder / "machines.txt").write_text(":\n")
        self.environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "OMP_WAIT_POLICY": "passive",
                                         "HOME": str(self.folder)}
        self.shell(BLOCKS["list"])
        self.assertEqual((self.folder / "models.txt").read_text().splitlines(),
                         [f"models/a folder/{name}" for name in self.names])

    def shell(self, text, status=0, **variables):
        done = subprocess.run(["bash", "-c", text], cwd=self.folder, env=self.environment | variables,
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def parallel(self, status=0):
        """The status of each model."""
        self.shell(BLOCKS["parallel"].replace("8GB", "2GB"), status)
        lines = map(json.loads, (self.folder / "lines.jsonl").read_text().splitlines())
        return {pathlib.Path(line["model"]).name: line["status"] for line in lines}

    def slurm(self):
        """Of an array of as many jobs as sbatch would be told."""
        words = self.shell('sbatch() { echo "$@"; }\n' + BLOCKS["submit"]).stdout.split()
        self.assertEqual(words, ["--array=1-3", "sweep.sbatch"])
        written(self.folder / "sweep.sbatch", BLOCKS["slurm"].replace("14GB", "2GB"))
        for job in ("1", "2", "3"):
            self.shell("./sweep.sbatch", SLURM_ARRAY_TASK_ID=job, SLURM_CPUS_PER_TASK="2")

    def results(self):
        """How many lines each model has."""
        files = sorted((self.folder / "results").glob("*.jsonl"))
        self.assertEqual([file.name for file in files], [f"{name}.jsonl" for name in self.names])
        return [len(file.read_text().splitlines()) for file in files]

    def all_folded(self):
        for name in self.names:
            alone = self.folder / "alone.pt"
            subprocess.run([ENGINE, "fold", f"models/a folder/{name}", "-o", alone, "--quiet"], cwd=self.folder,
                           check=True)
            self.assertEqual((self.folder / "folded" / name).read_bytes(), alone.read_bytes())

    def test_gnu_parallel(self):
        self.assertEqual(self.parallel(), dict.fromkeys(self.names, "done"))
        self.all_folded()
        self.assertEqual(self.parallel(), dict.fromkeys(self.names, "skipped"))
        (self.folder / "folded" / self.names[1]).unlink()
        self.assertEqual(self.parallel(), dict.fromkeys(self.names, "skipped") | {self.names[1]: "done"})
        (self.folder / "models" / "a folder" / self.names[2]).write_text("no model")
        self.assertEqual(self.parallel(status=1)[self.names[2]], "failed")

    def test_slurm_array(self):
        self.slurm()
        self.all_folded()
        self.assertEqual(self.results(), [1, 1, 1])
        self.slurm()
        self.assertEqual(self.results(), [1, 1, 1])
        (self.folder / "results" / f"{self.names[0]}.jsonl").write_text('{"torn')
        self.slurm()
        self.assertEqual(self.results(), [2, 1, 1])

    def test_what_one_scheduler_has_done_another_skips(self):
        self.slurm()
        self.assertEqual(self.parallel(), dict.fromkeys(self.names, "skipped"))


if __name__ == "__main__":
    unittest.main()
