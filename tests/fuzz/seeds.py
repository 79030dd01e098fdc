"""Writes what the fuzz targets start from, a folder for each: seeds.py FOLDER [FOLDER_OF_MORE_ONNX_MODELS ...]

onnx_loader_fuzz: the onnx package's operator tests, a few models with what they lack (decomposed norms, fused operators,
bodies in bodies, functions, external data, weights in every field), and small .onnx files of the folders given.
The others: see seeds_other.py.
"""

import pathlib
import subprocess
import sys

import numpy as np
import onnx
import seeds_other
from onnx import TensorProto, helper, numpy_helper, parser

LARGEST = 16384  # bytes of a seed: more only slows the fuzzer down

MODELS = {
    "decomposed_norm": """
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[B, S, 8] x) => (float[B, S, 8] y)
        <float[8, 8] w = {%(64)s}, float[8] b = {%(8)s}, float[8] scale = {%(8)s}, float eps = {1e-5}, float two = {2}> {
          h = MatMul(x, w)
          c = Add(h, b)
          mean = ReduceMean<axes = [-1]>(c)
          d = Sub(c, mean)
          square = Pow(d, two)
          variance = ReduceMean<axes = [-1]>(square)
          safe = Add(variance, eps)
          root = Sqrt(safe)
          n = Div(d, root)
          y = Mul(n, scale)
        }""",
    "fused": """
        <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
        g (int64[1, 4] ids, int64[1, 4] kinds, int64[1, 4] mask) => (float[1, 4, 8] y, int32[1] m)
        <float[16, 8] words = {%(128)s}, float[4, 8] places = {%(32)s}, float[2, 8] segments = {%(16)s},
         float[8] scale = {%(8)s}, float[8] shift = {%(8)s}, float[8, 8] w = {%(64)s}> {
          e, m = com.microsoft.EmbedLayerNormalization<epsilon = 1e-12>(ids, kinds, words, places, segments, scale, shift, mask)
          f = com.microsoft.FusedMatMul<transB = 1, alpha = 0.5>(e, w)
          a = com.microsoft.BiasGelu(f, shift)
          s, , , sum = com.microsoft.SkipLayerNormalization(a, e, scale, shift, shift)
          y = com.microsoft.SimplifiedLayerNormalization<axis = -1>(sum, scale)
        }""",
    "bodies": """
        <ir_version: 8, opset_import: ["" : 17]>
        g (bool c, float[2, 4] x, int64 n) => (float[2, 4] y, float[n, 2, 4] all)
        <float[4] scale = {1, 2, 3, 4}> {
          branch = If(c) <
            then_branch = t () => (float[2, 4] p) { p = LayerNormalization<axis = -1>(x, scale) },
            else_branch = e () => (float[2, 4] q) {
              q = If(c) <
                then_branch = t2 () => (float[2, 4] r) { r = Identity(x) },
                else_branch = e2 () => (float[2, 4] s) { s = Neg(x) }>
            }>
          y, all = Loop(n, c, branch) <
            body = b (int64 i, bool go, float[2, 4] v) => (bool on, float[2, 4] w, float[2, 4] out) {
              on = Identity(go)
              w = LayerNormalization<axis = -1>(v, scale)
              out = Add(w, x)
            }>
        }""",
    "functions": """
        <ir_version: 9, opset_import: ["" : 17, "own" : 1]>
        g (float[2, 4] x) => (float[2, 4] y) <float[4, 4] w = {%(16)s}, float[4] scale = {1, 2, 3, 4}> {
          h = own.block<epsilon = 0.5>(x, w, scale)
          y = own.block(h, w, scale)
        }
        <domain: "own", opset_import: ["" : 17, "own" : 1]>
        norm <epsilon: float = 1e-5> (x, scale) => (y) { y = LayerNormalization<axis = -1, epsilon: float = @epsilon>(x, scale) }
        <domain: "own", opset_import: ["" : 17, "own" : 1]>
        block <epsilon: float = 1e-5> (x, w, scale) => (y) {
          h = MatMul(x, w)
          y = own.norm<epsilon: float = @epsilon>(h, scale)
        }""",
    "shapes": """
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[B, 4, 6] x) => (float[B, 6, 4] y) <int64[3] split = {1, 2, 3}, int64[1] zero = {0}, int64[1] one = {1}, float[4] scale = {1, 2, 3, 4}> {
          a, b, c = Split<axis = -1>(x, split)
          j = Concat<axis = 2>(c, a, b)
          s = Shape(j)
          t = Transpose<perm = [0, 2, 1]>(j)
          first = Gather<axis = 0>(s, zero)
          u = Unsqueeze(t, one)
          q = Squeeze(u, one)
          r = Slice(q, zero, one, one, one)
          k = Einsum<equation = "bij,bij->bij">(q, q)
          l = LayerNormalization<axis = -1>(k, scale)
          z = ReduceMean<axes = [1], keepdims = 1>(l)
          y = Sub(l, z)
        }""",
}


def numbers(count):
    return ", ".join(f"{0.25 * (i % 7) - 0.5}" for i in range(count))


def from_text(text):
    return parser.parse_model(text % {str(n): numbers(n) for n in (8, 16, 32, 64, 128)})


def tensor_of(field, kind=TensorProto.FLOAT):
    """A [16, 16] weight, large enough to be taken out of the model, with its numbers in this field."""
    values = np.linspace(-1, 1, 256).reshape(16, 16)
    if field == "raw_data":
        return numpy_helper.from_array(values.astype(helper.tensor_dtype_to_np_dtype(kind)), "w")
    tensor = TensorProto(name="w", data_type=kind, dims=[16, 16])
    if field == "external":
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "w.data"), ("offset", "0"), ("length", "1024")):
            tensor.external_data.add(key=key, value=value)
    else:
        getattr(tensor, field).extend(values.ravel().astype(int).tolist() if field == "int32_data" else values.ravel().tolist())
    return tensor


def norm_after(weight):
    kind = weight.data_type
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="/encoder/layer.0/dense"),
        helper.make_node("LayerNormalization", ["h", "g"], ["y"], name="/encoder/layer.0/norm"),
    ]
    scale = helper.make_tensor("g", kind, [16], [1 + i / 8 for i in range(16)])
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, ["batch", 16])],
        [helper.make_tensor_value_info("y", kind, ["batch", 16])],
        [weight, scale],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def onnx_models(folder, more):
    folder.mkdir(parents=True, exist_ok=True)
    backend = pathlib.Path(__file__).parent.parent / "formats" / "onnx" / "backend_models.py"
    subprocess.run([sys.executable, str(backend), str(folder)], check=True)
    for name, text in MODELS.items():
        (folder / f"{name}.onnx").write_bytes(from_text(text).SerializeToString())
    for field in ("raw_data", "float_data", "external"):
        (folder / f"norm_{field}.onnx").write_bytes(norm_after(tensor_of(field)).SerializeToString())
    half = norm_after(tensor_of("int32_data", TensorProto.FLOAT16))
    (folder / "norm_float16.onnx").write_bytes(half.SerializeToString())
    double = norm_after(tensor_of("double_data", TensorProto.DOUBLE))
    (folder / "norm_double.onnx").write_bytes(double.SerializeToString())
    for source in more:
        for path in pathlib.Path(source).rglob("*.onnx"):
            if path.is_file() and path.stat().st_size <= LARGEST:
                (folder / f"more.{path.name}").write_bytes(path.read_bytes())
    for path in folder.glob("*.onnx"):
        if path.stat().st_size > LARGEST:
            path.unlink()


def main(folder, more):
    onnx_models(folder / "onnx_loader_fuzz", more)
    seeds_other.write(folder)
    for target in sorted(path for path in folder.iterdir() if path.is_dir()):
        print(f"{sum(1 for _ in target.iterdir())} seeds in {target}")


main(pathlib.Path(sys.argv[1]), sys.argv[2:])
