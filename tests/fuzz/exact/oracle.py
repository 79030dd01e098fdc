"""Does a folded file give what its original gives? At the sample's size and at others, at other values, and again."""

import ml_dtypes
import numpy

from case import number_of
from writer import INPUTS

# A wrong fold is off by far more, in any type: float64 is where a small difference counts.
TOLERANCE = {"float64": 1e-9, "float32": 1e-2, "float16": 0.2, "bfloat16": 0.5}
NOISE = 1000  # times what an ulp of the weights and inputs does to the row, or a hundredth of what it does to any row
LEAST = 1e-2  # weights and inputs are near 1: what is far smaller is 0 in exact arithmetic, and rounding here
YARDSTICK = 6  # in a half type: times the original's own error
NO_DIGITS = 0.1  # an ulp moves the output by that much: nothing of it is known


def arrays(case, inputs, sizes, seed, shapes=None, n=None, flag=None):
    rng = numpy.random.default_rng(seed)
    made = {}
    for name in inputs:
        kind, dims = INPUTS[name]
        shape = (shapes or {}).get(name) or tuple(sizes[dim] if isinstance(dim, str) else dim for dim in dims)
        if kind == "float":
            made[name] = numpy.asarray(rng.standard_normal(shape) + 0.1, case["type"])
        elif kind == "ids":
            made[name] = rng.integers(0, 7, shape)
        elif kind == "int":
            made[name] = numpy.array(case["n"] if n is None else n, numpy.int64)
        else:
            made[name] = numpy.array(case["flag"] if flag is None else flag)
    return made


def trials(case, written):
    """(what is other than in the sample, arrays). The sample comes first."""
    inputs, sizes = written.inputs, {axis: case[axis] for axis in "BTSD"}
    width, seed = case["D"], number_of(case["seed"], "sample")

    def made(label, **changed):
        other = {axis: changed.pop(axis) for axis in "BTS" if axis in changed}
        drawn = seed if label == "sample" else number_of(seed, label)
        return label, arrays(case, inputs, sizes | other, drawn, **changed)

    yield made("sample")
    yield made("again")
    yield made("B, T", B=3 if case["B"] != 3 else 4, T=7, S=3)
    for axis in "BTS" if "k" in inputs else "BT":
        for size in {1, 2, width} - {case[axis]}:
            yield made(f"{axis}={'D' if size == width else size}", **{axis: size})
    for name in inputs:
        kind, dims = INPUTS[name]
        if kind == "int":
            for n in {0, 1, 2, 3, width} - {case["n"]}:
                yield made(f"n={n}", n=n)
        elif kind == "bool":
            yield made("flag", flag=not case["flag"])
        elif kind == "float" and (1 in dims or not dims):
            yield from ones(case, name, dims, sizes, made, written)
    yield made("all D", B=width, T=width, S=width, n=width)
    if written.open_weight:
        _, values = made("weight")
        values[written.open_weight] = written.weights[written.open_weight].astype(case["type"]) * 2 + 0.5
        yield "weight", values


def ones(case, name, dims, sizes, made, written):
    shape = [sizes[dim] if isinstance(dim, str) else dim for dim in dims] or [1]
    last = case["D"]
    for axis in (axis for axis, dim in enumerate(shape) if dim == 1 and not written.shares_size(name, axis)):
        full = (case["B"], case["T"], last)[axis - len(shape)]
        for size in {full, last}:
            wide = tuple(size if i == axis else s for i, s in enumerate(shape))
            yield made(f"{name} {shape}[{axis}]={size}", shapes={name: wide})


def row_errors(a, b):
    """By row, relative to what is not equal there. None: other shapes, or other numbers that are not finite."""
    if a.shape != b.shape:
        return None
    a, b = (v.reshape(-1, v.shape[-1] if v.ndim else 1) for v in (a, b))
    odd = ~(numpy.isfinite(a) & numpy.isfinite(b))
    if not numpy.array_equal(a[odd], b[odd], equal_nan=True):
        return None
    same = odd | (a == b)
    scale = numpy.where(same, 0, abs(a)).max(1, initial=0)
    scale = numpy.maximum(scale, max(1e-3 * scale.max(initial=0), LEAST))
    return abs(numpy.where(same, 0, a - b)).max(1, initial=0) / scale


class Difference:
    def __init__(self, label, error, inputs):
        self.label, self.error, self.inputs = label, error, inputs


def differences(case, written, original, folded, done):
    """Those beyond noise, run by run; counts in `done` the runs that were compared."""
    for label, values in trials(case, written):
        if label != "again":
            original.again()
            folded.again()
        try:
            expected = original.run(values)
        except Exception:  # of whatever kind: not a size of this model
            continue
        if not any(numpy.isfinite(one).any() for one in expected) or overflows(case, expected):
            continue
        done.compared += 1
        error = worst(case, original, expected, folded, values)
        if error:
            yield Difference(label, error, values)


def overflows(case, outputs):
    """Which a fold may not do: its numbers are smaller."""
    return case["type"] == "float16" and not all(numpy.isfinite(one).all() for one in outputs)


def in_float64(inputs):
    return {name: numpy.asarray(value, numpy.float64) if value.dtype.kind not in "ib" else value
            for name, value in inputs.items()}


def times_worse(case, written, original, folded, wide, scale=1):
    """How many times the original's error the fold's is, both against `wide`, which computes in float64 with the same
    stored numbers: of the rows of 64 draws, sorted by it, but for the two last; of the outputs the worst one. One
    rounding is excused. `scale`: of the inputs; below 0, of their magnitudes."""
    errors = []  # by output: of the original's rows, of the fold's
    sizes = {axis: case[axis] for axis in "BTSD"}
    least = float(ml_dtypes.finfo(case["type"]).eps)
    for draw in range(64):
        values = arrays(case, written.inputs, sizes, number_of(case["seed"], "worse", draw))
        values = {name: v if v.dtype.kind in "ib" else (v * scale if scale > 0 else abs(v * scale)).astype(v.dtype)
                  for name, v in values.items()}
        exact = wide.run(in_float64(values))
        errors += [([], []) for _ in exact[len(errors):]]
        for (own, folds), a, b, right in zip(errors, original.run(values), folded.run(values), exact):
            found, other = row_errors(right, a), row_errors(right, b)
            if found is not None:
                own.extend(found)
                folds.extend(numpy.full(found.shape, numpy.inf) if other is None else other)
    return max((float((numpy.sort(folds) / numpy.maximum(numpy.sort(own), least))[:-2].max(initial=0))
                for own, folds in errors if own), default=0)


def worst(case, original, expected, folded, values):
    try:
        found = folded.run(values)
    except Exception as problem:
        return f"does not run: {str(problem).strip().splitlines()[-1][:120]}"
    if len(found) != len(expected):
        return "another number of outputs"
    limit, noise = TOLERANCE[case["type"]], None
    for i, (a, b) in enumerate(zip(expected, found)):
        errors = row_errors(a, b)
        if a.shape != b.shape:
            return f"output {i}: shapes {a.shape} and {b.shape}"
        if errors is not None and errors.max(initial=0) <= limit:
            continue
        noise = noise or shaken(original, values)
        floor = noise[i]
        # A quotient by what is 0 but for rounding: an ulp decides what it is, and whether it is finite.
        if floor is None or (errors is None and floor.max(initial=0) > NO_DIGITS):
            continue
        if errors is None:
            return f"output {i}: other numbers are finite"
        if (errors > numpy.maximum(limit, NOISE * numpy.maximum(floor, floor.max(initial=0) / 100))).any():
            return f"output {i}: {errors.max():.1e}, noise {floor.max():.1e}"
    return None


def shaken(original, values):
    """By output and row: how far the original is from itself when its weights and inputs are off by an ulp."""
    expected, found = original.run(values), None
    for draw in range(3):
        rng = numpy.random.default_rng(draw)
        moved = {name: off_by_an_ulp(value, rng) for name, value in values.items()}
        errors = [row_errors(a, b) for a, b in zip(expected, original.shaken(rng).run(moved))]
        found = errors if found is None else [larger(a, b) for a, b in zip(found, errors)]
    return found


def larger(a, b):
    return None if a is None or b is None or len(a) != len(b) else numpy.maximum(a, b)


def off_by_an_ulp(value, rng):
    if value.dtype.kind != "f" and value.dtype != ml_dtypes.bfloat16:
        return value
    return numpy.asarray(value * (1 + ml_dtypes.finfo(value.dtype).eps * rng.integers(-1, 2, value.shape)), value.dtype)
