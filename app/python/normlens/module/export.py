"""An nn.Module as a .pt2 file for the engine."""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import pathlib
import tempfile
import warnings
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch
from torch import nn
from torch.utils import _pytree as pytree

from normlens.errors import ExportFailed
from normlens.module.inputs import Branch, Inputs, Room
from normlens.module.modes import WithoutVainDropout, mode_of, without_cache


@contextlib.contextmanager
def exported(
    module: nn.Module, inputs: Inputs, training: bool = False, fixed: bool = False
) -> Iterator[Tuple[pathlib.Path, Branch]]:
    """The path of a .pt2 of the module, which goes with the context, and what it holds for.

    Sizes of the inputs are left open where torch.export finds that they may vary, unless fixed. training: the mode it is
    exported in; a dropout that drops is then in the graph. Raises ExportFailed.
    """
    where = {tensor.device.type for tensor in [*module.parameters(), *module.buffers()]}
    if "meta" in where:
        raise ExportFailed(f"{type(module).__name__} has tensors on the meta device, which have no numbers; load its weights first")
    if where - {"cpu"}:
        module, inputs = copy.deepcopy(module).cpu(), inputs.map(torch.Tensor.cpu)
    with tempfile.TemporaryDirectory(prefix="normlens-") as folder:
        path = pathlib.Path(folder, "model.pt2")
        with mode_of(module, training), without_cache(module), _quiet(), WithoutVainDropout():
            program = _program(module, inputs, fixed)
            torch.export.save(program, path)
        yield path, Branch(tuple(_rooms(program)), tuple(_unused(program, module)))


def _program(module: nn.Module, inputs: Inputs, fixed: bool) -> Any:
    first: Optional[Exception] = None
    for shapes in (_fixed_shapes,) if fixed else (_open_shapes, _fixed_shapes):
        try:
            return torch.export.export(module, inputs.args, inputs.kwargs, dynamic_shapes=shapes(module, inputs), strict=False)
        except Exception as error:  # export runs the module's own code: anything may come
            first = first or error
            reason = error
    name = type(module).__name__
    raise ExportFailed(
        f"torch.export cannot make a graph of {name}: {_plain(reason)}. Export a part of it that has one, or open a "
        "TorchScript or ONNX file of it."
    ) from first


def _open_shapes(module: nn.Module, inputs: Inputs) -> Any:
    def leaf(value: Any) -> Any:
        return {axis: torch.export.Dim.AUTO for axis in range(value.dim())} if isinstance(value, torch.Tensor) else None

    return pytree.tree_map(leaf, inputs.by_parameter(module))


def _fixed_shapes(module: nn.Module, inputs: Inputs) -> Any:
    return None


def _rooms(program: Any) -> List[Room]:
    signature = [spec.arg for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    names = [argument.name for argument in signature if type(argument).__name__ == "TensorArgument"]
    sizes = {node.name: node.meta["val"].shape for node in program.graph.nodes if node.op == "placeholder" and node.name in names}
    axes: Dict[Any, List[Tuple[int, int]]] = {}
    rooms = []
    for place, name in enumerate(names):
        for axis, size in zip(range(-len(sizes[name]), 0), sizes[name]):
            if isinstance(size, int):
                rooms.append(Room(((place, axis),), size, size))
            else:
                axes.setdefault(size.node.expr, []).append((place, axis))
    for symbol, held in axes.items():
        allowed = program.range_constraints.get(symbol)  # None: of a size that is calculated from another one
        if allowed is not None:
            most = int(allowed.upper) if allowed.upper.is_Integer else None
            rooms.append(Room(tuple(held), int(allowed.lower), most))
    return rooms


def _unused(program: Any, module: nn.Module) -> List[str]:
    read = {node.name for node in program.graph.nodes if node.op == "placeholder" and node.users}
    parameters = dict(module.named_parameters(remove_duplicate=False))
    names = {name for given, name in program.graph_signature.inputs_to_parameters.items() if given in read}
    used = {id(parameters[name]) for name in names}
    left = [name for name, parameter in parameters.items() if id(parameter) not in used]
    whole = {
        path: path + "."
        for path, part in module.named_modules()
        if path and any(True for _ in part.parameters()) and not any(id(parameter) in used for parameter in part.parameters())
    }
    told = [next((path for path, start in whole.items() if name.startswith(start)), name) for name in left]
    return list(dict.fromkeys(told))


def _plain(error: Exception) -> str:
    """The first sentence or line that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300].rstrip('.')}" if lines else type(error).__name__


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """torch.export prints the graph of a failed try, and warns of containers that it registers."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
