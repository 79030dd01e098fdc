"""An nn.Module as a .pt2 file for the engine."""

from __future__ import annotations

import contextlib
import copy
import pathlib
import tempfile
from typing import Any, Iterator, Optional, Tuple

import torch
from torch import nn
from torch.utils import _pytree as pytree

from normlens.errors import ExportFailed
from normlens.module.branches import Branch, branch_of
from normlens.module.inputs import Inputs
from normlens.module.modes import WithoutVainDropout, mode_of, quiet, state_kept, without_cache
from normlens.module.verify import run


@contextlib.contextmanager
def exported(
    module: nn.Module, inputs: Inputs, training: bool = False, fixed: bool = False
) -> Iterator[Tuple[pathlib.Path, Branch]]:
    """The path of a .pt2 of the module, which goes with the context, and what it holds for.

    Sizes of the inputs are left open where torch.export finds that they may vary, unless fixed. training: the mode it is
    exported in; a dropout that drops is then in the graph. Raises ExportFailed.
    """
    inputs = inputs.map(lambda tensor: tensor.detach().clone())  # no views, whose bases have sizes, too
    where = {tensor.device.type for tensor in [*module.parameters(), *module.buffers()]}
    if "meta" in where:
        raise ExportFailed(f"{type(module).__name__} has tensors on the meta device, which have no numbers; load its weights first")
    if where - {"cpu"}:
        module, inputs = copy.deepcopy(module).cpu(), inputs.map(torch.Tensor.cpu)
    with tempfile.TemporaryDirectory(prefix="normlens-") as folder:
        path = pathlib.Path(folder, "model.pt2")
        with contextlib.suppress(Exception), quiet():
            run(module, inputs, training, first=True)  # a module may change itself then; the export reports the error
        with mode_of(module, training), without_cache(module), state_kept(module), quiet(), WithoutVainDropout():
            program = _program(module, inputs, fixed)
            try:
                torch.export.save(program, path)
            except Exception as error:  # of an argument that a file has no form for
                raise ExportFailed(f"torch.export cannot write its graph of {type(module).__name__}: {_plain(error)}") from error
        yield path, branch_of(program, module, inputs)


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


def _plain(error: Exception) -> str:
    """The first sentence or line that has content."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300].rstrip('.')}" if lines else type(error).__name__
