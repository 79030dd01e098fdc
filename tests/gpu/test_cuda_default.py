"""What of CUDA is built without being asked for, with tools of its own in place of nvcc, nvidia-smi and a toolkit.

Call: run_tests.py test_cuda_default.py CMAKE CXX.
"""

import pathlib
import sys
import subprocess
import tempfile
import unittest

CMAKE, CXX = sys.argv[1:]
MODULES = pathlib.Path(__file__).parents[2] / "cmake"
MODULE = MODULES / "NormLensCudaDefault.cmake"
ASK = f"""
include({MODULE})
normlens_cuda_default(cuda)
message(STATUS "default ${{cuda}}")
"""
NVCC = """#!/bin/sh
case $1 in
  --version) echo "Cuda compilation tools, release {version}, V{version}.1" ;;
  --list-gpu-arch) printf 'compute_%s\\n' {architectures} ;;
esac
"""
CUDA_12 = ("12.0", "50 60 61 70 75 80 86 87 89 90")
CUDA_13 = ("13.0", "75 80 86 87 88 89 90 100 110 103 120 121")


class CudaDefault(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def tool(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def answer(self, nvcc, *capabilities, smi=None, gpus="/dev/nvidia0"):
        version, architectures = nvcc
        lines = "".join(f"echo {capability}\n" for capability in capabilities)
        tools = {
            "NORMLENS_NVCC": self.tool("nvcc", NVCC.format(version=version, architectures=architectures)),
            "NORMLENS_NVIDIA_SMI": self.tool("nvidia-smi", smi or f"#!/bin/sh\n{lines}"),
            "NORMLENS_GPUS": gpus,
        }
        ask = self.folder / "ask.cmake"
        ask.write_text(ASK)
        command = [CMAKE, *(f"-D{name}={value}" for name, value in tools.items()), "-P", ask]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout

    def test_on_where_nvcc_knows_every_gpu(self):
        for nvcc, capabilities in ((CUDA_12, ["7.5"]), (CUDA_13, ["9.0"]), (CUDA_13, ["8.6", "12.0"])):
            self.assertEqual(self.answer(nvcc, *capabilities), "-- default ON\n")

    def test_off_with_a_compiler_that_has_no_cpp20(self):
        answer = self.answer(("11.8", "50 75 80 90"), "8.6")
        self.assertIn("not of CUDA 12 or newer", answer)
        self.assertIn("default OFF", answer)

    def test_off_with_a_gpu_that_the_kernels_are_not_for(self):
        for capabilities in (["6.1"], ["7.0"], ["9.0", "6.1"]):
            answer = self.answer(CUDA_12, *capabilities)
            self.assertIn("7.5 is the least", answer)
            self.assertIn("default OFF", answer)

    def test_off_with_a_gpu_that_is_newer_than_nvcc(self):
        answer = self.answer(CUDA_12, "12.0")
        self.assertIn("does not know the compute capability 12.0", answer)
        self.assertIn("default OFF", answer)

    def test_off_where_the_driver_does_not_answer(self):
        answer = self.answer(CUDA_13, smi="#!/bin/sh\necho failed, see 9.0\nexit 9\n")
        self.assertIn("nvidia-smi does not tell", answer)
        self.assertIn("default OFF", answer)

    def test_off_without_a_word_where_there_is_no_gpu(self):
        self.assertEqual(self.answer(CUDA_13, "9.0", gpus=""), "-- default OFF\n")


class CudaGraph(unittest.TestCase):
    def obstacle(self, *headers):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "source.cpp").write_text("#include <torch_cuda.h>\nint x;\n")
            (folder / "torch").mkdir()
            (folder / "torch" / "torch_cuda.h").write_text("#include <toolkit_math.h>\n")
            (folder / "toolkit").mkdir()
            for header in headers:
                (folder / "toolkit" / header).touch()
            ask = folder / "ask.cmake"
            ask.write_text(
                f"include({MODULES / 'NormLensCudaGraph.cmake'})\n"
                f"normlens_cuda_graph_obstacle(why {folder}/source.cpp {folder}/torch {folder}/toolkit)\n"
                'message(STATUS "why: ${why}")\n'
            )
            command = [CMAKE, f"-DCMAKE_CXX_COMPILER={CXX}", "-P", ask]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            return done.stdout

    def test_a_toolkit_that_lacks_a_header_is_told_and_stops_nothing(self):
        self.assertRegex(self.obstacle(), "why: .*toolkit_math.h")

    def test_a_toolkit_that_has_it_is_no_obstacle(self):
        self.assertEqual(self.obstacle("toolkit_math.h"), "-- why: \n")
