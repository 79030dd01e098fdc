"""The plan's edits as actions on a module: each is one, or there is a reason why it is none."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch import nn

from normlens.module.changes import Changes
from normlens.module.edits import Edit, NoCounterpart, reads
from normlens.module.modes import configs_of
from normlens.module.observe import Observed
from normlens.module.owners import Graph, Owner
from normlens.module.pattern import axes_of, centered_jointly, parse
from normlens.module.unsettled import unsettled
from normlens.report.report import Norm

# An Action returns what it did, in words; "" where there is nothing to report.
Action = Callable[[Changes], str]
Owners = Tuple[List[Owner], Sequence[Owner]]  # (those that are written, all that hold the tensor)


class CenterOutput:
    """A forward hook: the module's output without its mean over these axes."""

    def __init__(self, axes: Tuple[int, ...]) -> None:
        self.axes = axes

    def __call__(self, module: nn.Module, args: Any, output: torch.Tensor) -> torch.Tensor:
        return output - output.mean(self.axes, keepdim=True)

    def __repr__(self) -> str:
        return f"CenterOutput(axes={self.axes})"


def center_constant(edit: Edit, graph: Graph) -> List[Tuple[Owners, Any]]:
    """((owners, all owners), pattern) of each part."""
    nodes, parts = set(reads(edit.what["uses"])), []
    for part in edit.what["parts"]:
        name = part["tensor"]
        readers = [node for node in graph.readers(name) if node in nodes]
        mine = graph.owners_of_reads(name, readers)
        parts.append(((sorted(mine), graph.owners(name)), parse(part["pattern"])))
    return parts


def centering(edit: Edit, graph: Graph, module: nn.Module) -> Action:
    parts = center_constant(edit, graph)
    for (mine, _), _ in parts:
        check_readers(mine, module)

    def act(changes: Changes) -> str:
        tensors = [changes.tensor(mine[0]).detach().double() for (mine, _), _ in parts]
        values = centered_jointly(tensors, [pattern for _, pattern in parts])
        told = ""
        for ((mine, everyone), _), value in zip(parts, values):
            if changes.write(mine, everyone, value):
                others = [str(owner) for owner in everyone if owner not in mine]
                say_untied(changes)
                told = f"{', '.join(map(str, mine))} is centered, {', '.join(others)} keeps the original"
        return told

    return act


def say_untied(changes: Changes) -> None:
    """Models of transformers tie their embeddings again when they are loaded, unless their configuration forbids it."""
    for config in configs_of(changes.module):
        if getattr(config, "tie_word_embeddings", None) is True:
            changes.set(config, "tie_word_embeddings", False)


def _sole(graph: Graph, tensor: str) -> Owner:
    """Its one owner, of one read."""
    owners, readers = graph.owners(tensor), graph.readers(tensor)
    if len(owners) != 1 or len(readers) != 1:
        raise NoCounterpart(f"{tensor} is read in several places")
    return owners[0]


def absorbing_scale(edit: Edit, graph: Graph) -> Action:
    what = edit.what
    operands = graph.nodes[what["node"]]["inputs"]
    if what["node_stays"] or len(operands) != 2:
        raise NoCounterpart("a BatchNorm would have to be rewritten")
    scale_value = operands[1 - what["data_operand"]]
    scale = _sole(graph, graph.constant(scale_value))
    parts = [(_sole(graph, part["tensor"]), part) for part in what["parts"]]

    def act(changes: Changes) -> str:
        for owner, part in parts:
            tensor = changes.tensor(owner).detach().double()
            along = [-1 if axis == part["dim"] else 1 for axis in range(tensor.dim())]
            value = tensor * torch.tensor(part["factor"], dtype=torch.float64, device=tensor.device).reshape(along)
            if part["addend"]:
                value = value + torch.tensor(part["addend"], dtype=torch.float64, device=tensor.device).reshape(along)
            changes.overwrite(owner, value)
        changes.overwrite(scale, torch.ones_like(changes.tensor(scale)))
        return ""

    return act


def inserting_centering(edit: Edit, graph: Graph, seen: Observed) -> Action:
    """A hook on the module whose output the value is, where all its readers are outside."""
    name = edit.what["value"]
    value, maker = graph.made(name)
    users = reads(edit.what["uses"])
    if set(users) != set(graph.readers_of_value(value)):
        raise NoCounterpart(f"the mean of {name} would be taken out for some of its readers alone")
    scope = graph.scope(maker)
    scopes = [graph.scope(user) for user in users]
    while scope and any(user == scope or user.startswith(scope + ".") for user in scopes):
        scope = scope.rpartition(".")[0]
    scope = graph.one(scope)
    shape = seen.gives.get(scope) if scope else None
    if shape is None or seen.calls.get(scope) != 1:
        raise NoCounterpart(f"a centering of {name} would be needed, which is no module's output")
    axes = axes_of(parse(edit.what["pattern"]), shape)
    if axes is None:
        raise NoCounterpart(f"a centering of parts of {scope}'s output would be needed")

    def act(changes: Changes) -> str:
        changes.names.add(scope)
        changes.remember(changes.module.get_submodule(scope).register_forward_hook(CenterOutput(axes)).remove)
        return ""

    return act


def absorbing_shift(edit: Edit, graph: Graph, norm: str) -> Action:
    """norm: path of the module whose bias it is."""
    parts = []
    for part in edit.what["parts"]:
        node = reads([part["use"]])[0]
        weight = graph.owner_of_read(part["weight"], node)
        parts.append((weight, _sole(graph, part["bias"]), part["input_dim"]))
    shift = Owner(norm, "bias")

    def act(changes: Changes) -> str:
        beta = changes.tensor(shift).detach().double().reshape(-1)
        for weight, bias, dim in parts:
            matrix, now = changes.tensor(weight).detach().double(), changes.tensor(bias).detach().double()
            along = [-1 if axis == dim else 1 for axis in range(matrix.dim())]
            changes.overwrite(bias, now + (matrix * beta.reshape(along)).sum(dim).reshape(now.shape))
        return ""

    return act


def absorbing_gain(edit: Edit, graph: Graph) -> Action:
    gain = _sole(graph, graph.constant(graph.nodes[edit.what["node"]]["inputs"][edit.what["gain_operand"]]))
    parts = [(_sole(graph, part["weight"]), part["input_dim"]) for part in edit.what["parts"]]

    def act(changes: Changes) -> str:
        gamma = changes.tensor(gain).detach().double().reshape(-1)
        for weight, dim in parts:
            matrix = changes.tensor(weight).detach().double()
            changes.overwrite(weight, matrix * gamma.reshape([-1 if axis == dim else 1 for axis in range(matrix.dim())]))
        changes.overwrite(gain, torch.ones_like(changes.tensor(gain)))
        return ""

    return act


def replaceable(module: nn.Module, one: Norm, seen: Observed, trained: bool) -> Optional[str]:
    """Why the module of that norm cannot be replaced by an RMSNorm; None where it can."""
    path = one.path
    try:
        norm = module.get_submodule(path)
    except AttributeError:
        return f"{path} is computed in the code of a forward: it is no module that could be replaced"
    if not path:
        return "the model itself is no module that could be replaced"
    kind = type(norm).__name__
    if path in seen.undone:
        return seen.undone[path]
    if norm._forward_hooks or norm._forward_pre_hooks or norm._backward_hooks:
        return "hooks are registered on it"
    if hasattr(norm, "parametrizations"):
        return "its parameters are parametrised"
    if path not in seen.taken:
        return f"its module ({kind}) was not seen to run"
    if seen.taken[path] is None:
        return f"its module ({kind}) takes other arguments than one tensor by place"
    form = seen.form(module, one)
    if form is None:
        return f"its module ({kind}) computes more than a LayerNorm"
    for part in (norm, unsettled(norm)) if trained else ():  # it stays a LayerNorm whatever its numbers come to be
        new = form.rms_norm(part)
        held = all(getattr(part, name, None) is getattr(new, name, None) for name in ("weight", "bias"))
        if not held or not form.describes(part, seen.taken[path] or []):
            return f"its module ({kind}) has no weight and bias of a LayerNorm that could be trained"
    return None


def actions_of(edit: Edit, graph: Graph, seen: Observed, module: nn.Module) -> Action:
    """Of all kinds but absorb_shift, absorb_gain and replace_norm. NoCounterpart with the reason."""
    makers: Dict[str, Callable[[], Action]] = {
        "center_constant": lambda: centering(edit, graph, module),
        "absorb_scale": lambda: absorbing_scale(edit, graph),
        "insert_centering": lambda: inserting_centering(edit, graph, seen),
    }
    maker = makers.get(edit.kind)
    if maker is None:
        raise NoCounterpart(f"{edit.text}: a value of the code would have to go")
    return maker()


def check_readers(owners: Sequence[Owner], module: nn.Module) -> None:
    """NoCounterpart where the module that reads a tensor changes it when it runs."""
    for owner in owners:
        if getattr(module.get_submodule(owner.module), "max_norm", None) is not None:
            raise NoCounterpart(f"{owner.module} rescales the rows of its table when it reads them")
