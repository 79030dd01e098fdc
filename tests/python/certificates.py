"""Makes the certificate of a small folded model, apart from the engine: axes over which a value is zero-mean, backwards."""

import hashlib
import json
import math
import zipfile

import numpy as np


class OnnxFile:
    def __init__(self, path, sizes, shapes):
        import onnx
        import onnx.reference

        self.format = "onnx"
        model = onnx.load(path)
        self.external = sorted({entry.value for tensor in onnx.load(path, load_external_data=False).graph.initializer
                                for entry in tensor.external_data if entry.key == "location"})
        inputs = {v.name: np.zeros(sizes[v.name], onnx.helper.tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type))
                  for v in model.graph.input if not shapes}
        values = {} if shapes else onnx.reference.ReferenceEvaluator(model).run(None, inputs, intermediate=True)
        graph, self.shapes = model.graph, {**(shapes or {}), **{name: list(np.shape(value)) for name, value in values.items()}}
        self.shapes |= {t.name: list(t.dims) for t in graph.initializer}
        self.constants = {t.name: t.name for t in graph.initializer}
        self.numbers = {}
        self.made = {}
        for node in graph.node:
            arg = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            if node.op_type == "Constant":
                array = onnx.numpy_helper.to_array(arg["value"])
                self.constants[node.output[0]], self.numbers[node.output[0]] = node.output[0], array.tolist()
                self.shapes[node.output[0]] = list(array.shape)
            for out in node.output:
                self.made[out] = (f"{node.domain}::{node.op_type}" if node.domain else node.op_type, list(node.input), arg)
        self.norms = [(n.name, n.input[0], -1) for n in graph.node if n.op_type in ("RMSNormalization", "SimplifiedLayerNormalization")]
        self.norms += [(n.name, n.output[3], -1) for n in graph.node if n.op_type.startswith("Skip") and len(n.output) > 3]
        for node in graph.node:  # a norm in primitives ends with a division by the root of a mean
            root = self.made.get(node.input[1]) if node.op_type == "Div" else None
            total = self.made.get(root[1][0]) if root and root[0] == "Sqrt" else None
            if total and self.made.get(total[1][0], [""])[0] == "ReduceMean":
                self.norms.append((node.name, node.input[0], -1))

    def operands(self, value):
        op, ins, arg = self.made[value]
        if op in ("Unsqueeze", "Squeeze", "ReduceMean") and len(ins) > 1:
            arg = {**arg, "axes": self.numbers[ins[1]]}
        return op, ins, arg


class Pt2File:
    def __init__(self, path, sizes, _):
        self.format, self.external = "pt2", []
        with zipfile.ZipFile(path) as file:
            model = json.loads(file.read(next(n for n in file.namelist() if n.endswith("models/model.json"))))["graph_module"]
        self.shapes = {name: [d["as_int"] for d in meta["sizes"]] for name, meta in model["graph"]["tensor_values"].items()}
        self.constants = {spec["parameter"]["arg"]["name"]: spec["parameter"]["parameter_name"]
                          for spec in model["signature"]["input_specs"] if "parameter" in spec}
        self.made, self.norms = {}, []
        for node in model["graph"]["nodes"]:
            arg = {i["name"]: next(iter(i["arg"].values())) for i in node["inputs"]}
            op = node["target"].removeprefix("torch.ops.")
            for out in node["outputs"]:
                for tensor in out.get("as_tensors") or [out.get("as_tensor") or {"name": ""}]:
                    self.made[tensor["name"]] = (op, arg)
            if op == "normlens.add_rms_norm.default":
                self.norms.append((node["outputs"][1]["as_tensor"]["name"], node["outputs"][0]["as_tensor"]["name"], -1))
            if op in ("aten.rms_norm.default", "normlens.rms_norm.default"):
                self.norms.append((node["outputs"][0]["as_tensor"]["name"], arg.get("input", arg.get("x"))["name"], -1))
            if op == "aten.mul.Tensor" and self.made.get(dict(arg["other"] if isinstance(arg["other"], dict) else {}).get("name"), [""])[0] == "aten.rsqrt.default":
                self.norms.append((node["outputs"][0]["as_tensor"]["name"], arg["self"]["name"], -1))

    def operands(self, value):
        op, arg = self.made[value]
        ins = []
        for item in arg.values():
            for one in item if isinstance(item, list) else [item]:
                ins += [one["name"]] if isinstance(one, dict) and "name" in one else []
        return op, ins, arg


class Maker:
    def __init__(self, file):
        self.file, self.claims, self.known = file, [], {}

    def pattern(self, shape, axes):
        out = []
        for i, size in enumerate(shape):
            if size == 1:
                continue
            if out and out[-1][3] == (i in axes):
                out[-1] = [out[-1][0] * size, 0, out[-1][2] * size, out[-1][3]]
            else:
                out.append([size, 0, size, i in axes])
        return out

    def claim(self, value, axes):
        if (value, axes) not in self.known:
            index = self.known[value, axes] = len(self.claims)
            claim = {"value": value, "pattern": self.pattern(self.file.shapes[value], axes), "kind": "constant", "needs": []}
            self.claims.append(claim)
            if value in self.file.constants:
                claim["tensor"] = self.file.constants[value]
            else:
                op, needs = self.rule(value, axes)
                claim |= {"node": value, "op": op, "kind": "derived" if needs else "proven"}
                claim["needs"] = [self.claim(*each) for each in needs]
        return self.known[value, axes]

    def aligned(self, value, axes, rank):
        """The axes of an operand that is broadcast to this rank."""
        shape = self.file.shapes[value]
        return tuple(a - rank + len(shape) for a in axes if a - rank + len(shape) >= 0)

    def rule(self, value, axes):
        op, ins, arg = self.file.operands(value)
        kind = {"Sub": "Add"}.get(op, op).removeprefix("aten.").removeprefix("com.microsoft::").split(".")[0].lower()
        shapes, rank = self.file.shapes, len(self.file.shapes[value])
        if kind in ("sub", "add") and op[-3:] != "Add" and len(ins) > 1 and ins[1] in self.file.made:
            if self.file.operands(ins[1])[0] in ("ReduceMean", "aten.mean.dim"):
                return op, []
        if kind in ("add",):
            return op, [(v, self.aligned(v, axes, rank)) for v in ins]
        if kind in ("mul", "div"):
            data = max(ins, key=lambda v: (v not in self.file.constants, math.prod(shapes[v])))
            return op, [(data, axes)]
        if kind in ("matmul", "gemm", "linear", "addmm"):
            ins = [*ins[1:], ins[0]] if kind == "addmm" else ins
            turned = kind == "linear" or arg.get("transB")
            return op, [(ins[1], (0,) if turned else (len(shapes[ins[1]]) - 1,))] + [(b, self.aligned(b, axes, rank)) for b in ins[2:]]
        if kind in ("conv", "conv2d"):
            return op, [(ins[1], (0,))] + [(b, (0,)) for b in ins[2:]]
        if kind in ("gather", "embedding"):
            return op, [(ins[0], (1,))]
        if kind in ("transpose", "permute"):
            order = list(arg.get("perm") or arg.get("dims") or range(rank))
            if "dim0" in arg:
                order[arg["dim0"]], order[arg["dim1"]] = order[arg["dim1"]], order[arg["dim0"]]
            return op, [(ins[0], tuple(sorted(order[a] for a in axes)))]
        if kind in ("reshape", "flatten", "view"):
            before, after = shapes[ins[0]], shapes[value]
            same = all(before[:a + 1] == after[:a + 1] for a in axes)
            return op, [(ins[0], axes if same else tuple(a - rank + len(before) for a in axes))]
        if kind in ("concat", "cat"):
            joined = arg.get("axis", arg.get("dim", 0)) % rank in axes
            return op, self.joint(ins) if joined else [(v, axes) for v in ins]
        if kind == "normlens":
            return op, [(v, self.aligned(v, axes, rank)) for v in ins[:2]]
        if kind == "skipsimplifiedlayernormalization":
            return op, [(ins[i], self.aligned(ins[i], axes, rank)) for i in (0, 1, 3) if i < len(ins)]
        return op, [(ins[0], tuple(a - rank + len(shapes[ins[0]]) for a in axes))]

    def joint(self, parts):
        """The weights and biases of linear layers that are joined."""
        out = []
        for value in parts:
            op, ins, _ = self.file.operands(value)
            if op == "Add":
                bias = ins[0] if ins[0] in self.file.constants else ins[1]
                op, ins, _ = self.file.operands(ins[1] if ins[0] == bias else ins[0])
                ins = [*ins, bias]
            out += [(ins[1], (0,) if "linear" in op or op == "Gemm" else (1,)), (ins[2], (0,))]
        for need in out:
            self.claims[self.claim(*need)]["kind"] = "joint"
        return out


def certificate(path, sizes, shapes=None):
    """The certificate of a folded .onnx or .pt2 file; sizes: the shape of each input; shapes: of values that are known."""
    file = (OnnxFile if path.suffix == ".onnx" else Pt2File)(path, sizes, shapes)
    maker, norms = Maker(file), []
    for name, value, axis in file.norms:
        shape = file.shapes[value]
        norms.append({"name": name, "input": value, "axes": [len(shape) + axis], "shape": shape,
                      "claim": maker.claim(value, (len(shape) + axis,))})
    out = {"certificate": 1, "file": path.name, "data": [{"name": name} for name in file.external], "format": file.format,
           "norms": norms, "claims": maker.claims}
    return signed(path, out)


def signed(path, out):
    """With the hashes of the files as they are now."""
    out["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    for item in out["data"]:
        item["sha256"] = hashlib.sha256((path.parent / item["name"]).read_bytes()).hexdigest()
    return out
