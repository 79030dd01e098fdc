"""Cases as TorchScript. Compiled straight from text: a hundred times faster than torch.jit.script of a module."""

import torch

from runs import tensor
from writer import INPUTS, Writer

UNARY = {"gelu": "gelu({}, approximate='none')"}
KINDS = {"float": "Tensor", "ids": "Tensor", "int": "int", "bool": "bool"}
NAMES = {"aten": torch.ops.aten, "Tensor": torch.Tensor, "torch": torch}


class TorchScriptWriter(Writer):
    def __init__(self, case):
        super().__init__(case)
        self.lines, self.indent = [], "    "

    # ---- text

    def line(self, text):
        self.lines.append(self.indent + text)

    def let(self, text):
        name = self.name()
        self.line(f"{name} = {text}")
        return name

    def constant(self, key):
        return f"self.{key}"

    def buffer(self, name, shape):
        self.buffers["state_" + name] = shape
        return "state_" + name

    def finish(self):
        parameters = ", ".join(f"{name}: {KINDS[INPUTS[name][0]]}" for name in self.inputs)
        returned = ", ".join(self.outputs)
        self.source = "\n".join([f"def forward(self, {parameters}):", *self.lines, f"    return {returned}", ""])
        return self

    def save(self, path):
        made = torch._C.ConcreteModuleTypeBuilder(torch.nn.Module)
        dtype = getattr(torch, self.type)
        parameters = {name: tensor(self.stored(value)).to(dtype) for name, value in self.weights.items()}
        buffers = {name: torch.zeros(shape, dtype=dtype) for name, shape in self.buffers.items()}
        for name in parameters:
            made.add_attribute(name, torch._C.TensorType.get(), True, False)
        for name in buffers:
            made.add_attribute(name, torch._C.TensorType.get(), False, True)
        made.add_attribute("training", torch._C.BoolType.get(), False, False)
        concrete = made.build()
        module = torch._C._create_module_with_type(concrete.jit_type)
        for name, value in (parameters | buffers | {"training": False}).items():
            module.setattr(name, value)
        module._define(concrete, self.source, NAMES.get)
        module.save(str(path), {})

    # ---- words

    def unary(self, op, x):
        return self.let("aten." + UNARY.get(op, op + "({})").format(x))

    def binary(self, op, a, b):
        return self.let(f"{a} {dict(add='+', sub='-', mul='*', div='/')[op]} {b}")

    def greater(self, a, b):
        return self.let(f"{a} > {b}")

    def where(self, mask, a, b):
        return self.let(f"aten.where({mask}, {a}, {b})")

    def fill(self, x, mask, value):
        return self.let(f"aten.masked_fill({x}, {mask}, {value})")

    def matmul(self, a, b):
        return self.let(f"aten.matmul({a}, {b})")

    def linear(self, x, weight, bias, form):
        if form == "plain":
            return self.let(f"aten.linear({x}, {weight}, {bias})")
        if form == "flat" and bias is not None:
            rows = f"{x}.reshape([-1, {x}.size(-1)])"
            return self.let(f"aten.addmm({bias}, {rows}, {weight}.t()).reshape([{x}.size(0), {x}.size(1), -1])")
        if form == "left":
            y = self.let(f"aten.matmul({weight}, {x}.transpose(-2, -1)).transpose(-2, -1)")
        elif form == "einsum":
            y = self.let(f"aten.einsum('btd,ed->bte', [{x}, {weight}])")
        else:
            y = self.let(f"aten.matmul({x}, {weight}.t())")
        return y if bias is None else self.let(f"{y} + {bias}")

    def softmax(self, x, axis):
        return self.let(f"aten.softmax({x}, {axis})")

    def layer_norm(self, x, shape, gamma, beta):
        return self.let(f"aten.layer_norm({x}, [{', '.join(map(str, shape))}], {gamma}, {beta}, 1e-5)")

    def flat_group_norm(self, x, groups):
        gamma, beta = self.weight("", "gamma", [self.width], 0.5), self.weight("", "beta", [self.width], 0.5)
        return self.let(f"aten.group_norm({x}, {groups}, {gamma}, {beta}, 1e-5)")

    def group_norm(self, x, groups):
        return self.let(f"aten.group_norm({x}, {groups}, None, None, 1e-5)")

    def reduce(self, op, x, axes, keep=True):
        return self.let(f"aten.{dict(max='amax').get(op, op)}({x}, [{', '.join(map(str, axes))}], {keep})")

    def reshape(self, x, dims):
        return self.let(f"{x}.reshape([{', '.join(map(str, dims))}])")

    def expand(self, x, dims):
        return self.let(f"{x}.expand([{', '.join(map(str, dims))}])")

    def permute(self, x, order):
        return self.let(f"{x}.permute({order})")

    def unsqueeze(self, x, axis):
        return self.let(f"{x}.unsqueeze({axis})")

    def squeeze_all(self, x):
        return self.let(f"{x}.squeeze()")

    def tile(self, x, times):
        return self.let(f"{x}.repeat([{', '.join(map(str, times))}])")

    def concat(self, values, axis):
        return self.let(f"aten.cat([{', '.join(values)}], {axis})")

    def split(self, x, sizes, axis):
        parts = self.let(f"aten.split({x}, {sizes[0]}, {axis})")
        return [self.let(f"{parts}[{i}]") for i in range(len(sizes))]

    def cut(self, x, axis, start, stop):
        return self.let(f"aten.slice({x}, {axis}, {start}, {stop})")

    def pad(self, x, axis, before, after, value):
        return self.let(f"aten.constant_pad_nd({x}, {[0, 0] * (2 - axis) + [before, after]}, {value})")

    def lookup(self, table, ids):
        return self.let(f"aten.embedding({table}, {ids})")

    def flip(self, x, axis):
        return self.let(f"{x}.flip([{axis}])")

    def cumsum(self, x, axis):
        return self.let(f"{x}.cumsum({axis})")

    def conv(self, x, kernel, bias):
        return self.let(f"aten.conv1d({x}, {kernel}, {bias}, [1], [1])")

    def cast(self, x, to):
        return self.let(f"{x}.to(torch.{to})")

    def dim(self, x, axis):
        return f"{x}.size({axis})"

    def as_number(self, integer):
        return f"float({integer})"

    def arange(self, n):
        return self.let(f"torch.arange({n}, dtype=torch.{self.type})")

    def full(self, dims, value):
        sizes = ", ".join(map(str, dims))
        return self.let(f"torch.full([{sizes}], {float(self.stored(value))}, dtype=torch.{self.type})")

    # ---- control

    def flag(self):
        return self.input("flag")

    def more(self, integer, than):
        return f"{integer} > {than}"

    def any_above(self, x, value):
        return f"bool({x}.max() > {value})"

    def branch(self, condition, then, other):
        out = self.name()
        for head, made in ((f"if {condition}:", then), ("else:", other)):
            self.line(head)
            self.within(made, out)
        return out

    def loop(self, turns, x, body):
        out = self.let(x)
        self.line(f"for i{out} in range({turns}):")
        self.within(lambda: body(out), out)
        return out

    def within(self, made, out):
        before, self.indent = self.indent, self.indent + "    "
        self.line(f"{out} = {made()}")
        self.indent = before
