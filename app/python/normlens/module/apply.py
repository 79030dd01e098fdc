"""Which part of a plan a module can follow, and how it does."""

from __future__ import annotations

import dataclasses
from typing import Collection, Dict, Iterator, List, Mapping, Sequence, Set, Tuple, Union

import torch
from torch import nn

from normlens.module.centered import parametrising
from normlens.module.changes import Changes
from normlens.module.edits import Edit, NoCounterpart
from normlens.module.norms import GroupNormForm, LayerNormForm
from normlens.module.observe import Observed
from normlens.module.owners import Graph, Owner
from normlens.module.resolve import Action, absorbing_gain, absorbing_shift, actions_of, replaceable
from normlens.report.report import Norm

Form = Union[LayerNormForm, GroupNormForm]


@dataclasses.dataclass
class Followed:
    """What a module can follow of a plan.

    folded: norms that become RMSNorms. kept: why the others do not, by index; only of those that the plan would fold.
    changes: in words, of what is done. paths: of the modules that are replaced.
    """

    folded: Set[int]
    kept: Dict[int, str]
    actions: List[Action]
    changes: List[str]
    paths: List[str]


def follow(
    edits: Sequence[Edit], norms: Sequence[Norm], graph: Graph, module: nn.Module, seen: Observed, trained: bool = False
) -> Followed:
    """Leaves out the norms of which an edit has no counterpart in the module, and the edits that only those need.

    trained: weights are parametrised and every β stays a parameter of its norm, for training to go on.
    """
    norms = [dataclasses.replace(norm, path=graph.one(norm.path)) for norm in norms]
    planned = {index for edit in edits if edit.kind == "replace_norm" for index in edit.frees}
    kept: Dict[int, str] = {}
    for index in planned:
        reason = replaceable(module, norms[index], seen, trained)
        if reason is not None:
            kept[index] = reason
    actions: List[Tuple[Edit, Action]] = []
    for edit in edits:
        if edit.kind in ("replace_norm", "absorb_shift", "absorb_gain"):
            continue
        try:
            action = parametrising(edit, graph, seen, module) if trained else actions_of(edit, graph, seen, module)
            actions.append((edit, action))
        except NoCounterpart as reason:
            kept.update({index: f"{edit.text}: {reason}" for index in edit.frees & planned if index not in kept})
    _keep_together(norms, planned, kept)
    folded = planned - kept.keys()
    forms = {norms[index].path: seen.form(module, norms[index]) for index in folded}
    elsewhere = _read_elsewhere(norms, graph, module, folded, forms)
    shifts = {} if trained else _shifts(edits, norms, graph, folded, elsewhere)
    chosen = [(edit, action) for edit, action in actions if edit.frees & folded]
    chosen += [*shifts.values(), *_gains(edits, graph, folded, shifts.keys())]
    absorbed = {norms[index].path for index in shifts}
    paths = list(dict.fromkeys(norms[index].path for index in sorted(folded)))
    stays = elsewhere if not trained else set(paths)
    replaced = [replacing(path, forms[path], path in absorbed, path in stays) for path in paths]
    told = [edit.text for edit, _ in chosen] + [f"replace {path} by an RMSNorm" for path in paths]
    return Followed(folded, kept, [action for _, action in chosen] + replaced, told, paths)


def _keep_together(norms: Sequence[Norm], planned: Set[int], kept: Dict[int, str]) -> None:
    """A module that is called several times is one: it is replaced for all calls or for none."""
    for norm in norms:
        alike = [other.index for other in norms if other.path == norm.path]
        stays = [index for index in alike if index not in planned or index in kept]
        for index in alike if stays else []:
            if index in planned and index not in kept:
                kept[index] = f"its module is called {len(alike)} times, and as {norms[stays[0]].name} it has to stay"


def _read_elsewhere(
    norms: Sequence[Norm], graph: Graph, module: nn.Module, folded: Set[int], forms: Mapping[str, Form]
) -> Set[str]:
    """Paths of those norms whose bias the code reads beside their forward, so that it has to stay where it is."""
    found: Set[str] = set()
    for path in {norms[index].path for index in folded}:
        part = module.get_submodule(path)
        bias = getattr(forms[path].rms_norm(part), "bias", None)
        if bias is None or bias is not getattr(part, "bias", None):
            found.update([] if bias is None else [path])
            continue
        calls = sum(norm.path == path for norm in norms)
        try:
            if len(graph.reads_through(Owner(path, "bias"))) != calls:
                found.add(path)
        except NoCounterpart:
            found.add(path)
    return found


def _shifts(
    edits: Sequence[Edit], norms: Sequence[Norm], graph: Graph, folded: Set[int], elsewhere: Set[str]
) -> Dict[int, Tuple[Edit, Action]]:
    """By norm, where the biases behind it can take its β. Else β stays: that changes nothing."""
    found: Dict[int, Tuple[Edit, Action]] = {}
    for edit in edits:
        for index in edit.frees & folded if edit.kind == "absorb_shift" else ():
            if norms[index].path in elsewhere:
                continue
            try:
                found[index] = (edit, absorbing_shift(edit, graph, norms[index].path))
            except NoCounterpart:
                pass
    for index in list(found):
        alike = {norm.index for norm in norms if norm.path == norms[index].path}
        if not alike <= found.keys():
            del found[index]
    return found


def _gains(
    edits: Sequence[Edit], graph: Graph, folded: Set[int], shifted: Collection[int]
) -> Iterator[Tuple[Edit, Action]]:
    """Those that the layers behind a norm can take: of RMSNorms that are there, and of new ones whose β, if they have one, went
    first."""
    with_shift = {index for edit in edits if edit.kind == "absorb_shift" for index in edit.frees}
    for edit in edits:
        if edit.kind != "absorb_gain" or not edit.frees <= folded or edit.frees & with_shift - set(shifted):
            continue
        try:
            yield edit, absorbing_gain(edit, graph)
        except NoCounterpart:
            pass


def replacing(path: str, form: Form, absorbed: bool, stays: bool) -> Action:
    """By an RMSNorm. stays: its bias does, also one of zeros."""

    def act(changes: Changes) -> str:
        norm = changes.module.get_submodule(path)
        beta = getattr(form.rms_norm(norm), "bias", None)
        gone = absorbed or beta is None or (not stays and not bool(torch.count_nonzero(beta.detach())))
        new = form.rms_norm(norm, not gone)
        for hook in norm._forward_hooks.values():  # a centering of its output; it had no other hooks
            new.register_forward_hook(hook)
        changes.replace_module(path, new)
        _without_fused_encoder(changes, path)
        return ""

    return act


def _without_fused_encoder(changes: Changes, path: str) -> None:
    """nn.TransformerEncoderLayer has a second, fused forward with LayerNorms of its own, which it takes when it
    evaluates: it reads the parameters of what it thinks are LayerNorms."""
    layer = changes.module.get_submodule(path.rpartition(".")[0])
    if not isinstance(layer, nn.TransformerEncoderLayer):
        return
    changes.set(layer, "activation_relu_or_gelu", 0)
    for part in changes.module.modules():
        if isinstance(part, nn.TransformerEncoder) and any(child is layer for child in part.modules()):
            changes.set(part, "use_nested_tensor", False)


def perform(actions: Sequence[Action], module: nn.Module) -> Tuple[Changes, List[str]]:
    """(what can be undone, what the actions report). Where one fails, those before it are undone."""
    changes = Changes(module)
    try:
        told = [action(changes) for action in actions]
    except BaseException:
        changes.undo()
        raise
    return changes, [text for text in told if text]
