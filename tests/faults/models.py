"""models.py FOLDER: makes there the models of these tests, whose stages last long enough to be hit."""

import pathlib
import shutil
import sys
import warnings

import numpy
import onnx
import torch

WIDTH, BLOCKS, ROWS = 512, 24, 64


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.linear = torch.nn.Linear(width, width)

    def forward(self, x):
        return x + self.linear(self.norm(x))


class Deep(torch.nn.Module):
    def __init__(self, width, blocks, classes=8):
        super().__init__()
        self.first = torch.nn.Linear(width, width)
        self.blocks = torch.nn.Sequential(*[Block(width) for _ in range(blocks)])
        self.norm = torch.nn.LayerNorm(width)
        self.last = torch.nn.Linear(width, classes)

    def forward(self, x):
        return self.last(self.norm(self.blocks(self.first(x))))


class Endless(torch.nn.Module):
    """A loop of many short ops."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, x):
        turns = 0
        while bool(x.abs().sum() + 1 > 0):
            turns += 1
        return self.norm(x) + turns


class LongOp(torch.nn.Module):
    """One op that takes minutes: nothing within it looks at a stop token."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, x):
        big = torch.ones(12000, 12000)
        for _ in range(8):
            big = torch.mm(big, big)
        return self.norm(x) + big[0, :8]


def deep_torchscript(path, width=WIDTH, blocks=BLOCKS, seed=1):
    torch.manual_seed(seed)
    torch.jit.trace(Deep(width, blocks).eval(), torch.randn(ROWS, width)).save(str(path))
    return path


def deep_onnx(path, width=WIDTH, blocks=BLOCKS, seed=1, data_file=None):
    rng = numpy.random.default_rng(seed)
    weights, nodes = [], []

    def weight(name, *shape):
        values = rng.standard_normal(shape, numpy.float32) / 32
        weights.append(onnx.numpy_helper.from_array(values, name))
        return name

    def linear(x, y, name, to=width):
        inputs = [x, weight(name + ".w", width, to), weight(name + ".b", to)]
        nodes.append(onnx.helper.make_node("Gemm", inputs, [y], name))

    def norm(x, y, name):
        inputs = [x, weight(name + ".g", width), weight(name + ".b", width)]
        nodes.append(onnx.helper.make_node("LayerNormalization", inputs, [y], name))

    linear("x", "h0", "first")
    for i in range(blocks):
        norm(f"h{i}", f"n{i}", f"norm{i}")
        linear(f"n{i}", f"l{i}", f"linear{i}")
        nodes.append(onnx.helper.make_node("Add", [f"h{i}", f"l{i}"], [f"h{i + 1}"], f"add{i}"))
    norm(f"h{blocks}", "n", "norm")
    linear("n", "y", "last", 8)
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "deep", [value("x", 1, [ROWS, width])], [value("y", 1, [ROWS, 8])], weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    beside = {"save_as_external_data": True, "location": data_file, "size_threshold": 0} if data_file else {}
    onnx.save(model, str(path), **beside)
    return path


def endless_onnx(path):
    """A Loop without a limit whose condition stays true."""
    make, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    body = onnx.helper.make_graph(
        [make("Identity", ["c"], ["again"]), make("Identity", ["v"], ["w"])], "body",
        [value("i", 7, []), value("c", 9, []), value("v", 1, [4, 8])], [value("again", 9, []), value("w", 1, [4, 8])])
    true = onnx.helper.make_tensor("yes", 9, [], [True])
    scale = onnx.numpy_helper.from_array(numpy.ones(8, numpy.float32), "g")
    graph = onnx.helper.make_graph(
        [make("Loop", ["", "yes", "x"], ["z"], body=body), make("LayerNormalization", ["z", "g"], ["y"])], "endless",
        [value("x", 1, [4, 8])], [value("y", 1, [4, 8])], [true, scale])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


def scripted(path, module):
    torch.jit.script(module.eval()).save(str(path))
    return path


MAKERS = {
    "deep.pt": deep_torchscript,
    "deep.onnx": deep_onnx,
    "data.onnx": lambda path: deep_onnx(path, data_file="data.bin"),
    "small.pt": lambda path: deep_torchscript(path, 128, 6),
    "small.onnx": lambda path: deep_onnx(path, 128, 6),
    "endless.pt": lambda path: scripted(path, Endless()),
    "endless.onnx": endless_onnx,
    "long_op.pt": lambda path: scripted(path, LongOp()),
}

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with warnings.catch_warnings(action="ignore"):
        for name, make in MAKERS.items():
            make(folder / name)
