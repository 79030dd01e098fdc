"""Models that are exported with torch.export for the tests of .pt2, and what is asked of every program that is written."""

import json
import pathlib
import tempfile
import unittest
import zipfile

import torch
from torch import nn
from torch.export import export, save
from torch.export.graph_signature import InputKind
from torch.export.pt2_archive._package import PT2ArchiveWriter
from torch.fx import Interpreter

WIDTH = 16


def settled(module):
    """Random gammas, betas and biases: nothing folds by chance."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return module.eval()


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.mix = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH)) for _ in range(2))
        self.head = nn.Linear(WIDTH, 11, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        x = self.embed(ids)
        for norm, mix in zip(self.norms, self.mix):
            x = x + mix(norm(x))
        return self.head(self.norms[2](x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mix = nn.Sequential(nn.Linear(WIDTH, 24), nn.GELU(), nn.Linear(24, WIDTH))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.before(x)).view(batch, length, 3, 2, WIDTH // 2).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mix(self.between(x))


class Exported(unittest.TestCase):
    """The models of cases(), {name: (module, input, sizes that are left open)}, as files in a folder of the class."""

    KINDS = ("static", "dynamic", "core")

    @classmethod
    def setUpClass(cls):
        cls.path = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.models = {}
        torch.manual_seed(0)
        for name, (model, sample, dynamic) in cls.cases().items():
            cls.models[name] = (settled(model), sample)
            cls.write(name, export(model, (sample,), dynamic_shapes=({**dynamic},)))

    @classmethod
    def write(cls, name, exported):
        model, sample = cls.models[name]
        save(export(model, (sample,)), cls.path / f"{name}.static.pt2")
        save(exported, cls.path / f"{name}.dynamic.pt2")
        save(exported.run_decompositions(), cls.path / f"{name}.core.pt2")

    def gap(self, model, other, sample):
        with torch.no_grad():
            a, b = model(sample), other(sample)
        self.assertEqual(a.shape, b.shape)
        return ((a - b).abs().max() / a.abs().max()).item()


class TellsItsSizes(Interpreter):
    """Runs a program and holds each value against what the file says of it."""

    def run_node(self, node):
        value = super().run_node(node)
        told = node.meta.get("val")
        if isinstance(told, torch.Tensor) and isinstance(value, torch.Tensor):
            fixed = [(a, b) for a, b in zip(told.shape, value.shape) if isinstance(a, int)]
            if len(told.shape) != len(value.shape) or any(a != b for a, b in fixed):
                raise AssertionError(f"{node.name} has the sizes {tuple(value.shape)}, not {tuple(told.shape)}")
            if all(isinstance(a, int) for a in told.stride()) and told.stride() != value.stride():
                raise AssertionError(f"{node.name} has the strides {value.stride()}, not {told.stride()}")
        return value


def run_as_told(program, sample):
    held = {**program.state_dict, **program.constants}
    specs = program.graph_signature.input_specs
    inputs = [sample if spec.kind == InputKind.USER_INPUT else held[spec.target] for spec in specs]
    with torch.no_grad():
        TellsItsSizes(program.graph_module).run(*inputs)


def records(path):
    with zipfile.ZipFile(path) as archive:
        return {info.filename.split("/", 1)[1]: archive.read(info) for info in archive.infolist()}


def write_flat(artifact, path, schema):
    """Writes what serialize() returned as torch 2.5 to 2.7 wrote it, without the fields that came later."""
    program = json.loads(artifact.exported_program)
    program["schema_version"] = dict(zip(("major", "minor"), schema))
    program.pop("guards_code", None)
    program["graph_module"].pop("treespec_namedtuple_fields", None)
    for node in program["graph_module"]["graph"]["nodes"]:
        node.pop("name", None)
        node.pop("is_hop_single_tensor_return", None)
        for argument in node["inputs"]:
            argument.pop("kind", None)
            if schema[0] == 7 and "as_none" in argument["arg"]:
                argument["arg"]["as_none"] = []
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("serialized_exported_program.json", json.dumps(program))
        archive.writestr("serialized_state_dict.pt", artifact.state_dict)
        archive.writestr("serialized_constants.pt", artifact.constants)
        archive.writestr("serialized_example_inputs.pt", artifact.example_inputs)
        archive.writestr("version", ".".join(map(str, schema)))


def write_package(artifact, path):
    """Writes what serialize() returned as torch 2.8 wrote it."""
    program = json.loads(artifact.exported_program)
    program["schema_version"] = {"major": 8, "minor": 8}
    with PT2ArchiveWriter(str(path)) as archive:
        archive.write_bytes("models/model.json", json.dumps(program).encode())
        archive.write_bytes("data/weights/model.pt", artifact.state_dict)
        archive.write_bytes("data/constants/model.pt", artifact.constants)
        archive.write_bytes("data/sample_inputs/model.pt", artifact.example_inputs)
