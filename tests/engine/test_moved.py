#!/usr/bin/env python3
"""An engine that was built against a LibTorch which now lies elsewhere: it finds LibTorch as its loader does, may read it
behind the walls, and where it does not find it names the folders in which the loader looked.

    run_tests.py test_moved.py ENGINE TORCH_LIBRARIES
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ENGINE, TORCH = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
MODEL = pathlib.Path(__file__).parents[2] / "resources" / "models" / "gpt2.pt"


def link_libraries(source, target):
    """Hard links, as a copy would be of gigabytes; where the file systems differ, only what the CPU half needs is copied."""
    target.mkdir(parents=True)
    for file in source.glob("*.so*"):
        try:
            os.link(file, target / file.name)
        except OSError:
            if "cuda" not in file.name or "cudart" in file.name:
                shutil.copy(file, target)


def without_torch(source, target):
    """A copy whose RUNPATH names a folder that does not exist."""
    known, unknown = os.fsencode(TORCH), b"/nowhere".ljust(len(os.fsencode(TORCH)), b"x")
    target.write_bytes(source.read_bytes().replace(known, unknown))
    target.chmod(0o755)


class Moved(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        root = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        (root / "normlens/bin").mkdir(parents=True)
        (root / "normlens/lib").mkdir()
        cls.engine = root / "normlens/bin" / ENGINE.name
        without_torch(ENGINE, cls.engine)
        for library in (ENGINE.parents[1] / "lib").glob("libnormlens_*.so"):
            without_torch(library, root / "normlens/lib" / library.name)
        cls.torch = root / "site-packages/torch/lib"
        link_libraries(TORCH, cls.torch)
        for library_folder in (TORCH.parents[1] / "nvidia").glob("*/lib"):
            link_libraries(library_folder, root / "site-packages/nvidia" / library_folder.parent.name / "lib")

    def run_engine(self, *words, folders=()):
        environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, folders))}
        return subprocess.run([self.engine, *words], env=environment, capture_output=True, text=True, timeout=300)

    def test_torch_is_found_by_the_loader(self):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "folded.pt"
            ran = self.run_engine("fold", MODEL, "-o", output, "--norm", "fast", "--json", folders=[self.torch])
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertTrue(json.loads(ran.stdout)["verify"]["exact"])
            self.assertTrue(output.exists())

    def test_where_it_is_missing_the_folders_are_named(self):
        ran = self.run_engine("analyze", MODEL, folders=["/folder/of/the/user"])
        self.assertEqual(ran.returncode, 3, ran.stdout)
        self.assertIn("libnormlens_torchscript.so cannot be loaded: lib", ran.stderr)
        self.assertIn("No such file or directory", ran.stderr)  # the loader's own words
        for folder in ("/folder/of/the/user", "/nowhere"):
            self.assertIn(folder, ran.stderr)
        self.assertIn("LD_LIBRARY_PATH", ran.stderr)
        self.assertNotIn(", .,", ran.stderr, "libraries of the current folder must not be loaded")
        self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)

    def test_what_is_wrong_with_a_library_is_in_the_loaders_words(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "libc10.so").write_bytes(b"no library")
            ran = self.run_engine("analyze", MODEL, folders=[folder, self.torch])
        self.assertEqual(ran.returncode, 3, ran.stdout)
        self.assertIn(f"{folder}/libc10.so: ", ran.stderr)
        self.assertNotIn("No such file", ran.stderr)
