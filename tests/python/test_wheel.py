"""The wheel: what is in it, and that it works where there are no sources.

    run_tests.py test_wheel.py ENGINE
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

from package import ENGINE, MODELS, ROOT


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        environment = dict(os.environ, PYTHON=sys.executable)
        made = subprocess.run(
            [ROOT / "packaging" / "python-wheel", cls.folder], capture_output=True, text=True, env=environment, check=False
        )
        if made.returncode:
            raise AssertionError(made.stdout + made.stderr)
        cls.wheel = pathlib.Path(made.stdout.strip().splitlines()[-1])

    def test_it_holds_the_package_and_nothing_else(self):
        sources = ROOT / "app" / "python"
        expected = {path.relative_to(sources).as_posix() for path in (sources / "normlens").rglob("*.py")}
        with zipfile.ZipFile(self.wheel) as wheel:
            names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        self.assertEqual(names, expected | {"normlens/py.typed"})

    def test_its_version_is_the_project_s(self):
        project = next(line for line in (ROOT / "CMakeLists.txt").read_text().splitlines() if line.startswith("project("))
        self.assertEqual(self.wheel.name.split("-")[1], project.split()[2])

    def test_it_works_elsewhere(self):
        with tempfile.TemporaryDirectory() as elsewhere, zipfile.ZipFile(self.wheel) as wheel:
            wheel.extractall(elsewhere)
            norms = f"len(normlens.analyze({str(MODELS / 'gpt2.pt')!r}))"
            code = f"import normlens; print(normlens.__version__, normlens.__file__, {norms})"
            environment = dict(os.environ, PYTHONPATH=elsewhere, NORMLENS_ENGINE=ENGINE)
            words = [sys.executable, "-B", "-c", code]
            done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            version, file, norms = done.stdout.split()
            self.assertEqual(version, self.wheel.name.split("-")[1])
            self.assertTrue(file.startswith(elsewhere), file)
            self.assertEqual(norms, "9")
