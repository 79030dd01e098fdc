"""Cases as ONNX."""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from writer import INPUTS, Writer

TYPES = {"float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16}
UNARY = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid", "sin": "Sin", "sqrt": "Sqrt", "abs": "Abs"}


class OnnxWriter(Writer):
    def __init__(self, case):
        super().__init__(case)
        self.nodes, self.numbers = [], {}

    def node(self, op, inputs, outputs=1, **attributes):
        made = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, made, **attributes))
        return made[0] if outputs == 1 else made

    # ---- constants

    def constant(self, key):
        return key

    def literal(self, value, kind="float"):
        """Of a shape: a list has one axis."""
        array = self.stored(value) if kind == "float" else numpy.array(value, numpy.int64)
        key = f"c{len(self.numbers)}"
        self.numbers[key] = array
        return key

    def operand(self, value):
        return value if isinstance(value, str) else self.literal(value)

    def integers(self, values):
        """A list of numbers and of names of integers, each [1]."""
        if all(isinstance(v, int) for v in values):
            return self.literal(values, "int")
        return self.node("Concat", [v if isinstance(v, str) else self.literal([v], "int") for v in values], axis=0)

    # ---- the file

    def input(self, name):
        super().input(name)
        return self.node("Reshape", [name, self.literal([1], "int")]) if name == "n" else name

    def shares_size(self, name, axis):
        return self.case["declared"] != "nothing" and isinstance((*INPUTS[name][1], 1)[axis], str)

    def declared(self, name):
        kind, dims = INPUTS[name]
        how, sizes = self.case["declared"], self.case
        element = {"float": TYPES[self.type], "ids": TensorProto.INT64, "int": TensorProto.INT64,
                   "bool": TensorProto.BOOL}[kind]
        if how == "nothing" and name != "x":
            return helper.make_tensor_value_info(name, element, None)
        shape = []
        for axis, dim in enumerate(dims):
            one = dim == 1 or how == "ones" and sizes.get(dim) == 1
            shape.append(sizes[dim] if dim == "D" or how == "sample" and dim != 1
                         else 1 if one and how in ("ones", "sample") else f"{name}_{axis}" if dim == 1 else dim)
        return helper.make_tensor_value_info(name, element, shape)

    def finish(self):
        kept = {name: self.stored(value) for name, value in self.weights.items()} | self.numbers
        named = [self.node("Identity", [value]) for value in self.outputs]
        self.open_weight = self.chosen_weight()
        declared = [self.declared(name) for name in self.inputs]
        if self.open_weight:
            shape = kept[self.open_weight].shape
            declared.append(helper.make_tensor_value_info(self.open_weight, TYPES[self.type], shape))
        outputs = [helper.make_tensor_value_info(name, TYPES[self.type], None) for name in named]
        graph = helper.make_graph(self.nodes, "case", declared, outputs,
                                  [numpy_helper.from_array(value, name) for name, value in kept.items()])
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                       ir_version=8 if self.opset < 19 else 10)
        return self

    def save(self, path):
        with open(path, "wb") as file:
            file.write(self.model.SerializeToString())

    def chosen_weight(self):
        """One that a caller may override."""
        linears = [name for name, value in self.weights.items() if value.ndim == 2]
        return linears[0] if linears and self.case["overridable"] else None

    # ---- words

    def unary(self, op, x):
        if op == "gelu":
            if self.opset >= 20 and self.type == "float32":
                return self.node("Gelu", [x])
            return self.node("Mul", [x, self.node("Sigmoid", [self.binary("mul", x, 1.702)])])
        return self.node(UNARY[op], [x])

    def binary(self, op, a, b):
        return self.node(op.capitalize(), [self.operand(a), self.operand(b)])

    def greater(self, a, b):
        return self.node("Greater", [a, self.operand(b)])

    def where(self, mask, a, b):
        return self.node("Where", [mask, a, self.operand(b)])

    def fill(self, x, mask, value):
        return self.node("Where", [mask, self.literal(value), x])

    def matmul(self, a, b):
        return self.node("MatMul", [a, b])

    def linear(self, x, weight, bias, form):
        turned = self.node("Transpose", [weight], perm=[1, 0])
        if form == "flat" and bias is not None:
            rows = self.reshape(x, [-1, self.dim(x, -1)])
            y = self.node("Gemm", [rows, weight, bias], transB=1)
            return self.reshape(y, [self.dim(x, 0), self.dim(x, 1), -1])
        if form == "left":
            y = self.permute(self.node("MatMul", [weight, self.permute(x, [0, 2, 1])]), [0, 2, 1])
        elif form == "einsum":
            y = self.node("Einsum", [x, weight], equation="btd,ed->bte")
        else:
            y = self.node("MatMul", [x, turned])
        return y if bias is None else self.node("Add", [y, bias])

    def softmax(self, x, axis):
        return self.node("Softmax", [x], axis=axis)

    def layer_norm(self, x, shape, gamma, beta):
        gamma = gamma or self.full(shape, 1.0)
        return self.node("LayerNormalization", [x, gamma, *([beta] if beta else [])], axis=-len(shape), epsilon=1e-5)

    def flat_group_norm(self, x, groups):
        """Of [rows, width], as exporters write it."""
        if self.type == "float64":
            return self.group_norm(x, groups)
        x = self.reshape(x, [-1, groups, self.width // groups])
        x = self.node("InstanceNormalization", [x, self.literal([1.0] * groups), self.literal([0.0] * groups)], epsilon=1e-5)
        return self.reshape(x, [-1, self.width])

    def group_norm(self, x, groups):
        if self.opset < 21 or self.type == "float64":
            return self.binary("sub", x, self.reduce("mean", x, [-1]))
        ones = self.literal([1.0] * self.width)
        return self.node("GroupNormalization", [x, ones, self.literal([0.0] * self.width)], num_groups=groups)

    def reduce(self, op, x, axes, keep=True):
        name = "Reduce" + op.capitalize()
        if self.opset >= 18 or op == "sum":
            return self.node(name, [x, self.integers(axes)], keepdims=int(keep))
        return self.node(name, [x], axes=[a if isinstance(a, int) else -1 for a in axes], keepdims=int(keep))

    def reshape(self, x, dims):
        return self.node("Reshape", [x, self.integers(dims)])

    def expand(self, x, dims):
        return self.node("Expand", [x, self.integers(dims)])

    def permute(self, x, order):
        return self.node("Transpose", [x], perm=order)

    def unsqueeze(self, x, axis):
        return self.node("Unsqueeze", [x, self.literal([axis], "int")])

    def squeeze_all(self, x):
        return self.node("Squeeze", [x])

    def tile(self, x, times):
        return self.node("Tile", [x, self.integers(times)])

    def concat(self, values, axis):
        return self.node("Concat", values, axis=axis)

    def split(self, x, sizes, axis):
        return self.node("Split", [x, self.literal(sizes, "int")], len(sizes), axis=axis)

    def cut(self, x, axis, start, stop):
        stop = 2**62 if stop is None else stop
        return self.node("Slice", [x, self.integers([start]), self.integers([stop]), self.literal([axis], "int")])

    def pad(self, x, axis, before, after, value):
        amounts = [0] * 6
        amounts[axis], amounts[axis + 3] = before, after
        return self.node("Pad", [x, self.literal(amounts, "int"), self.literal(value)])

    def lookup(self, table, ids):
        return self.node("Gather", [table, ids])

    def flip(self, x, axis):
        one = self.literal([-1], "int")
        return self.node("Slice", [x, one, self.literal([-2**62], "int"), self.literal([axis], "int"), one])

    def cumsum(self, x, axis):
        return self.node("CumSum", [x, self.literal(axis, "int")])

    def conv(self, x, kernel, bias):
        if self.type == "float64":  # no kernel in ONNX Runtime
            return self.node("MatMul", [self.node("ReduceSum", [kernel, self.literal([2], "int")], keepdims=0), x])
        return self.node("Conv", [x, kernel, bias], pads=[1, 1])

    def cast(self, x, to):
        return self.node("Cast", [x], to=TYPES[to])

    def dim(self, x, axis):
        return self.node("Slice", [self.node("Shape", [x]), self.literal([axis], "int"),
                                   self.literal([axis + 1 if axis != -1 else 2**62], "int")])

    def as_number(self, integer):
        return self.cast(self.scalar(integer), self.type)

    def scalar(self, integer):
        return self.node("Reshape", [integer, self.literal(numpy.zeros(0), "int")])

    def arange(self, n):
        counted = self.node("Range", [self.literal(0, "int"), self.scalar(n), self.literal(1, "int")])
        return self.cast(counted, self.type)

    def full(self, dims, value):
        return self.expand(self.literal(value), dims)

    # ---- control

    def flag(self):
        return self.input("flag")

    def more(self, integer, than):
        return self.node("Greater", [self.scalar(integer), self.literal(than, "int")])

    def any_above(self, x, value):
        return self.greater(self.reduce("max", x, [0, 1, 2], keep=False), value)

    def branch(self, condition, then, other):
        names = ("then_branch", "else_branch")
        return self.node("If", [condition], **{name: self.block(made) for name, made in zip(names, (then, other))})

    def block(self, made, parameters=(), condition=None):
        before, self.nodes = self.nodes, []
        out = [self.node("Identity", [made()])]
        value = helper.make_tensor_value_info
        outputs = [value(out[0], TYPES[self.type], None)]
        if condition:
            outputs.insert(0, value(self.node("Identity", [condition]), TensorProto.BOOL, []))
        graph = helper.make_graph(self.nodes, "block", list(parameters), outputs)
        self.nodes = before
        return graph

    def loop(self, turns, x, body):
        turn, condition, carried = self.name(), self.name(), self.name()
        value = helper.make_tensor_value_info
        parameters = [value(turn, TensorProto.INT64, []), value(condition, TensorProto.BOOL, []),
                      value(carried, TYPES[self.type], None)]
        block = self.block(lambda: body(carried), parameters, condition)
        turns = self.literal([turns], "int") if isinstance(turns, int) else turns
        return self.node("Loop", [turns, "", x], body=block)
