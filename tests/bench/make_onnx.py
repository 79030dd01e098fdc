"""Writes the ONNX models that normlens-bench measures: decoder blocks with random weights, named as torch.onnx names them.

    make_onnx.py nodes COUNT FILE.onnx             many blocks eight wide, about COUNT nodes
    make_onnx.py dense COUNT FILE.onnx             COUNT blocks that each read all before them, side by side
    make_onnx.py gpt2 FILE.onnx [--external]       GPT-2 small: 124 million parameters, tied head, about 500 MB
"""

import dataclasses
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


@dataclasses.dataclass
class Size:
    width: int
    heads: int
    layers: int
    tokens: int
    positions: int


class Writer:
    """Nodes and initializers as they are made; scope: where the next nodes belong."""

    def __init__(self):
        self.random = np.random.default_rng(4)
        self.nodes, self.initializers = [], []
        self.scope = ""

    def op(self, kind, *inputs, **attributes):
        return self.ops(kind, 1, *inputs, **attributes)[0]

    def ops(self, kind, outputs, *inputs, **attributes):
        name = f"{self.scope}/{kind}_{len(self.nodes)}"
        made = [f"{name}_output_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, made, name=name, **attributes))
        return made

    def constant(self, values):
        tensor = numpy_helper.from_array(np.asarray(values, dtype=np.int64))
        return self.op("Constant", value=tensor)

    def number(self, value):
        return self.op("Constant", value=numpy_helper.from_array(np.float32(value)))

    def weight(self, name, *shape):
        values = self.random.standard_normal(shape, dtype=np.float32)
        values *= np.float32(0.02)
        return self.initializer(name, values)

    def initializer(self, name, values):
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def norm(self, name, x, width):
        scale = self.initializer(name + ".weight", 1 + self.random.standard_normal(width, dtype=np.float32) / 16)
        bias = self.weight(name + ".bias", width)
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-5)

    def linear(self, name, x, rows, columns):
        product = self.op("MatMul", x, self.weight(name + ".weight", rows, columns))
        return self.op("Add", self.weight(name + ".bias", columns), product)


def attention(writer, prefix, x, size):
    inner = size.width // size.heads
    joined = writer.linear(prefix + ".c_attn", x, size.width, 3 * size.width)
    parts = writer.ops("Split", 3, joined, writer.constant([size.width] * 3), axis=-1)
    # Batch and length are read from the value, as exporters do where they may change.
    shape = writer.op("Shape", x)
    batch = writer.op("Unsqueeze", writer.op("Gather", shape, writer.constant(0)), writer.constant([0]))
    length = writer.op("Unsqueeze", writer.op("Gather", shape, writer.constant(1)), writer.constant([0]))
    split = writer.op("Concat", batch, length, writer.constant([size.heads]), writer.constant([inner]), axis=0)
    merged = writer.op("Concat", batch, length, writer.constant([size.width]), axis=0)
    q, k, v = (writer.op("Reshape", part, split) for part in parts)
    q = writer.op("Transpose", q, perm=[0, 2, 1, 3])
    k = writer.op("Transpose", k, perm=[0, 2, 3, 1])
    v = writer.op("Transpose", v, perm=[0, 2, 1, 3])
    scores = writer.op("Div", writer.op("MatMul", q, k), writer.number(np.sqrt(inner)))
    mixed = writer.op("MatMul", writer.op("Softmax", scores, axis=-1), v)
    mixed = writer.op("Reshape", writer.op("Transpose", mixed, perm=[0, 2, 1, 3]), merged)
    return writer.linear(prefix + ".c_proj", mixed, size.width, size.width)


def gelu(writer, x):
    error = writer.op("Erf", writer.op("Div", x, writer.number(np.sqrt(2))))
    return writer.op("Mul", writer.op("Mul", x, writer.op("Add", error, writer.number(1))), writer.number(0.5))


def block(writer, index, x, size):
    scope, prefix = f"/transformer/h.{index}", f"transformer.h.{index}"
    writer.scope = scope + "/ln_1"
    normed = writer.norm(prefix + ".ln_1", x, size.width)
    writer.scope = scope + "/attn"
    mixed = attention(writer, prefix + ".attn", normed, size)
    writer.scope = scope
    x = writer.op("Add", mixed, x)
    writer.scope = scope + "/ln_2"
    normed = writer.norm(prefix + ".ln_2", x, size.width)
    writer.scope = scope + "/mlp"
    wide = writer.linear(prefix + ".mlp.c_fc", normed, size.width, 4 * size.width)
    narrow = writer.linear(prefix + ".mlp.c_proj", gelu(writer, wide), 4 * size.width, size.width)
    writer.scope = scope
    return writer.op("Add", x, narrow)


def embeddings(writer, size):
    writer.scope = "/transformer"
    words = writer.op("Gather", writer.weight("transformer.wte.weight", size.tokens, size.width), "input_ids")
    length = writer.op("Gather", writer.op("Shape", "input_ids"), writer.constant(1))
    ends = [writer.constant([0]), writer.op("Unsqueeze", length, writer.constant([0])), writer.constant([0])]
    table = writer.weight("transformer.wpe.weight", size.positions, size.width)
    return writer.op("Add", words, writer.op("Slice", table, *ends))


def decoder(size, writer=None):
    """The tied head reads the table of the words through a Transpose."""
    writer = writer or Writer()
    x = embeddings(writer, size)
    for index in range(size.layers):
        x = block(writer, index, x, size)
    writer.scope = "/transformer/ln_f"
    x = writer.norm("transformer.ln_f", x, size.width)
    writer.scope = "/lm_head"
    head = writer.op("Transpose", "transformer.wte.weight", perm=[1, 0])
    logits = writer.op("MatMul", x, head)
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"])]
    outputs = [helper.make_tensor_value_info(logits, TensorProto.FLOAT, ["batch", "sequence", size.tokens])]
    graph = helper.make_graph(writer.nodes, "main_graph", inputs, outputs, writer.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def with_nodes(count):
    def small(layers):
        return Size(width=8, heads=2, layers=layers, tokens=64, positions=32)

    one, two = (len(decoder(small(layers)).graph.node) for layers in (1, 2))
    return decoder(small(max(1, round((count - one) / (two - one)) + 1)))


def dense(count, width=4):
    writer = Writer()
    parts = [writer.op("MatMul", "x", writer.weight("first.weight", 8, width))]
    for index in range(count):
        wide = width * len(parts)
        normed = writer.norm(f"norms.{index}", writer.op("Concat", *parts, axis=-1), wide)
        parts.append(writer.op("MatMul", writer.op("Relu", normed), writer.weight(f"blocks.{index}.weight", wide, width)))
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 8])]
    out = writer.op("Concat", *parts, axis=-1)
    outputs = [helper.make_tensor_value_info(out, TensorProto.FLOAT, ["batch", width * len(parts)])]
    graph = helper.make_graph(writer.nodes, "main_graph", inputs, outputs, writer.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def main():
    if sys.argv[1] in ("nodes", "dense"):
        onnx.save({"nodes": with_nodes, "dense": dense}[sys.argv[1]](int(sys.argv[2])), sys.argv[3])
        return
    path = pathlib.Path(sys.argv[2])
    model = decoder(Size(width=768, heads=12, layers=12, tokens=50257, positions=1024))
    external = "--external" in sys.argv[3:]
    onnx.save(model, path, save_as_external_data=external, location=path.name + ".data")


if __name__ == "__main__":
    main()
