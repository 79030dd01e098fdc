"""Reads a folded file for check_certificate.py: the nodes and constants of .onnx and .pt2, the records of .pt.

It shares no code with the engine, and needs numpy alone: protobuf's wire format and the JSON of a .pt2 file are read
here. Nothing that a file names is looked up or run. Declared shapes are taken as they are.
"""

import json
import math
import struct
import zipfile
from collections import namedtuple

import numpy as np

Node = namedtuple("Node", "rule op ins outs arg")
Tensor = namedtuple("Tensor", "dims kind read")  # read() returns the numbers in row-major order
ONNX_KINDS = {1: "f4", 6: "i4", 7: "i8", 9: "b1", 10: "f2", 11: "f8", 16: "bf"}
PT2_KINDS = {4: "i4", 5: "i8", 6: "f2", 7: "f4", 8: "f8", 12: "b1", 13: "bf"}
STORAGES = {"Float": "f4", "Double": "f8", "Half": "f2", "BFloat16": "bf", "Long": "i8", "Int": "i4", "Bool": "b1"}
SPACES = {"aten", "prims", "normlens", "quantized_decomposed", "higher_order"}
LEARN = {"with_update", "moving_avg", "rrelu_with_noise"}  # of operators that write into an operand, whatever they are called
OVERLOADS = {"default", "Tensor", "Scalar", "int", "dim", "dims", "using_ints", "dtype", "dtype_layout", "device", "Tensor_Scalar"}
RULES = {op: rule for rule, ops in {
    "add": "Add Sub aten.add aten.sub", "mul": "Mul Div aten.mul aten.div", "gather": "Gather aten.embedding",
    "matmul": "MatMul Gemm aten.linear aten.matmul aten.mm aten.bmm aten.addmm", "cast": "Cast aten.to aten._to_copy",
    "conv": "Conv aten.conv1d aten.conv2d aten.conv3d", "dropout": "Dropout aten.dropout", "expand": "Expand aten.expand",
    "same": "Identity aten.alias aten.clone aten.contiguous aten.detach aten.lift_fresh_copy", "concat": "Concat aten.cat",
    "reshape": "Reshape Flatten aten.view aten.reshape aten.flatten aten.unflatten aten._unsafe_view",
    "squeeze": "Squeeze aten.squeeze", "unsqueeze": "Unsqueeze aten.unsqueeze", "select": "aten.select aten.unbind",
    "permute": "Transpose aten.permute aten.transpose aten.t", "slice": "Slice aten.slice",
    "split": "Split aten.split aten.split_with_sizes aten.chunk", "-mean": "ReduceMean aten.mean", "-pow": "Pow aten.pow",
    "-sqrt": "Sqrt aten.sqrt", "-rsqrt": "aten.rsqrt", "-inverse": "Reciprocal aten.reciprocal",
    "-rms": "RMSNormalization SimplifiedLayerNormalization aten.rms_norm normlens.rms_norm", "skip": "com.microsoft::"
    "SkipSimplifiedLayerNormalization normlens.add_rms_norm",
    "-layer_norm": "LayerNormalization aten.layer_norm aten.native_layer_norm",
}.items() for op in ops.split()}  # those with a minus are parts of norms


class Refused(Exception):
    """The certificate does not hold."""


class Unreadable(Exception):
    """A file is damaged, or of a kind that is not read."""


def need(holds, text, error=Refused):
    if not holds:
        raise error(text)


def few(sizes):
    """The product of more takes long."""
    need(len(sizes) <= 64, "a tensor has too many axes", Unreadable)
    return sizes


def structure(data):
    """JSON, unless it is one of which a few bytes take much room."""
    fits = len(data) < 1 << 26 and data.count(b"[") + data.count(b"{") < 1 << 22
    need(fits, "it holds too many lists", Unreadable)
    return json.loads(data)


def width(kind):
    return 2 if kind == "bf" else int(kind[1])


def numbers(data, kind, count):
    need(kind, "its numbers are of a type that is not read")
    need(len(data) >= count * width(kind), "its data is cut short")
    if kind == "bf":
        return (np.frombuffer(data, "<u2", count).astype("<u4") << 16).view("<f4")
    return np.frombuffer(data, "<" + kind, count)


def varint(data, at):
    value = shift = 0
    while at < len(data) and shift < 70:
        value, at, shift = value | (data[at] & 127) << shift, at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at
    raise Unreadable("the file is cut short")


def fields(data):
    """The fields of a protobuf message, as {number: [values]}."""
    out, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        value, size = None, {1: 8, 5: 4}.get(key & 7)
        if key & 7 in (0, 2):
            value, at = varint(data, at)
            size = value if key & 7 else 0
        need(size is not None and size <= len(data) - at, "the file is cut short or no ONNX model", Unreadable)
        out.setdefault(key >> 3, []).append(data[at:at + size] if key & 7 else value)
        at += size
    return out


def text(message, number):
    return bytes(message.get(number, [b""])[-1]).decode("utf-8", "replace")


def integers(message, number):
    out = []
    for item in message.get(number, []):
        at = 0
        while not isinstance(item, int) and at < len(item):
            value, at = varint(item, at)
            out.append(value)
        out += [item] if isinstance(item, int) else []
    return [value - (1 << 64) if value >> 63 else value for value in out]


class Graph:
    """The nodes, constants and shapes of a file, as far as a claim may rest on them."""

    def __init__(self):
        self.nodes, self.made, self.tensors, self.inputs, self.read = [], {}, {}, set(), set()
        self.shapes, self.symbols = {}, {}  # None for an open size, and how the file calls it
        self.ints, self.names, self.listed = {}, {}, {}  # numbers of short constants, other names of constants, entries()

    def add(self, op, ins, outs, arg):
        name, _, overload = op.rpartition(".")
        self.nodes.append(Node(RULES.get(name if overload in OVERLOADS else op), op, ins, outs, arg))
        self.read.update(value for value in ins if isinstance(value, str))
        for value in filter(None, outs):
            need(value not in self.made and value not in self.tensors, f"{value} is made twice", Unreadable)
            need(value not in self.read, f"{value} is read before it is made", Unreadable)
            self.made[value] = self.nodes[-1]

    def hold(self, name, tensor):
        need(name not in self.made and name not in self.tensors, f"{name} is made twice", Unreadable)
        self.tensors[name], self.shapes[name] = tensor, tensor.dims
        if tensor.kind == "i8" and math.prod(tensor.dims) < 64:
            self.ints[name] = tensor.read().reshape(tensor.dims).tolist()

    def maker(self, value):
        """The node that makes a value, and its rule."""
        node = self.made.get(value) if isinstance(value, str) else None
        return node, node and node.rule

    def shape(self, value):
        if value in self.shapes or not isinstance(value, str):
            return self.shapes.get(value, [])
        node, rule = self.maker(value)
        held = self.shapes.get(node.ins[0]) if rule == "permute" else None  # a turned weight
        order = node.arg.get("perm", range(len(held))[::-1]) if held else []
        return [held[i] for i in order] if held and sorted(order) == list(range(len(held))) else None

    def number(self, value):
        """A number, or the constant that holds a single one; None for other values."""
        held = self.tensors.get(value) if isinstance(value, str) else None
        return float(held.read()[0]) if held and math.prod(held.dims) == 1 else value if not isinstance(value, str) else None

    def entries(self, value):
        """What an ONNX shape tensor holds: numbers, (value, axis) for the size of one, None for others; None: unknown."""
        if value not in self.listed:
            found = self.entries_of(value)
            self.listed[value] = found if found is None or len(found) <= 64 else None
        return self.listed[value]

    def entries_of(self, value):
        node, held = self.made.get(value), self.ints.get(value)
        if not node or held is not None:
            return [held] if isinstance(held, int) else held
        of, index = self.made.get(node.ins[0]), self.ints.get(node.ins[1]) if len(node.ins) > 1 else None
        sizes = of and of.op == "Shape" and not of.arg
        if sizes and node.op == "Gather" and index is not None:
            return [(of.ins[0], i) for i in np.atleast_1d(index)]
        if sizes and node.op == "Slice" and index == [0] and node.ins[2] in self.ints:
            return [(of.ins[0], i) for i in range(*self.ints[node.ins[2]])]
        if node.op in ("Cast", "Unsqueeze", "Squeeze", "Identity"):
            return self.entries(node.ins[0])
        if node.op in ("Mul", "Div"):
            return [None]
        parts = [self.entries(part) for part in node.ins] if node.op == "Concat" else [None]
        return None if None in parts else sum(parts, [])

    def mean_axes(self, node, rank):
        """The axes of a mean that keeps them, ascending; none if the file does not say."""
        kept = node.arg.get("keepdims", 1) if node.op == "ReduceMean" else node.arg.get("keepdim")
        axes = node.arg.get("axes", node.arg.get("dim", self.ints.get((node.ins[1:] or [""])[0])))
        return sorted(i % rank for i in axes) if kept and axes else []

    def linear_of(self, value):
        """(input, weight, whether its first axis is the output's, bias) of a linear layer."""
        node, rule = self.maker(value)
        bias = next((v for v in node.ins if v in self.tensors), None) if rule == "add" else None
        if bias:
            node, rule = self.maker(next((v for v in node.ins if v != bias), None))
        need(rule == "matmul" and {node.arg.get("alpha", 1), node.arg.get("beta", 1)} == {1}, f"{value} is no linear layer")
        need(len(self.shape(node.ins[1]) or []) == 2 and not node.arg.get("transA"), f"{value} is no linear layer")
        return node.ins[0], node.ins[1], bool(node.arg.get("transB")) or "linear" in node.op, bias or (node.ins[2:] or [None])[0]

    def sum_of(self, node):
        """The sum that a fused addition and norm makes, if it is an output, and what is added."""
        if node.op.startswith("normlens"):
            return node.outs[0], node.ins[:2]
        return (node.outs[3:] or [None])[0], [value for value in node.ins[:2] + node.ins[3:4] if value]

    def norm_reads(self, rank):
        """(what it reads, its axes, its size if known) of each RMS norm, if its input has this rank; what LayerNorms read."""
        found, others = [], set()
        for node in self.nodes:
            if node.rule == "-layer_norm":
                others.add(node.ins[0])
            elif node.rule in ("-rms", "skip"):
                dims, scale = node.arg.get("normalized_shape"), node.ins[1 if node.rule == "-rms" else 2:][:1]
                first = -len(dims or "1") if "rms_norm" in node.op else node.arg.get("axis", -1)
                held = dims or (self.shape(scale[0]) if scale and scale[0] in self.tensors else None)
                read = node.ins[0] if node.rule == "-rms" else self.sum_of(node)[0]
                found.append((read, list(range(first % rank, rank)), math.prod(held) if held else None))
            elif node.rule == "mul" and len(node.ins) == 2:
                divides = "iv" in node.op
                for x, scale in (node.ins, node.ins[::-1])[:1 if divides else 2]:
                    found += [(x, axes, None) for axes in [self.square_mean(x, scale, divides, rank)] if axes]
        return found, others

    def square_mean(self, x, scale, divides, rank):
        """The axes of mean(x ** 2) if scale is 1 / sqrt(mean(x ** 2) + eps), or its inverse where it divides."""
        root, rule = self.maker(scale)
        if rule == "-pow" and [self.number(value) for value in root.ins[1:]] == [-0.5]:
            rule = "-rsqrt"
        if rule == "-inverse" and not divides:
            (root, rule), divides = self.maker(root.ins[0]), True
        total, adds = self.maker(root.ins[0] if rule == ("-sqrt" if divides else "-rsqrt") else None)
        terms = total.ins if adds == "add" and "dd" in total.op else []
        mean, means = self.maker(next((value for value, eps in zip(terms, terms[::-1]) if self.number(eps)), None))
        square, rule = self.maker(mean.ins[0] if means == "-mean" else None)
        by_power = rule == "-pow" and square.ins[:1] == [x] and [self.number(value) for value in square.ins[1:]] == [2]
        by_product = rule == "mul" and square.ins == [x, x] and "iv" not in square.op
        return self.mean_axes(mean, rank) if by_power or by_product else None


class OnnxGraph(Graph):
    def __init__(self, data, files):
        super().__init__()
        self.files, model = files, fields(data)
        need(len(model.get(7, [])) == 1, "the file is no ONNX model", Unreadable)
        body, own = fields(model[7][0]), {(text(n, 10), text(n, 1)) for n in map(fields, model.get(25, []))}
        for t in map(fields, body.get(5, [])):
            self.hold(text(t, 8), self.tensor(t))
        for number in (13, 12, 11):
            for info in map(fields, body.get(number, [])):
                kind = fields(fields(info[2][-1]).get(1, [b""])[-1]) if 2 in info else {}
                if 2 in kind and text(info, 1) not in self.tensors:
                    dims = [integers(fields(d), 1) for d in fields(kind[2][-1]).get(1, [])]
                    self.shapes[text(info, 1)] = [d[-1] if d else None for d in dims]
                self.inputs.update([text(info, 1)] if number == 11 else [])
        for n in map(fields, body.get(1, [])):
            op, domain, arg = text(n, 4), text(n, 7), {text(a, 1): self.attribute(a) for a in map(fields, n.get(5, []))}
            ins, outs = ([bytes(v).decode("utf-8", "replace") for v in n.get(i, [])] for i in (1, 2))
            if isinstance(arg.get("value"), Tensor) and op == "Constant":
                self.hold(outs[0], arg["value"])
                continue
            if op in ("Add", "Sub", "Mul", "Div") and arg or (domain, op) in own:
                op = f"another {op}"  # one that broadcasts as before opset 7, or a function of the file
            self.add(op if domain in ("", "ai.onnx") else f"{domain}::{op}", ins, outs, arg)
        for name in self.inputs & self.tensors.keys():  # a caller may set it
            del self.tensors[name]
            self.ints.pop(name, None)

    def attribute(self, a):
        kind = a.get(20, [0])[-1]
        if kind == 4:
            return self.tensor(fields(a[5][-1]))
        if kind == 1:
            return struct.unpack("<f", a.get(2, [bytes(4)])[-1])[0]
        return integers(a, 8) if kind == 7 else (integers(a, 3) or [0])[-1] if kind == 2 else text(a, 4)

    def tensor(self, t):
        dims, kind = few(integers(t, 1)), ONNX_KINDS.get(t.get(2, [0])[-1])

        def read():
            data = t.get(9, [b""])[-1]
            if t.get(14, [0])[-1] == 1:
                where = {text(e, 1): text(e, 2) for e in map(fields, t.get(13, []))}
                need(where.get("location") in self.files, "its data file is not in the certificate's list")
                start, data = int(where.get("offset", 0)), self.files[where["location"]]
                need(start >= 0, "its data is cut short")
                data = data[start:start + int(where["length"])] if "length" in where else data[start:]
            elif 9 not in t and kind in ("f4", "f8"):
                data = b"".join(bytes(part) for part in t.get(4 if kind == "f4" else 10, []))
            elif 9 not in t and kind:
                data = np.asarray(integers(t, 7) or integers(t, 5), "<i8")
                data = data.astype("<u2" if width(kind) == 2 else "<" + kind).tobytes()
            return numbers(data, kind, math.prod(dims))

        return Tensor(dims, kind, read)


class Archive:
    """The records of a zip file, named without the folder that holds them all."""

    def __init__(self, path):
        self.zip, self.records = zipfile.ZipFile(path), {}
        folders = {info.filename.partition("/")[0] for info in self.zip.infolist()}
        need(len(folders) == 1, "the archive holds several folders", Unreadable)
        for info in self.zip.infolist():
            name = info.filename.partition("/")[2]
            fits = name not in self.records and (not info.compress_type or info.file_size < 1 << 28)
            need(fits, f"{name} is there twice or too long", Unreadable)
            self.records[name] = info

    def read(self, name, plain=False):
        need(name in self.records, f"the archive holds no {name}", Unreadable)
        need(not (plain and self.records[name].compress_type), f"{name} is compressed, which torch does not do", Unreadable)
        return self.zip.read(self.records[name])

    def tensor(self, record, kind, sizes, strides, offset):
        def read():
            data = self.read(record)
            need(all(isinstance(n, int) and n >= 0 for n in (offset, *sizes, *strides)), "its sizes are not stated")
            held = numbers(data, kind, len(data) // width(kind or "i1"))
            last = offset + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
            need(math.prod(sizes) == 0 or last < len(held), "its data is cut short")
            return np.lib.stride_tricks.as_strided(held[offset:], sizes, [n * held.itemsize for n in strides]).reshape(-1)

        size = self.records[record].file_size if record in self.records else 0
        long = math.prod(n for n in few(sizes) if isinstance(n, int)) > max(size, 1 << 20)  # than it can be without strides of 0
        return Tensor(sizes, None if long else kind, read)


class Pt2Graph(Graph):
    def __init__(self, archive):
        super().__init__()
        models = [name for name in archive.records if name.startswith("models/") and name.endswith(".json")]
        need(len(models) == 1, "the archive does not hold one model", Unreadable)
        model, held = structure(archive.read(models[0]))["graph_module"], {}
        for kind in ("weights", "constants"):
            config = f"data/{kind}/{models[0][7:-5]}_{kind}_config.json"
            for name, item in (structure(archive.read(config))["config"] if config in archive.records else {}).items():
                held[name] = (f"data/{kind}/{item['path_name']}", item.get("tensor_meta"))
        for value, meta in model["graph"]["tensor_values"].items():
            self.shapes[value] = [n.get("as_int") for n in meta["sizes"]]
            self.symbols[value] = [json.dumps(n.get("as_int") or n["as_expr"]["expr_str"]) for n in meta["sizes"]]
        for spec in model["signature"]["input_specs"]:
            item = next(iter(spec.values()))
            name = item.get("parameter_name") or item.get("buffer_name") or item.get("tensor_constant_name")
            record, meta = held.get(name, (None, None))
            if meta:
                sizes, strides = ([n.get("as_int") for n in meta[part]] for part in ("sizes", "strides"))
                tensor = archive.tensor(record, PT2_KINDS.get(meta["dtype"]), sizes, strides, meta["storage_offset"]["as_int"])
                self.names[item["arg"]["name"]] = name
                self.hold(item["arg"]["name"], tensor)
        for spec in model["signature"]["output_specs"]:
            need("user_output" in spec or "token" in spec, f"the model changes its own state ({next(iter(spec))})")
        for n in model["graph"]["nodes"]:
            op = n["target"].removeprefix("torch.ops.")
            changes = "_." in op and "__." not in op and op != "aten.detach_.default" or op.endswith((".out", "_out"))
            need(not changes, f"the graph changes a value in place ({op})")
            need(op == n["target"] or op.split(".")[0] in SPACES, f"the graph has an operator of unknown effect ({op})")
            arg = {item["name"]: self.argument(item["arg"]) for item in n["inputs"]}
            learns = "norm" in op and (arg.get("training") or arg.get("use_input_stats")) or any(word in op for word in LEARN)
            need(not learns, f"the graph changes a constant when it runs ({op})")
            ins = [v for name, v in arg.items() if isinstance(v, str) or name in ("other", "exponent")]
            outs = [t["name"] for out in n["outputs"] for t in out.get("as_tensors") or [out.get("as_tensor") or {"name": ""}]]
            self.add(op, arg["tensors"] if "tensors" in arg else ins[1:] + ins[:1] if "addmm" in op else ins, outs, arg)

    def argument(self, union):
        kind, value = next(iter(union.items()))
        if kind in ("as_tensor", "as_optional_tensor"):
            return value["name"] if "name" in value else self.argument(value)
        if kind == "as_tensors":
            return [item["name"] for item in value]
        return value if isinstance(value, (bool, int, float, list)) and kind != "as_none" else None
