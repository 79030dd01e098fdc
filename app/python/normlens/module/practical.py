"""The papers' practical form of training: RMSNorm also where the exact conditions do not all hold (001, 5.3), and how far
it is from LayerNorm's network.

Weights that make a part of such a norm's input are centered where norms alone read that part, each across all of its channels:
with the LayerNorms still there, nothing changes, which is checked. The mean that the other parts leave is what RMSNorm keeps.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from typing import Any, Dict, Iterator, List, Sequence, Set, Tuple

import torch
from torch import nn
from torch.nn.utils import parametrize

from normlens.engine.session import Session
from normlens.errors import NotEqual
from normlens.module.apply import perform, replacing
from normlens.module.centered import parametrised
from normlens.module.changes import Changes
from normlens.module.compare import relative
from normlens.module.edits import NoCounterpart
from normlens.module.gradients import check_gradients, gradients
from normlens.module.inputs import Inputs
from normlens.module.modes import WithoutVainDropout
from normlens.module.norms import GroupRMSNorm
from normlens.module.observe import Observed
from normlens.module.owners import Graph, Owner
from normlens.module.resolve import Action, replaceable
from normlens.module.verify import LIMIT, run_exact
from normlens.report.report import Check, Norm

WHAT = "the example inputs, in training mode"


class Practical:
    """What exact=False does beyond the exact plan. paths: of the modules that it replaces. told: in words, what was done.
    deviations: outputs and gradients, with dropouts as they are."""

    def __init__(
        self,
        session: Session,
        norms: Sequence[Norm],
        graph: Graph,
        module: nn.Module,
        seen: Observed,
        inputs: Inputs,
        dropouts: WithoutVainDropout,
    ) -> None:
        self._inputs, self._dropouts = inputs, dropouts
        self._means: Dict[str, float] = {}
        self._before: Tuple[Any, Any] = (None, None)
        self.told: List[str] = []
        self.deviations: List[Check] = []
        norms = [dataclasses.replace(norm, path=graph.one(norm.path)) for norm in norms]
        exactly = {norm.path for norm in norms if norm.folds}
        forms: Dict[str, Any] = {}
        for norm in norms:
            if norm.path not in exactly and replaceable(module, norm, seen, trained=True) is None:
                forms[norm.path] = seen.form(module, norm)
        self.paths = list(forms)
        self._replacing = [replacing(path, form, False, True) for path, form in forms.items()]
        regions = [session.zero_mean_graph(norm.index)["vertices"] for norm in norms]
        gone = [path in forms or path in exactly for path in (norm.path for norm in norms)]
        self._leaves = list(_leaves(graph, module, norms, regions, gone))

    def compare(self, exact: nn.Module, parameters: Sequence[nn.Parameter]) -> None:
        """exact: the float64 copy, with LayerNorms."""
        self._before = self._measured(exact, parameters)

    def replace(self, changes: Changes, exact: nn.Module, parameters: Sequence[nn.Parameter], folded: Sequence[str]) -> None:
        """Centers, which changes nothing or is left out, and puts RMSNorms in the place of the other norms, in both modules.
        exact: where the exact plan was performed. folded: paths of its norms."""
        truth = run_exact(exact, self._inputs, True)
        for owners, action in self._leaves:
            if any(parametrize.is_parametrized(exact.get_submodule(owner.module), owner.attribute) for owner in owners):
                continue  # it is centered for a norm that folds
            tried, _ = perform([action], exact)
            if relative(run_exact(exact, self._inputs, True), truth) > LIMIT:
                tried.undo()
                continue
            action(changes)
            self.told += [f"parametrise {owner}" for owner in owners]
        for act in self._replacing:
            act(changes)
        perform(self._replacing, exact)
        self.told += [f"replace {path} by an RMSNorm" for path in self.paths]
        with _means(exact, [*folded, *self.paths], self._means):
            output, grads = self._measured(exact, parameters)
        if set(self.paths) - self._means.keys():
            raise NotEqual(f"{self.paths[0]} was replaced, but the model calls an object that it holds elsewhere")
        apart = relative(output, self._before[0])
        self.deviations.append(Check(WHAT, "float64", apart, math.inf))
        self.deviations.append(dataclasses.replace(check_gradients(self._before[1], grads, WHAT), limit=math.inf))

    def judged(self, norms: Sequence[Norm]) -> Tuple[Norm, ...]:
        """The norms as they are now, with the mean at their inputs."""
        found = []
        for norm in norms:
            mean = self._means.get(norm.path)
            if mean is not None and (mean > LIMIT or not norm.folds):
                told = f"the mean of its input is {mean:.1e} of the input's scale (root mean squares, {WHAT})"
                norm = dataclasses.replace(norm, state="folded", because=told)
            found.append(norm)
        return tuple(found)

    def _measured(self, exact: nn.Module, parameters: Sequence[nn.Parameter]) -> Tuple[Any, Any]:
        self._dropouts.every = False
        try:
            return run_exact(exact, self._inputs, True), gradients(exact, self._inputs, parameters)
        finally:
            self._dropouts.every = True


def _leaves(
    graph: Graph, module: nn.Module, norms: Sequence[Norm], regions: Sequence[Any], gone: Sequence[bool]
) -> Iterator[Tuple[List[Owner], Action]]:
    """The weights and biases of one module each, which make parts of norms that are replaced and of nothing else.

    regions: the vertices of each norm's zero-mean graph. gone: whether the norm is replaced.
    """
    kinds = {one["node"]: one["vertex_class"] for vertices in regions for one in vertices}
    widths: Dict[str, Set[int]] = {}
    ends = {one["node"] for vertices, goes in zip(regions, gone) for one in vertices if goes and one["vertex_class"] == "N"}

    def absorbed(node: int) -> bool:
        """Norms that are replaced take in all that the node gives."""
        readers = [reader for value in graph.nodes[node]["outputs"] for reader in graph.readers_of_value(value)]
        return bool(readers) and all(reader in ends or (kinds.get(reader) == "R" and absorbed(reader)) for reader in readers)

    for norm, vertices, goes in zip(norms, regions, gone):
        for one in vertices if goes and len(norm.shape) == 1 else ():
            if one["vertex_class"] == "L":
                widths.setdefault(graph.one(graph.scope(one["node"])), set()).add(norm.shape[0])
    for path, sizes in widths.items():
        part = module.get_submodule(path)
        patterns = _patterns(part)
        if sizes != {patterns.get("", 0)}:
            continue
        parts = [([Owner(path, name)], pattern) for name, pattern in patterns.items() if name]
        if any(parametrize.is_parametrized(part, owner.attribute) for (owner,), _ in parts):
            continue
        with contextlib.suppress(NoCounterpart):
            nodes = {node for (owner,), _ in parts for node in graph.reads_through(owner)}
            if nodes and all(absorbed(node) for node in nodes):
                for mine, pattern in parts:
                    yield mine, parametrised([(mine, pattern)], module)


def _patterns(part: nn.Module) -> Dict[Any, Any]:
    """Of the weight and the bias; under "" how many channels they make."""
    if isinstance(part, nn.Embedding):
        return {"": part.embedding_dim, "weight": f"({part.num_embeddings})({part.embedding_dim} sum)"}
    if not isinstance(part, nn.Linear):
        return {}
    bias = {} if part.bias is None else {"bias": f"({part.out_features} sum)"}
    return {"": part.out_features, "weight": f"({part.out_features} sum)({part.in_features})", **bias}


@contextlib.contextmanager
def _means(exact: nn.Module, paths: Sequence[str], found: Dict[str, float]) -> Iterator[None]:
    """By path, the mean of the last input that a norm takes, relative to its scale."""

    def seen(path: str) -> Any:
        def look(norm: Any, args: Any) -> None:
            x = args[0].detach()
            x = x.movedim(1, -1) if getattr(norm, "channels_first", False) else x
            x = norm.rows(x) if isinstance(norm, GroupRMSNorm) else x
            mean = x.mean(tuple(range(-len(norm.normalized_shape), 0))).square().mean()
            found[path] = float((mean / x.square().mean().clamp_min(torch.finfo(x.dtype).tiny)).sqrt())

        return look

    handles = [exact.get_submodule(path).register_forward_pre_hook(seen(path)) for path in paths]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
