#!/usr/bin/env python3
"""An engine whose LibTorch and ONNX Runtime lie elsewhere than where it was built: it finds them as its loader does, in
Python's packages or by a variable, may read them behind the walls, and where one is missing or of another version it
starts all the same and says so.

    run_tests.py test_moved.py ENGINE TORCH_LIBRARIES OLD_ONNX_RUNTIME
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx

ENGINE, TORCH, OLD_RUNTIME = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
RUNTIME = (ENGINE.parents[1] / "lib/onnxruntime/libonnxruntime.so").resolve().parent
VERSION = (TORCH.parent / "version.py").read_text().partition("__version__ = '")[2].partition("'")[0]
BUILT_FOR = next((ENGINE.parents[1] / "lib").glob("libnormlens_torchscript-*.so")).stem.partition("-")[2]
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


def install(folder):
    """The engine and its libraries, without the runtimes; returns the program."""
    (folder / "bin").mkdir(parents=True)
    (folder / "lib").mkdir()
    without_torch(ENGINE, folder / "bin" / ENGINE.name)
    for library in (ENGINE.parents[1] / "lib").glob("libnormlens_*.so"):
        without_torch(library, folder / "lib" / library.name)
    return folder / "bin" / ENGINE.name


def write_onnx(path):
    """A norm behind a linear layer."""
    shapes = {"weight": (6, 16), "bias": (16,), "gamma": (16,), "beta": (16,)}
    draw = numpy.random.default_rng(0)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "weight"], ["product"]),
         onnx.helper.make_node("Add", ["product", "bias"], ["sum"]),
         onnx.helper.make_node("LayerNormalization", ["sum", "gamma", "beta"], ["y"])],
        "norm",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["rows", 6])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["rows", 16])],
        [onnx.numpy_helper.from_array(draw.standard_normal(shape, numpy.float32), name) for name, shape in shapes.items()])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)


class Moved(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.engine = install(cls.root / "normlens")
        cls.onnx_model = cls.root / "norm.onnx"
        write_onnx(cls.onnx_model)
        cls.torch = cls.root / "torch/lib"
        link_libraries(TORCH, cls.torch)
        for library_folder in (TORCH.parents[1] / "nvidia").glob("*/lib"):
            link_libraries(library_folder, cls.root / "nvidia" / library_folder.parent.name / "lib")

    def setUp(self):
        (self.torch.parent / "version.py").write_text(f"__version__ = '{VERSION}'\n")

    def run_engine(self, *words, folders=(), engine=None, **variables):
        environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, folders)), **variables}
        return subprocess.run([engine or self.engine, *words], env=environment, capture_output=True, text=True, timeout=300)

    def fold(self, model, **where):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / f"folded{model.suffix}"
            ran = self.run_engine("fold", model, "-o", output, "--json", **where)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertTrue(json.loads(ran.stdout)["verify"]["exact"])
            self.assertTrue(output.exists())

    def assert_one_sentence(self, ran, *parts):
        self.assertEqual(ran.returncode, 3, ran.stdout)
        for part in parts:
            self.assertIn(str(part), ran.stderr)
        self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)

    def test_torch_is_found_by_the_loader(self):
        self.fold(MODEL, folders=[self.torch])

    def test_torch_is_found_by_its_variable(self):
        self.fold(MODEL, NORMLENS_TORCH=str(self.torch))

    def test_both_are_found_among_python_packages(self):
        packages = self.root / "lib/python3/site-packages"
        engine = install(packages / "normlens")
        (packages / "torch").symlink_to(self.torch.parent)
        (packages / "onnxruntime").mkdir()
        (packages / "onnxruntime/capi").symlink_to(RUNTIME)
        self.fold(MODEL, engine=engine)
        self.fold(self.onnx_model, engine=engine)

    def test_without_torch_onnx_models_are_folded_and_proved(self):
        self.fold(self.onnx_model, NORMLENS_ONNXRUNTIME=str(RUNTIME))

    def test_where_torch_is_missing_the_folders_are_named(self):
        ran = self.run_engine("analyze", MODEL, folders=["/folder/of/the/user"])
        self.assert_one_sentence(ran, "LibTorch cannot be loaded: libc10.so", "No such file or directory",
                                 "/folder/of/the/user", "NORMLENS_TORCH")
        self.assertNotIn(", .,", ran.stderr, "libraries of the current folder must not be loaded")

    def test_what_is_wrong_with_a_library_is_in_the_loaders_words(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "libc10.so").write_bytes(b"no library")
            ran = self.run_engine("analyze", MODEL, folders=[folder, self.torch])
        self.assert_one_sentence(ran, f"{folder}/libc10.so: ")
        self.assertNotIn("No such file", ran.stderr)

    def test_another_version_of_torch_is_named_beside_the_one_that_is_wanted(self):
        (self.torch.parent / "version.py").write_text("__version__ = '2.99.1+cpu'\n")
        ran = self.run_engine("analyze", MODEL, NORMLENS_TORCH=str(self.torch))
        self.assert_one_sentence(ran, "LibTorch 2.99.1+cpu was found in", self.torch,
                                 f"this NormLens is built for LibTorch {BUILT_FOR}")

    def test_without_onnx_runtime_the_engine_starts_and_says_what_it_lacks(self):
        missing = json.loads(self.run_engine("doctor", "--json").stdout)["missing"]
        self.assertEqual([each["what"].partition(",")[0] for each in missing][:2], ["ONNX Runtime", "LibTorch"])
        self.assertIn("NORMLENS_ONNXRUNTIME", missing[0]["how"])
        self.assert_one_sentence(self.run_engine("bench", self.onnx_model), "ONNX Runtime cannot be loaded: libonnxruntime.so.1")

    def test_an_onnx_runtime_that_is_too_old_is_named_beside_the_one_that_is_wanted(self):
        ran = self.run_engine("bench", self.onnx_model, NORMLENS_ONNXRUNTIME=str(OLD_RUNTIME.parent))
        self.assert_one_sentence(ran, f"ONNX Runtime 1.20.1 in {OLD_RUNTIME.parent} is too old: 1.21 or newer is needed")

    def test_a_variable_that_names_no_runtime_is_named(self):
        ran = self.run_engine("bench", self.onnx_model, NORMLENS_ONNXRUNTIME=str(self.root))
        self.assert_one_sentence(ran, f"NORMLENS_ONNXRUNTIME names {self.root}, where no libonnxruntime.so lies")
