"""The plan's edits as the engine sends them (core/fold/plan.h), joined with the norms that need each."""

from __future__ import annotations

import dataclasses
from typing import Any, FrozenSet, List, Mapping, Sequence, Tuple

from normlens.errors import NormLensError
from normlens.report.report import indices

Read = Tuple[int, int]  # node, operand


@dataclasses.dataclass(frozen=True)
class Edit:
    """kind: absorb_scale, center_constant, insert_centering, drop_addend, absorb_shift, absorb_gain, replace_norm.

    what: the edit as a plan file has it. frees: indices of the norms that need it. text: in words.
    """

    kind: str
    what: Mapping[str, Any]
    frees: FrozenSet[int]
    text: str


class NoCounterpart(Exception):
    """An edit of the graph that no change of the module's parameters and submodules amounts to; the message is the reason."""


def joined(exact: Sequence[Mapping[str, Any]], told: Sequence[Mapping[str, Any]]) -> List[Edit]:
    """exact: of the plan file; told: of the protocol's PlanInfo, in the same order."""
    if [edit["kind"] for edit in exact] != [edit["kind"] for edit in told]:
        raise NormLensError("the engine returned two different plans for one model; this is an error of NormLens")
    return [Edit(edit["kind"], edit, frozenset(indices(info["frees"])), info["text"]) for edit, info in zip(exact, told)]


def reads(uses: Sequence[Sequence[int]]) -> List[int]:
    """Nodes of uses [node, operand, block]. NoCounterpart where the graph itself returns the value."""
    if any(node < 0 for node, *_ in uses):
        raise NoCounterpart("the model returns it")
    return [node for node, *_ in uses]
