"""How long a call of our rms_norm takes beside torch's layer_norm, from TorchScript and Python, and ONNX Runtime's.

Call: norm_calls.py LIBRARY [ROWSxWIDTH...]. The library is libnormlens_ops.so; the sizes are those of
docs/performance.md unless named. float32, with weight and bias. Prints medians in microseconds, and our time divided by
torch's or ONNX Runtime's.
"""

import ctypes
import statistics
import sys
import time
import warnings

import torch

ROUNDS = 41
PAUSE = 0.02  # seconds, after which the waiting threads of torch and of ONNX Runtime no longer spin
BATCH = 0.02  # seconds that the calls of one measurement take, after as many that warm up
EPS = 1e-5
SIZES = ("1x768", "16x768", "128x768", "65536x64")


def torch_script(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, calls: int):
    for _ in range(calls):
        x = torch.layer_norm(x, [x.size(-1)], weight, bias, 1e-5)
    return x


def own_script(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, calls: int):
    for _ in range(calls):
        x = torch.ops.normlens.rms_norm(x, weight, bias, 1e-5)
    return x


def torch_python(x, weight, bias, calls):
    shape = x.shape[-1:]
    for _ in range(calls):
        torch.nn.functional.layer_norm(x, shape, weight, bias, EPS)


def own_python(x, weight, bias, calls):
    norm = torch.ops.normlens.rms_norm
    for _ in range(calls):
        norm(x, weight, bias, EPS)


def keep_memory():
    """Lets torch's results go to memory that the process has, as ONNX Runtime's do: else page faults are timed."""
    m_trim_threshold, m_mmap_threshold = -1, -3
    for option in (m_mmap_threshold, m_trim_threshold):
        ctypes.CDLL(None).mallopt(option, 1 << 30)


def onnx_runtime(kind):
    """Calls of a model of one node, whose output lies in ONNX Runtime's own memory."""
    import onnxruntime
    from onnx import TensorProto, helper

    def value(name, *shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    inputs = ["x", "weight", "bias"] if kind == "LayerNormalization" else ["x", "weight"]
    node = helper.make_node(kind, inputs, ["y"], axis=-1, epsilon=EPS)
    values = [value("x", "rows", "width"), *(value(name, "width") for name in inputs[1:])]
    graph = helper.make_graph([node], "norm", values, [value("y", "rows", "width")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def call(x, weight, bias, calls):
        given = dict(zip(inputs, (x.numpy(), weight.numpy(), bias.numpy())))
        binding = session.io_binding()
        for name, array in given.items():
            binding.bind_cpu_input(name, array)
        for _ in range(calls):
            binding.bind_output("y", "cpu")
            session.run_with_iobinding(binding)

    return call


def seconds(function, *arguments):
    began = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - began


def measure(functions, x, weight, bias):
    """Medians of one call each, in microseconds; the functions take turns."""
    calls = {}
    for name, function in functions.items():
        function(x, weight, bias, 3)
        calls[name] = max(3, int(BATCH / seconds(function, x, weight, bias, 3) * 3))
    times = {name: [] for name in functions}
    for _ in range(ROUNDS):
        for name, function in functions.items():
            time.sleep(PAUSE)
            function(x, weight, bias, calls[name])
            times[name].append(seconds(function, x, weight, bias, calls[name]) / calls[name] * 1e6)
    return {name: statistics.median(taken) for name, taken in times.items()}


def main(library, *sizes):
    torch.ops.load_library(library)
    keep_memory()
    warnings.simplefilter("ignore", FutureWarning)  # torch.jit.script is what this measures
    functions = {
        "torch script": torch.jit.script(torch_script),
        "own script": torch.jit.script(own_script),
        "torch python": torch_python,
        "own python": own_python,
        "LayerNormalization": onnx_runtime("LayerNormalization"),
        "SimplifiedLayerNormalization": onnx_runtime("SimplifiedLayerNormalization"),
    }
    for size in sizes or SIZES:
        rows, width = map(int, size.split("x"))
        with torch.inference_mode():
            took = measure(functions, torch.randn(rows, width), torch.randn(width), torch.randn(width))
        print(f"{size}, {torch.get_num_threads()} threads:", ", ".join(f"{n} {us:.2f}" for n, us in took.items()))
        for own, other in (
            ("own script", "torch script"),
            ("own python", "torch python"),
            ("own python", "LayerNormalization"),
            ("own python", "SimplifiedLayerNormalization"),
        ):
            print(f"  {own} / {other}: {took[own] / took[other]:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
