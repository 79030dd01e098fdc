"""A small model whose plan has an edit of every kind, and its files in every format. written_bytes.py folds them.

The files name no place of the machine that made them: torch writes paths of sources into all but ONNX, and the engine copies
them into what it writes.
"""

import copy
import io
import pathlib
import warnings

import onnx
import torch
from torch import nn
from torch._export.serde.serialize import serialize
from torch.export import Dim, export, load, save
from torch.export.pt2_archive._package import package_pt2

from exported import write_flat, write_package

WIDTH = 8


class EveryEdit(nn.Module):
    """The upper stream needs a centered weight, a copy where a weight is tied, an absorbed scale and shift, a dropped addend and
    a centering at run time; one of its norms is written out. The lower stream folds by its weights alone. Each has adds
    before its norms and a channel that can be taken out."""

    def __init__(self):
        super().__init__()
        self.embed, self.tokens = nn.Embedding(11, WIDTH), nn.Embedding(11, WIDTH)
        self.first, self.norm, self.last = (nn.LayerNorm(WIDTH) for _ in range(3))
        self.position, self.scale, self.gamma, self.beta = (nn.Parameter(torch.randn(WIDTH)) for _ in range(4))
        self.mix, self.other = (nn.Sequential(nn.Linear(WIDTH, 12), nn.GELU(), nn.Linear(12, WIDTH)) for _ in range(2))
        self.lower, self.lower_mix = nn.Embedding(11, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.head, self.lower_head = nn.Linear(WIDTH, 11, bias=False), nn.Linear(WIDTH, 11)
        self.head.weight = self.embed.weight
        for norm in (self.first, self.norm, self.last, self.before, self.after):
            nn.init.normal_(norm.weight)
            nn.init.normal_(norm.bias)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.mul_(64).round_().div_(64)  # the last bits of torch's random numbers depend on the CPU

    def forward(self, ids):
        x = self.first(self.embed(ids) + self.tokens(ids).mean(-1, keepdim=True)) + self.position
        x = x + self.scale * self.mix(self.norm(x))
        centered = x - x.mean(-1, keepdim=True)
        normed = centered / torch.sqrt(centered.pow(2).mean(-1, keepdim=True) + 1e-5)
        x = x + self.other(normed * self.gamma + self.beta)
        y = self.lower(ids)
        y = y + self.lower_mix(self.before(y))
        return self.head(self.last(x)) + self.lower_head(self.after(y)) + self.embed(ids.flip(1)).sum(-1, keepdim=True)


def without_places(program):
    for module in program.graph_module.modules():
        for node in module.graph.nodes:
            node.meta.pop("stack_trace", None)
            node.meta.pop("from_node", None)  # it has the address of a Python object
    return program


def write_torchscript(module, path):
    """Saves the module without the records that say which line of which source each op comes from."""
    module.save(path)
    read = torch._C.PyTorchFileReader(io.BytesIO(path.read_bytes()))
    written = torch._C.PyTorchFileWriter(str(path))
    for record in read.get_all_records():
        if not record.endswith(".debug_pkl") and record not in ("version", "byteorder", ".data/serialization_id"):
            content = read.get_record(record)
            written.write_record(record, content, len(content))
    written.write_end_of_file()


def write_every_edit(folder):
    """Writes every format that plain torch and onnx can write: the exporter of today, for ONNX, needs onnxscript."""
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    model, ids = EveryEdit().eval(), torch.randint(0, 11, (2, 5))
    traced = torch.jit.trace(model, ids)
    write_torchscript(torch.jit.script(model), folder / "scripted.pt")
    write_torchscript(traced, folder / "traced.pt")
    write_torchscript(torch.jit.freeze(traced), folder / "frozen.pt")
    write_torchscript(torch.jit.trace(copy.deepcopy(model).bfloat16(), ids), folder / "bfloat16.pt")
    save(without_places(export(model, (ids,))), folder / "static.pt2")
    dynamic = without_places(export(model, (ids,), dynamic_shapes=({0: Dim("batch"), 1: Dim("length")},)))
    save(dynamic, folder / "dynamic.pt2")
    other = without_places(export(nn.LayerNorm(4), (torch.ones(2, 4),)))
    package_pt2(folder / "several.pt2", exported_programs={"one": dynamic, "other": other})
    write_older(dynamic, folder / "dynamic")
    axes = {"ids": {0: "batch", 1: "length"}}
    for opset in (14, 17, 20):
        torch.onnx.export(model, (ids,), folder / f"opset{opset}.onnx", opset_version=opset, dynamo=False, dynamic_axes=axes,
                          input_names=["ids"], output_names=["logits"])  # fmt: skip
    onnx.save(onnx.load(folder / "opset17.onnx"), folder / "external.onnx", save_as_external_data=True, size_threshold=0,
              location="external.data")  # fmt: skip


def write_older(program, path):
    """Writes the program decomposed, and in the two kinds of containers that torch wrote up to 2.8."""
    save(without_places(program.run_decompositions()), f"{path}.core.pt2")
    write_flat(serialize(program), f"{path}.8.2.pt2", (8, 2))
    write_package(serialize(program), f"{path}.8.8.pt2")


def write_older_samples(samples, folder):
    """Writes each of torch's archives in `samples` that plain torch loads and decomposes, as the older ones."""
    for name in OLDER_SAMPLES:
        write_older(load(samples / f"{name}.pt2"), pathlib.Path(folder) / name)


OLDER_SAMPLES = ("cond", "gpt2_core_aten", "modes", "more_ops", "stateful", "tied", "vit", "while_loop")
