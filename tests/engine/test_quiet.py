"""Nothing but OUT is written, and nobody is asked anything: by us, or by the runtimes (ONNX Runtime's telemetry)."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx
import torch

ENGINE = sys.argv.pop(1)
# A name looked up opens a socket, or is found in one of these.
ASKING = re.compile(r'\b(socket|connect|sendto)\(|"/etc/(resolv\.conf|hosts|nsswitch\.conf|gai\.conf)"')
WRITING = re.compile(r'\b(?:open|creat|mkdir)(?:at)?\((?:[^"]*, )?"([^"]*)"(?:.*O_(?:WRONLY|RDWR|CREAT|TMPFILE)|, 0)')
HARMLESS = ("/dev/", "/proc/self/", "/sys/")


def traces():
    """Whether programs can be traced here."""
    try:
        return subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def torchscript_model(path):
    norm = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8))
    torch.jit.trace(norm, torch.randn(2, 8)).save(path)


def onnx_model(path):
    def weight(name, *shape):
        return onnx.numpy_helper.from_array(numpy.random.default_rng(1).random(shape, numpy.float32), name)

    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Gemm", ["x", "w", "b"], ["h"]),
         onnx.helper.make_node("LayerNormalization", ["h", "g"], ["y"])],
        "quiet", [value("x", 1, ["n", 8])], [value("y", 1, ["n", 8])],
        [weight("w", 8, 8), weight("b", 8), weight("g", 8)])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)


class Quiet(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.home = self.folder / "home"
        self.home.mkdir()
        names = ["HOME", "TMPDIR", *(f"XDG_{kind}_HOME" for kind in ("CACHE", "CONFIG", "DATA", "STATE"))]
        # Either of these would keep ONNX Runtime quiet by itself.
        loud = {name: value for name, value in os.environ.items() if name not in ("CI", "ORT_DISABLE_TELEMETRY")}
        self.environment = loud | {name: str(self.home) for name in names}

    def run_engine(self, *words, before=()):
        done = subprocess.run([*before, ENGINE, *map(str, words)], env=self.environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def rows(self):
        for suffix, make in ((".pt", torchscript_model), (".onnx", onnx_model)):
            model, out = self.folder / f"model{suffix}", self.folder / f"out{suffix}" / f"folded{suffix}"
            out.parent.mkdir()
            make(str(model))
            for words in (["analyze", model], ["fold", model, "-o", out]):
                yield words, out

    def test_nothing_but_out_is_written(self):
        for words, out in self.rows():
            with self.subTest(words=words):
                self.run_engine(*words)
                self.assertEqual(list(self.home.rglob("*")), [])
                self.assertEqual(list(out.parent.iterdir()), [out] if out in words else [])

    def test_with_stdout_closed_results_go_into_no_file(self):
        for words, out in self.rows():
            with self.subTest(words=words):
                model = words[1]
                before = model.read_bytes()
                done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", ENGINE, *map(str, words)],
                                      env=self.environment, capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                self.assertIn("normlens: stdout cannot be written", done.stderr)
                self.assertEqual(model.read_bytes(), before)

    def test_no_socket_is_opened_and_no_file_touched(self):
        if not traces():
            self.skipTest("programs cannot be traced here: strace is not installed, or ptrace is forbidden")
        # What a confined process has instead of TMPDIR, and is gone by the end.
        scratch = str(self.home / ".normlens-worker-")
        for words, out in self.rows():
            with self.subTest(words=words):
                log = self.folder / "log"
                self.run_engine(*words, before=["strace", "-f", "-qq", "-e", "trace=%network,%file", "-o", log])
                calls = log.read_text().splitlines()
                self.assertGreater(len(calls), 10)
                self.assertEqual([call for call in calls if ASKING.search(call)], [])
                written = [found.group(1) for found in map(WRITING.search, calls) if found]
                allowed = (*HARMLESS, scratch, str(out.parent))
                self.assertEqual([name for name in written if not name.startswith(allowed)], [])
