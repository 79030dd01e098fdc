"""The atlas as one JSON object, and as a page of the documentation."""

from __future__ import annotations

import importlib.metadata
import json
from typing import List

from normlens.atlas.reasons import COUNTS, note_of, reason_of
from normlens.atlas.table import PRINTED, RMS, Architecture
from normlens.engine.session import Json
from normlens.version import version

TITLES = """| Architecture | Norms | Free | Centering | Blocked | Alg. 1 | Extension | Strict | Printed | Reason |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |"""
HEAD = """# Atlas of architectures

Which LayerNorms fold, by architecture: {count} of transformers and timm, built from their configurations with small widths
and random weights, γ and β among them, exported as .pt2 and .onnx for the sizes of one example, and analyzed.
*Learn › Atlas* (Ctrl+4) shows this table in the window; `python -m normlens.atlas` makes both
([atlas.json](../resources/reference/atlas.json)) with {versions}.

Norms are the LayerNorms of the small model; *free* fold by weights alone, *centering* with centerings at run time, *blocked* stay.
The next three are the papers' criteria, run by NormLens: Algorithm 1, with its practical extension (001, 4.2), and the stricter one
(001, D.2). The papers trust every LayerNorm to give zero mean, whatever its γ and β: so they count norms that are blocked here.
*Printed* are the numbers of paper 001, table 3: foldable, with the extension, of all. A reason stands for the norms that are not free.

{agree} of {count} agree in .pt2 and .onnx, in every count. The others are listed [below](#where-the-two-files-differ).
VMamba, the seventh model of the paper's table, is in neither library. {rms} use RMSNorm from the start, as the paper says.
"""


def entry_of(of: Architecture, row: Json) -> Json:
    """What is kept of a row: the counts of its .pt2, or where there is none those of its .onnx."""
    pt2, onnx = row["pt2"], row["onnx"]
    found = onnx if "refused" in pt2 else pt2
    kind = of.made if of.made.startswith("timm.") else f"transformers.{of.made}"
    entry: Json = {"name": of.name, "group": of.group, "made": kind, "layers": row["layers"]}
    entry.update({count: found.get(count, 0) for count in COUNTS})
    entry["other_norms"] = ", ".join(f"{count} {kind}" for kind, count in sorted(found.get("others", {}).items()))
    entry["reason"] = reason_of(found["norms"]) if "norms" in found else "there are no counts, see below"
    if not entry["layer_norms"] and entry["other_norms"]:
        entry["reason"] = f"it has no LayerNorm: {entry['other_norms']}"
    entry["exporter"] = onnx.get("exporter", "")
    entry["note"] = note_of(row)
    if of.name in PRINTED:
        entry["printed"] = PRINTED[of.name]
    return entry


def document(entries: List[Json]) -> Json:
    versions = {name: importlib.metadata.version(name) for name in ("transformers", "timm", "torch")}
    return {"versions": {"NormLens": version(), **versions}, "rows": entries}


def json_text(all_: Json) -> str:
    """A row a line."""
    rows = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in all_["rows"])
    return f'{{"versions": {json.dumps(all_["versions"])}, "rows": [\n{rows}\n]}}\n'


def markdown(all_: Json) -> str:
    rows = all_["rows"]
    others = [entry for entry in rows if entry["note"]]
    versions = ", ".join(f"{name} {one}" for name, one in all_["versions"].items())
    rms = f"{', '.join(RMS[:-1])} and {RMS[-1]}"
    text = HEAD.format(count=len(rows), agree=len(rows) - len(others), versions=versions, rms=rms)
    for group in dict.fromkeys(entry["group"] for entry in rows):
        text += f"\n## {group}\n\n{TITLES}\n"
        text += "".join(_line(entry) for entry in rows if entry["group"] == group)
    text += "\n## Where the two files differ\n\n" + "".join(f"- **{entry['name']}**: {entry['note']}.\n" for entry in others)
    legacy = [entry["name"] for entry in rows if entry["exporter"] == "legacy"]
    return text + f"\nWritten by torch's older exporter, as the one of today refuses them: {', '.join(legacy) or 'none'}.\n"


def _line(entry: Json) -> str:
    all_, foldable, practical = entry.get("printed", (0, 0, 0))
    printed = f"{foldable}, {practical} of {all_}" if all_ else ""
    counts = [str(entry[count]) for count in COUNTS if count != "unknown"]
    unknown = f"{entry['unknown']} unknown; " if entry["unknown"] else ""
    return f"| {entry['name']} | {' | '.join(counts)} | {printed} | {unknown}{entry['reason']} |\n"
