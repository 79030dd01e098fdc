"""Why the norms of a file do not fold, in a few words, and why two files of one model differ."""

from __future__ import annotations

import collections
from typing import List

from normlens.engine.session import Json

COUNTS = ("layer_norms", "free", "with_centering", "blocked", "unknown", "paper", "paper_practical", "paper_strict")


def reason_of(norms: List[Json]) -> str:
    """What most of the norms have that need something at run time, or are blocked; at most two."""
    counts = collections.Counter(_short(norm) for norm in norms if norm["verdict"] != "free")
    if not counts:
        return "every input can be centered" if norms else "it has no LayerNorm"
    return "; ".join(f"{count} × {text}" for text, count in counts.most_common(2))


def _short(norm: Json) -> str:
    if norm["verdict"] == "with_centering":
        return "a centering at run time"
    blocker = norm.get("blocker")
    if not blocker:
        return norm["reason"].rstrip(".")
    if blocker["gamma"] >= 0:
        return "γ varies in the norm before"
    if blocker["reason"].startswith(("centering", "dropping")):
        reader = blocker["reason"].rpartition("(")[2].rstrip(")") if "(" in blocker["reason"] else "an output"
        return f"{reader} reads what would be centered"
    return f"{blocker['node']}: {blocker['reason']}"


def note_of(row: Json) -> str:
    """Why the two files' counts differ, or why there are no counts of one; empty: they agree."""
    pt2, onnx = row["pt2"], row["onnx"]
    parts = [f"{suffix}: {one['refused']}" for suffix, one in ((".pt2", pt2), (".onnx", onnx)) if "refused" in one]
    if not parts and any(pt2[count] != onnx[count] for count in COUNTS):
        parts.append(_difference(pt2, onnx) + _cause(row))
    unrun = ((suffix, one["not_run"]) for suffix, one in ((".pt2", pt2), (".onnx", onnx)) if "not_run" in one)
    return ". ".join([*parts, *(f"{suffix} was not run: {why}" for suffix, why in unrun)])


def _difference(pt2: Json, onnx: Json) -> str:
    unequal = [count for count in COUNTS if pt2[count] != onnx[count]]
    return "in .pt2 and .onnx " + ", ".join(f"{pt2[count]} and {onnx[count]} {count.replace('_', ' ')}" for count in unequal)


def _cause(row: Json) -> str:
    if row["held"]:
        held = f"{row['held'][0]} and {len(row['held']) - 1} others" if len(row["held"]) > 2 else " and ".join(row["held"])
        return f": what the .pt2 computes from constants alone ({held}) is a tensor of the .onnx, and can be centered"
    pt2, onnx = row["pt2"], row["onnx"]
    merged = pt2["others"].get("BatchNorm", 0) - onnx["others"].get("BatchNorm", 0)
    parts = [f"the exporter merges {merged} BatchNorms into their convolutions"] if merged > 0 else []
    parts += [f"the .onnx has {count} × {kind}" for kind, count in onnx["others"].items() if kind not in pt2["others"]]
    pairs = zip(pt2["norms"], onnx["norms"]) if pt2["layer_norms"] == onnx["layer_norms"] else ()
    differ = [other for one, other in pairs if one["verdict"] != other["verdict"]]
    parts += [f"{norm['title']} in .onnx: {norm['reason'].rstrip('.')}" for norm in differ[-1:]]
    return "".join(f"; {part}" for part in parts)
