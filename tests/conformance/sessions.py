"""ONNX models run by ONNX Runtime, at any level of its optimisation."""

import numpy
import onnxruntime

LEVELS = [
    onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
]
TOLERANCE = 3e-5  # of float32; the proof is the engine's and the oracle's, this asks for sense at every level


def session(path, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def outputs(path, level, arrays):
    opened = session(path, level)
    return opened.run(None, {given.name: array for given, array in zip(opened.get_inputs(), arrays)})


def far(a, b):
    """The largest difference, relative to the largest value."""
    if a.size == 0:
        return 0.0
    a, b = a.astype(numpy.float64), b.astype(numpy.float64)
    finite = numpy.isfinite(a) & numpy.isfinite(b)
    top = numpy.abs(a[finite]).max(initial=0)
    return float(numpy.abs(a - b)[finite].max(initial=0) / top) if top > 0 else 0.0
