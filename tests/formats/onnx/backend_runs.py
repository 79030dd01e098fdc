"""Writes the operator tests of the onnx package that ONNX Runtime can be given: NAME.onnx, and NAME.npz with in_i, out_i."""

import pathlib
import sys

import numpy
from onnx.backend.test.case.node import collect_testcases

NEWEST_IR = 13  # of ONNX Runtime 1.31; the operators are dated by their opset
NEWEST_OPSET = 26
TYPES = {"float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"}


def arrays_of(case):
    """By name; None where a value is of a kind that NormLens cannot give or compare."""
    if case.model is None or not case.data_sets:
        return None
    inputs, outputs = case.data_sets[0]
    given = {f"in_{i}": numpy.asarray(a) for i, a in enumerate(inputs)}
    given |= {f"out_{i}": numpy.asarray(a) for i, a in enumerate(outputs)}
    return given if all(a.dtype.name in TYPES for a in given.values()) else None


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for case in collect_testcases(None):
        try:
            arrays = arrays_of(case)
        except ValueError:  # a sequence of arrays of different sizes
            continue
        if arrays is None or any(o.domain == "" and o.version > NEWEST_OPSET for o in case.model.opset_import):
            continue
        case.model.ir_version = min(case.model.ir_version, NEWEST_IR)
        (folder / f"{case.name}.onnx").write_bytes(case.model.SerializeToString())
        numpy.savez(folder / f"{case.name}.npz", **arrays)


main(pathlib.Path(sys.argv[1]))
