"""The oracle's half that runs files: LibTorch and ONNX Runtime as they are, nothing of ours."""

import json
import subprocess

import ml_dtypes
import numpy
import onnx
import onnxruntime
import torch

torch.set_num_threads(1)
torch.set_grad_enabled(False)
torch._C._jit_set_profiling_executor(False)


def load_ops(engine):
    """normlens::rms_norm, for files of `--norm fast`."""
    told = subprocess.run([engine, "doctor", "--json"], capture_output=True, text=True, check=False).stdout
    torch.ops.load_library(json.loads(told)["ops_library"])


def open_file(path):
    return (TorchScriptFile if path.suffix == ".pt" else OnnxFile)(path)


def tensor(array):
    """NumPy has bfloat16 by ml_dtypes alone, and torch takes none of it."""
    halves = array.dtype == ml_dtypes.bfloat16
    return torch.from_numpy(array.astype(numpy.float32)).bfloat16() if halves else torch.from_numpy(array)


class TorchScriptFile:
    def __init__(self, path):
        self.path = path
        self.module = torch.jit.load(str(path))

    def again(self):
        """With the state that the file has."""
        if self.state():
            self.module = torch.jit.load(str(self.path))

    def run(self, arrays):
        values = [a.item() if name in ("n", "flag") else tensor(a) for name, a in arrays.items()]
        with torch.jit.optimized_execution(False):
            made = self.module(*values)
        return [t.to(torch.float64).numpy() for t in (made if isinstance(made, tuple) else (made,))]

    def shaken(self, rng):
        """A copy whose weights are off by up to an ulp."""
        other = TorchScriptFile(self.path)
        for value in other.module.parameters():
            value.mul_(1 + torch.finfo(value.dtype).eps * torch.from_numpy(rng.integers(-1, 2, tuple(value.shape))))
        return other

    def state(self):
        return {name: value.double().numpy() for name, value in self.module.named_buffers()}


class OnnxFile:
    def __init__(self, path, model=None):
        self.path = path
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(model or str(path), options, providers=["CPUExecutionProvider"])
        self.names = {one.name for one in self.session.get_inputs() + self.session.get_overridable_initializers()}

    def again(self):
        pass

    def run(self, arrays):
        fed = {name: value for name, value in arrays.items() if name in self.names}
        return [numpy.asarray(value, numpy.float64) for value in self.session.run(None, fed)]

    def largest_inside(self, arrays):
        """Of the finite numbers between its nodes."""
        model = onnx.shape_inference.infer_shapes(onnx.load(str(self.path)))
        known = {output.name for output in model.graph.output}
        model.graph.output.extend(value for value in model.graph.value_info if value.name not in known)
        found = OnnxFile(self.path, model.SerializeToString()).run(arrays)
        return max((abs(value[numpy.isfinite(value)]).max(initial=0) for value in found), default=0)

    def shaken(self, rng):
        model = onnx.load(str(self.path))
        for one in model.graph.initializer:
            value = onnx.numpy_helper.to_array(one)
            # A single number stays, as in TorchScript: a mask of -3e38 that moves hides how far the rest of a row does.
            if value.dtype.kind == "f" and value.size > 1:
                moved = value * (1 + numpy.finfo(value.dtype).eps * rng.integers(-1, 2, value.shape))
                one.CopyFrom(onnx.numpy_helper.from_array(numpy.asarray(moved, value.dtype), one.name))
        return OnnxFile(self.path, model.SerializeToString())

    def state(self):
        return {}
