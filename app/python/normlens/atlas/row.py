"""One architecture of the atlas: built and exported as .pt2 and .onnx (write_files), and both files analyzed (row_of)."""

from __future__ import annotations

import collections
import importlib.util
import pathlib
from typing import Any, Dict, List

import numpy
import torch
from torch import nn

from normlens.atlas.models import build, inputs_of
from normlens.atlas.table import Architecture
from normlens.engine.session import Json, Session
from normlens.errors import NormLensError
from normlens.module.export import exported
from normlens.module.inputs import Inputs
from normlens.module.modes import quiet, without_cache

OPSETS = {True: 18, False: 17}  # the first with a LayerNormalization that the exporter (of today: True) writes


def write_files(of: Architecture, folder: pathlib.Path) -> Json:
    """Into the folder: model.pt2, model.onnx, inputs.npz; what is said of them. Sizes are those of the inputs."""
    module = build(of)
    inputs = inputs_of(of, module)
    numpy.savez(folder / "inputs.npz", **{f"in_{place}": tensor.numpy() for place, tensor in enumerate(inputs.tensors())})
    said: Json = {"layers": layers_of(module), "pt2": {}, "onnx": {}}
    program = None
    try:
        with exported(module, inputs, fixed=True) as (written, _):
            (folder / "model.pt2").write_bytes(written.read_bytes())
        program = torch.export.load(folder / "model.pt2")
    except Exception as error:  # the module's own code runs: anything may come
        said["pt2"] = {"refused": _first_line(error)}
    said["onnx"] = _write_onnx(program, module, inputs, folder / "model.onnx")
    return said


def layers_of(module: nn.Module) -> int:
    """Modules in lists that have norms inside them, without those that are around other such ones."""
    listed = [
        f"{path}.{name}."
        for path, parent in module.named_modules()
        if isinstance(parent, (nn.ModuleList, nn.Sequential))
        for name, part in parent.named_children()
        if any("Norm" in type(inner).__name__ for inner in part.modules() if inner is not part)
    ]
    return sum(not any(other != path and other.startswith(path) for other in listed) for path in listed)


class _Positional(nn.Module):
    """Takes by place what the module takes by name: the older exporter gives every argument that it has a place for."""

    def __init__(self, module: nn.Module, inputs: Inputs) -> None:
        super().__init__()
        self.module, self.names = module, list(inputs.kwargs)

    def forward(self, *tensors: torch.Tensor) -> Any:
        return self.module(**dict(zip(self.names, tensors))) if self.names else self.module(*tensors)


def _write_onnx(program: Any, module: nn.Module, inputs: Inputs, path: pathlib.Path) -> Json:
    """By the exporter of today where what it needs is installed and it can, else by the one before it."""
    refusals = []
    for dynamo in (True, False):
        if dynamo and (program is None or importlib.util.find_spec("onnxscript") is None):
            continue
        path.unlink(missing_ok=True)
        options: Dict[str, Any] = {"dynamo": dynamo, "opset_version": OPSETS[dynamo], "external_data": False, "verbose": False}
        if not dynamo:
            options["input_names"] = [f"in_{place}" for place in range(len(inputs.tensors()))]
        try:
            with quiet(), without_cache(module), torch.no_grad():
                given = (program, ()) if dynamo else (_Positional(module, inputs), tuple(inputs.tensors()))
                torch.onnx.export(*given, path, **options)
            return {"exporter": "dynamo" if dynamo else "legacy", **({"instead": refusals[0]} if refusals else {})}
        except Exception as error:
            refusals.append(_first_line(error))
    return {"refused": f"torch.onnx refuses: {refusals[0]}"}


def row_of(folder: pathlib.Path, said: Json) -> Json:
    """The counts of both files in the folder, of which that was said."""
    row: Json = {"layers": said["layers"]}
    for suffix in ("pt2", "onnx"):
        row[suffix] = dict(said[suffix])
        if "refused" not in said[suffix]:
            try:
                row[suffix].update(_counted(folder / f"model.{suffix}", folder / "inputs.npz"))
            except NormLensError as error:
                row[suffix]["refused"] = f"NormLens refuses: {_first_line(error)}"
    centered, computed = row["onnx"].pop("centered", []), row["pt2"].pop("computed", [])
    row["held"] = sorted(set(centered) & set(computed))  # constants of the .onnx that the .pt2 computes
    return row


def _counted(path: pathlib.Path, inputs: pathlib.Path) -> Json:
    with Session(path, inputs) as session:
        analysis = session.analyze()
        found = dict(analysis["totals"])
        found["others"] = dict(collections.Counter(norm["kind"] for norm in analysis["other_norms"]))
        found["norms"] = [_norm(norm, session.graph["nodes"]) for norm in analysis["norms"]]
        found["centered"] = [edit["subject"] for edit in analysis["edits"] if edit["kind"] == "center_constant"]
        made = {value for node in session.graph["nodes"] for value in node["outputs"]}
        found["computed"] = [value["name"] for value in session.graph["values"] if value["id"] in made]
        if analysis["probe_error"]:
            found["not_run"] = analysis["probe_error"]
    return found


def _norm(norm: Json, nodes: List[Json]) -> Json:
    blocker = norm["blocker"]
    kept = {key: norm[key] for key in ("title", "verdict", "reason", "form")}
    return {**kept, **({"blocker": {**blocker, "node": nodes[blocker["node"]]["label"]}} if blocker else {})}


def _first_line(error: BaseException) -> str:
    while error.__cause__ is not None and isinstance(error, torch.onnx.OnnxExporterError):
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].split(". Export a part of it")[0][:200].rstrip(".") if lines else type(error).__name__
