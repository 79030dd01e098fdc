"""Times our ops beside torch's from Python: a check of normlens-bench by other means, and what is left if that fails.

Call: op_times.py LIBRARY FILE [SECONDS]. GPU time is the median of replays of a CUDA graph that holds many calls over
inputs in turn; host time is that of a call outside a graph. FILE is written after each point, so that a run that is
cut short leaves what it has, and must not be there before. A point that fails does not stop the others: if it has
killed the CUDA context, they go on in another process. After SECONDS no other point begins.
"""

import json
import os
import pathlib
import statistics
import sys
import time

import torch
from torch.nn import functional

EPS = 1e-5
POINTS = (
    (64, 768), (1024, 768), (1024, 1024), (8192, 768), (8192, 4096), (65536, 768), (16384, 1024), (4096, 8192),
    (1, 16384), (16, 4096), (65536, 128), (8192, 16384), (2048, 65536),
)  # fmt: skip
BYTES_OF_INPUTS = 256 << 20  # so many do not stay in the cache
REPLAYS = 9
HOST_CALLS = 50


def ops_of(weight, bias, width):
    """Name -> a function of input and residual. In the name "add": input and residual are read, two tensors written."""
    ours = torch.ops.normlens
    return {
        "copy": lambda x, r: x.clone(),
        "torch-layer-norm": lambda x, r: functional.layer_norm(x, (width,), weight, bias, EPS),
        "torch-rms-norm": lambda x, r: functional.rms_norm(x, (width,), weight, EPS),
        "torch-rms-norm-bias": lambda x, r: functional.rms_norm(x, (width,), weight, EPS) + bias,
        "torch-add-layer-norm": lambda x, r: functional.layer_norm(x + r, (width,), weight, bias, EPS),
        "layer-norm": lambda x, r: ours.layer_norm(x, weight, bias, EPS),
        "rms-norm": lambda x, r: ours.rms_norm(x, weight, bias, EPS),
        "add-layer-norm": lambda x, r: ours.add_layer_norm(x, r, weight, bias, EPS),
        "add-rms-norm": lambda x, r: ours.add_rms_norm(x, r, weight, bias, EPS),
    }


def gpu_microseconds(call, inputs):
    calls = 2 * len(inputs)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for pair in inputs[:3]:
            call(*pair)
    torch.cuda.synchronize()
    graph, results = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        for index in range(calls):
            results.append(call(*inputs[index % len(inputs)]))
    graph.replay()
    torch.cuda.synchronize()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    times = []
    for _ in range(REPLAYS):
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(1e3 * start.elapsed_time(end) / calls)
    return statistics.median(times)


def host_microseconds(call, inputs):
    times = []
    for _ in range(3):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for index in range(HOST_CALLS):
            call(*inputs[index % len(inputs)])
        times.append(1e6 * (time.perf_counter() - began) / HOST_CALLS)
    torch.cuda.synchronize()
    return min(times)


def largest_error(call, pair, exact):
    return ((call(*pair).double() - exact).abs().max() / exact.abs().max()).item()


def measure(dtype, rows, width):
    torch.manual_seed(1)
    size = rows * width * dtype.itemsize
    sets = max(1, min(32, BYTES_OF_INPUTS // (2 * size)))
    inputs = [tuple(torch.randn(2, rows, width, device="cuda").to(dtype)) for _ in range(sets)]
    weight, bias = torch.randn(2, width, device="cuda").to(dtype)
    ops = ops_of(weight, bias, width)
    exact = functional.layer_norm(inputs[0][0].double(), (width,), weight.double(), bias.double(), EPS)
    judged = ("torch-layer-norm", "layer-norm")
    point = {"ops": {}, "error": {name: largest_error(ops[name], inputs[0], exact) for name in judged}}
    for name, call in ops.items():
        microseconds = gpu_microseconds(call, inputs)
        moved = (4 if "add" in name else 2) * size
        point["ops"][name] = {
            "us": round(microseconds, 3),
            "host_us": round(host_microseconds(call, inputs), 2),
            "tb_s": round(moved / microseconds / 1e6, 3),
        }
    return point


def attempt(dtype, rows, width):
    sizes = {"dtype": str(dtype).removeprefix("torch."), "rows": rows, "width": width}
    try:
        return sizes | measure(dtype, rows, width)
    except Exception as error:  # also what the driver reports
        return sizes | {"failed": f"{type(error).__name__}: {error}"[:300]}


def context_lives():
    try:
        torch.ones(1, device="cuda").sum().item()
    except RuntimeError:
        return False
    return True


def points_in(file):
    """What an earlier process of the same call has measured."""
    path = pathlib.Path(file)
    return json.loads(path.read_text(encoding="utf-8"))["op_times"] if path.exists() else []


def main(library, file, seconds="60"):
    until = time.monotonic() + float(seconds)
    torch.ops.load_library(library)
    points = points_in(file)
    wanted = [(dtype, *sizes) for dtype in (torch.bfloat16, torch.float32) for sizes in POINTS]
    for sizes in wanted[len(points) :]:
        if time.monotonic() > until:
            break
        with torch.inference_mode():
            points.append(attempt(*sizes))
        print(points[-1], flush=True)
        measured = {"torch": torch.__version__, "op_times": points}
        pathlib.Path(file).write_text(json.dumps(measured, indent=1), encoding="utf-8")
        if "failed" in points[-1] and not context_lives():  # the rest is for another process
            os.execv(sys.executable, [sys.executable, __file__, library, file, str(until - time.monotonic())])
    return 1 if any("failed" in point for point in points) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
