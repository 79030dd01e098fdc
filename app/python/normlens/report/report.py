"""Verdicts on the LayerNorms of a model, and what was done about them."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from normlens.engine.client import hint_text
from normlens.report.picture import Picture, draw


VERDICTS = {"free": "free", "with_centering": "with centering", "blocked": "blocked", "unknown": "unknown"}  # in words


@dataclasses.dataclass(frozen=True)
class Norm:
    """One LayerNorm of the model's graph. A module that is called twice is two of them, of one path."""

    index: int
    path: str  # of its module: "encoder.layer.0.attention.output.LayerNorm"; of a file, its name there
    name: str  # unique in the report
    shape: Tuple[int, ...]  # that it normalises over
    eps: float
    verdict: str  # free, with_centering, blocked, unknown
    reason: str  # of the verdict, a sentence; of an unknown one with what to give
    state: str  # folded, folded_with_centering, kept: what the plan, or the fold, does with it
    because: str = ""  # why the plan keeps it, or what its state rests on; may be empty
    edits: Tuple[str, ...] = ()  # what makes its input zero-mean, in words
    holds_if: Tuple[str, ...] = ()  # sizes of inputs that the verdict rests on
    would_fold_if: Tuple[str, ...] = ()

    @property
    def folds(self) -> bool:
        return self.state != "kept"


@dataclasses.dataclass(frozen=True)
class Check:
    """Outputs of the changed module against the original's.

    difference: the largest, relative to the scale of its row (float64) or of its parameter ("gradients"), or absolute
    (the module's own type). limit: what it must not exceed.
    """

    what: str  # "the example inputs"
    dtype: str  # "float64", "bfloat16"
    difference: float
    limit: float

    @property
    def passed(self) -> bool:
        return self.difference <= self.limit


@dataclasses.dataclass(frozen=True)
class Report:
    """What was found, for each LayerNorm; iterates over its norms.

    source: the file's path, or the module's class. totals: how many LayerNorms have each verdict. notes: sentences on
    the analysis as a whole, such as why no run was possible.
    """

    source: str
    norms: Tuple[Norm, ...]
    totals: Mapping[str, int]
    inputs: Tuple[str, ...] = ()
    notes: Tuple[str, ...] = ()
    engine: str = ""  # version
    policy: str = "balanced"
    graph: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    regions: Tuple[Mapping[str, Any], ...] = dataclasses.field(default=(), repr=False)

    def __iter__(self) -> Iterator[Norm]:
        return iter(self.norms)

    def __len__(self) -> int:
        return len(self.norms)

    def __getitem__(self, which: Union[int, str]) -> Norm:
        """By index, or by path or name (the first of that path). KeyError, IndexError."""
        if isinstance(which, int):
            return self.norms[which]
        for norm in self.norms:
            if which in (norm.name, norm.path):
                return norm
        raise KeyError(f"there is no LayerNorm '{which}' in this report")

    def picture(self, norm: Union[int, str], most: int = 40) -> Picture:
        """The zero-mean graph of a norm as SVG: what decides whether its input has a mean.

        most: nodes that are drawn, those nearest to the norm.
        """
        chosen = self[norm]
        return draw(self.graph, self.regions[chosen.index], chosen.name, most)

    def summary(self) -> str:
        """One line."""
        counted = {word: self.totals.get(key, 0) for key, word in VERDICTS.items()}
        counts = ", ".join(f"{count} {word}" for word, count in counted.items() if count or word != "unknown")
        return f"{self.source}: {plural(len(self.norms), 'LayerNorm')}, {counts}"

    def __repr__(self) -> str:
        from normlens.report.text import report_text

        return report_text(self)

    def _repr_html_(self) -> str:
        from normlens.report.html import report_html

        return report_html(self)


@dataclasses.dataclass(frozen=True, repr=False)
class ChangeReport(Report):
    """A report on a module or file that was changed.

    changes: what was done, in words. untied: parameters that were one tensor and are two now. checks: the comparisons that the
    change passed. deviations: comparisons that it need not pass, of cbwc(exact=False) with LayerNorm's network. contract: the call that a module was exported for: types, sizes, lengths and values of its arguments, and
    how the code decided by sizes. conditions: of what was tried beyond the contract, what the original does something else for;
    then values and guards that could not be tried. output: the file that was written, or None. weights_moved: of norms, into
    the linear layers that read them.
    """

    changes: Tuple[str, ...] = ()
    untied: Tuple[str, ...] = ()
    checks: Tuple[Check, ...] = ()
    deviations: Tuple[Check, ...] = ()
    contract: Tuple[str, ...] = ()
    conditions: Tuple[str, ...] = ()
    output: Optional[pathlib.Path] = None
    weights_moved: int = 0

    @property
    def folded(self) -> Tuple[str, ...]:
        """Paths of the LayerNorms that are RMSNorms now."""
        return tuple(dict.fromkeys(norm.path for norm in self.norms if norm.folds))

    @property
    def kept(self) -> Mapping[str, str]:
        """Why each other LayerNorm is kept, by its name."""
        return {norm.name: norm.because or norm.reason for norm in self.norms if not norm.folds}

    def summary(self) -> str:
        done = sum(norm.folds for norm in self.norms)
        parts = [f"{done} of {plural(len(self.norms), 'LayerNorm')} folded"] if self.norms or not self.weights_moved else []
        parts += [f"{plural(self.weights_moved, 'norm weight')} moved into linear layers"] if self.weights_moved else []
        line = f"{self.source}: {', '.join(parts)}"
        worst = max((check for check in self.checks if check.dtype == "float64"), key=lambda c: c.difference, default=None)
        return line + (f", outputs equal to {worst.difference:.1e} in float64" if worst else "")


def plural(count: int, word: str) -> str:
    return f"{count} {word}" + ("" if count == 1 else "s")


def norms_of(analysis: Mapping[str, Any], plan: Mapping[str, Any], graph: Mapping[str, Any]) -> Tuple[Norm, ...]:
    """The engine's Analysis and PlanInfo, joined; paths are the modules that the graph names."""
    scopes = {scope["id"]: scope["path"] for scope in graph["scopes"]}
    nodes = {node["id"]: node for node in graph["nodes"]}
    edits: Dict[int, List[str]] = {}
    for edit in analysis["edits"]:
        for norm in indices(edit["frees"]):
            edits.setdefault(norm, []).append(edit["text"])
    return tuple(
        Norm(
            index=norm["index"],
            path=scopes.get(nodes[norm["node"]]["scope"], "") or norm["name"] if norm["node"] in nodes else norm["name"],
            name=norm["name"],
            shape=tuple(norm["normalized_shape"]),
            eps=norm["eps"],
            verdict=norm["verdict"],
            reason=_with_advice(norm["reason"], analysis["advice"]) if norm["verdict"] == "unknown" else norm["reason"],
            state=state["state"],
            because="" if norm["verdict"] == "unknown" else state["because"],
            edits=tuple(edits.get(norm["index"], ())),
            holds_if=tuple(condition["text"] for condition in norm["holds_if"]),
            would_fold_if=tuple(condition["text"] for condition in norm["would_fold_if"]),
        )
        for norm, state in zip(analysis["norms"], plan["norms"])
    )


def _with_advice(reason: str, advice: Mapping[str, str]) -> str:
    return f"{reason[:-1]}; {hint_text(advice)}." if advice["words"] else reason


def indices(ranges: Any) -> List[int]:
    """[[0, 2], [5, 5]] -> 0, 1, 2, 5"""
    return [index for first, last in ranges for index in range(first, last + 1)]
