"""Folded files in other tools: they read them, see the norms where they look for norms, and give equal outputs.
Tools that are not installed are skipped; packaging/test fetches all of them.
"""

import contextlib
import importlib.util
import pathlib
import subprocess
import tempfile
import unittest

import numpy
import onnx
import onnxruntime
import torch
from samples import engine
from sessions import LEVELS, TOLERANCE, far, outputs
from torch import nn

NORMS = 5


class Stream(nn.Module):
    """A pre-norm residual stream; the norms of its blocks lose their beta to a linear, the last one keeps it."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(8, 16)
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(NORMS - 1))
        self.ups = nn.ModuleList(nn.Linear(16, 32) for _ in range(NORMS - 1))
        self.downs = nn.ModuleList(nn.Linear(32, 16) for _ in range(NORMS - 1))
        self.last = nn.LayerNorm(16)

    def forward(self, x):
        x = self.stem(x)
        for norm, up, down in zip(self.norms, self.ups, self.downs):
            x = x + down(torch.relu(up(norm(x))))
        return torch.tanh(self.last(x))


def in_reference_evaluator(path, x):
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(str(path)).run(None, {"x": x})


def in_openvino(path, x):
    import openvino

    exact = {"INFERENCE_PRECISION_HINT": "f32"}  # else bfloat16 where the CPU has it
    return [openvino.Core().compile_model(str(path), "CPU", exact)([x])[0]]


def in_onnxslim(path, x):
    import onnxslim

    slim = path.with_suffix(".slim.onnx")
    onnx.save(onnxslim.slim(str(path)), slim)
    return outputs(slim, LEVELS[0], [x])


def in_onnxsim(path, x):
    import onnxsim

    simple = path.with_suffix(".sim.onnx")
    model, equal = onnxsim.simplify(str(path))
    assert equal
    onnx.save(model, simple)
    return outputs(simple, LEVELS[0], [x])


ONNX_TOOLS = {"onnx": in_reference_evaluator, "openvino": in_openvino, "onnxslim": in_onnxslim, "onnxsim": in_onnxsim}


def ops(path):
    return [node.op_type for node in onnx.load(path).graph.node]


def installed(name):
    return importlib.util.find_spec(name) is not None


class OtherTools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        torch.manual_seed(0)
        model = Stream().eval()
        for parameter in model.parameters():
            nn.init.uniform_(parameter, -1, 1)
        cls.x = torch.randn(3, 8)
        cls.expected = model(cls.x).detach().numpy()
        torch.jit.trace(model, cls.x).save(cls.folder / "stream.pt")
        path = cls.folder / "stream.onnx"
        torch.onnx.export(model, (cls.x,), path, input_names=["x"], opset_version=17, dynamo=False)

    def folded(self, suffix, norm, source="stream"):
        out = self.folder / f"{source}_{norm}{suffix}"
        status, result, errors = engine("fold", self.folder / f"{source}{suffix}", "-o", out, "--norm", norm)
        self.assertEqual((status, result["folded"]), (0, NORMS), errors)
        self.assertIs(result["verify"]["exact"], True)
        return out

    def test_outputs_of_onnx_files(self):
        for norm in ("primitives", "standard"):
            path = self.folded(".onnx", norm)
            for name, run in ONNX_TOOLS.items():
                if installed(name):
                    self.assertLess(far(self.expected, run(path, self.x.numpy())[0]), TOLERANCE, f"{norm} in {name}")

    def expect_recognised(self, path, arrays):
        optimised = path.with_suffix(".optimised.onnx")
        options = onnxruntime.SessionOptions()
        options.optimized_model_filepath = str(optimised)
        options.log_severity_level = 4
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.assertEqual(sum("SimplifiedLayerNormalization" in op for op in ops(optimised)), NORMS)
        self.assertNotIn("Pow", ops(optimised))
        for a, b in zip(outputs(path, LEVELS[0], arrays), outputs(path, LEVELS[-1], arrays)):
            self.assertLess(far(a, b), TOLERANCE if a.dtype == numpy.float32 else 4e-3)

    def test_onnxruntime_recognises_primitives(self):
        self.expect_recognised(self.folded(".onnx", "primitives"), [self.x.numpy()])

    def test_onnxruntime_recognises_primitives_of_a_half_type(self):
        from onnxruntime.transformers.float16 import convert_float_to_float16

        half = convert_float_to_float16(onnx.load(self.folder / "stream.onnx"))
        onnx.save(half, self.folder / "half.onnx")
        self.expect_recognised(self.folded(".onnx", "primitives", "half"), [self.x.numpy().astype(numpy.float16)])

    def test_optimizer_of_onnxruntime_transformers(self):
        from onnxruntime.transformers import optimizer

        model = optimizer.optimize_model(str(self.folded(".onnx", "primitives")), "bert", num_heads=0, hidden_size=0)
        optimised = self.folder / "transformers.onnx"
        model.save_model_to_file(str(optimised))
        self.assertEqual(sum("SimplifiedLayerNormalization" in op for op in ops(optimised)), NORMS)
        self.assertLess(far(self.expected, outputs(optimised, LEVELS[0], [self.x.numpy()])[0]), TOLERANCE)

    @unittest.skipUnless(installed("pnnx"), "pnnx is not installed")
    def test_pnnx(self):
        import pnnx

        for norm in ("portable", "primitives"):
            path = self.folded(".pt", norm)
            words = [pnnx.EXEC_PATH, path.name, "inputshape=[3,8]"]
            subprocess.run(words, cwd=self.folder, check=True, capture_output=True)
            name = f"{path.stem}_pnnx"
            spec = importlib.util.spec_from_file_location(name, self.folder / f"{name}.py")
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            with contextlib.chdir(self.folder):  # it opens its weights by their name alone
                actual = module.Model().eval()(self.x).detach().numpy()
            self.assertLess(far(self.expected, actual), TOLERANCE, norm)
