"""Seeds of the fuzz targets that are not about ONNX, made by the libraries whose files they read."""

import enum
import io
import json
import pathlib
import re
import sys
import zipfile
from typing import Dict, List, Tuple

import numpy as np
import torch

ROOT = pathlib.Path(__file__).parent.parent.parent
sys.path.append(str(ROOT / "tests" / "conformance"))


class Mode(enum.Enum):
    ON = 1
    OFF = 2


class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(4)
        self.sizes: List[int] = [1, 2, 3]
        self.table: Dict[str, List[Tuple[int, float]]] = {"a": [(1, 2.0)]}
        self.mode = Mode.ON

    def forward(self, x):
        return self.norm(x) * self.sizes[0] + self.table["a"][0][1] if self.mode is Mode.ON else x


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = torch.nn.ModuleList([Inner(), Inner()])
        self.weight = torch.nn.Parameter(torch.zeros(2, 4).half())
        self.register_buffer("wide", torch.zeros(1).expand(2, 4))

    def forward(self, x):
        for part in self.parts:
            x = part(x) + self.weight + self.wide
        return x


class Quantised(torch.nn.Module):
    def __init__(self):
        super().__init__()
        values, scales, zeros = torch.zeros(2, 4), torch.ones(2), torch.zeros(2, dtype=torch.long)
        self.register_buffer("one", torch.quantize_per_tensor(values, 0.1, 0, torch.qint8))
        self.register_buffer("each", torch.quantize_per_channel(values, scales, zeros, 0, torch.qint8))
        self.register_buffer("complex", torch.zeros(2, dtype=torch.complex64))

    def forward(self, x):
        return x + self.one.dequantize() + self.each.dequantize()


def archive(module):
    file = io.BytesIO()
    torch.jit.save(module, file)
    return file.getvalue()


def deflated(data):
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return file.getvalue()


def torchscript(folder):
    linear = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LayerNorm(2))
    archives = {
        "script": archive(torch.jit.script(Outer())),
        "trace": archive(torch.jit.trace(linear, torch.zeros(1, 2))),
        "quantised": archive(torch.jit.script(Quantised())),
    }
    archives["deflated"] = deflated(archives["script"])
    for name, data in archives.items():
        (folder / f"{name}.pt").write_bytes(data)
        with zipfile.ZipFile(io.BytesIO(data)) as zipped:
            for record in zipped.namelist() if name != "deflated" else []:
                if record.endswith(("pkl", ".py")):
                    (folder / f"{name}.{pathlib.Path(record).name}").write_bytes(zipped.read(record))
    state = io.BytesIO()
    torch.save(linear.state_dict(), state)
    (folder / "state_dict.pt").write_bytes(state.getvalue())


def pt2(folder):
    linear = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LayerNorm(2))
    batch = {"input": {0: torch.export.Dim("batch", max=8)}}
    exported = torch.export.export(linear, (torch.zeros(3, 2),), dynamic_shapes=batch)
    for name, program in {"exported": exported, "decomposed": exported.run_decompositions()}.items():
        data = io.BytesIO()
        torch.export.save(program, data)
        (folder / f"{name}.pt2").write_bytes(data.getvalue())
        with zipfile.ZipFile(data) as zipped:
            for record in zipped.namelist():
                if record.endswith(".json"):
                    (folder / f"{name}.{pathlib.Path(record).name}").write_bytes(zipped.read(record))
    sizes = ["Symbol('s0', positive=True)", "Mul(Integer(2), Symbol('s0'))", "FloorDiv(Add(Symbol('s0'), Integer(-1)), Integer(2))"]
    for i, text in enumerate(sizes):
        (folder / f"size{i}").write_text(text)


def frame(body):
    text = json.dumps(body)
    return f"Content-Length: {len(text)}\r\n\r\n{text}"


def protocol(folder):
    """Each message with all its fields, one kind of value in all of them."""
    text = "".join((ROOT / "core/protocol" / name).read_text() for name in ("messages.h", "bench_messages.h", "difference_messages.h"))
    messages = re.findall(r"NORMLENS_FIELDS\(([\w\s,]+)\)", text)
    values = {"number": 1, "text": "inf", "list": [[0, 1], [3, 4]], "object": {}}
    for kind, value in values.items():
        bodies = [{name: value for name in re.split(r",\s*", fields)[1:]} for fields in messages]
        requests = [{"jsonrpc": "2.0", "id": i, "method": "open", "params": body} for i, body in enumerate(bodies)]
        replies = [{"jsonrpc": "2.0", "id": i, "result": body} for i, body in enumerate(bodies)]
        for i, body in enumerate(requests + replies):
            (folder / f"{kind}.{i}").write_text("@" + frame(body))
    (folder / "failure").write_text("\x07" + frame({"id": 1, "error": {"code": -1, "message": "m", "data": {"hint": "h"}}}))
    (folder / "noise").write_text("\x01print\nX: 1\r\n\r\n" + frame({"id": None, "method": "$/cancelRequest"}))


def plan(folder):
    edits = {
        "absorb_scale": {"node": 3, "data_operand": 0, "node_stays": False,
                         "parts": [{"tensor": "w", "factor": [1.5], "addend": [], "dim": 0}]},
        "center_constant": {"parts": [{"tensor": "w", "pattern": "(8)(8 sum)"}], "uses": [[2, 1, 0]], "split": True},
        "insert_centering": {"value": "s", "pattern": "(10)(8 sum)", "uses": [[1, 0, 0], [-1, 0, 0]]},
        "drop_addend": {"value": "s", "uses": [[1, 0, 0]]},
        "absorb_shift": {"norm": "b", "node": 5, "shift_operand": 2,
                         "parts": [{"weight": "w2", "use": [6, 1, 0], "input_dim": 0, "bias": "b2"}]},
        "absorb_gain": {"node": 5, "gain_operand": 1, "parts": [{"weight": "w2", "input_dim": 0}]},
        "replace_norm": {"norm": "a"},
    }
    written = [{"kind": kind, **edit} for kind, edit in edits.items()]
    for name, some in {"all": written, **{edit["kind"]: [edit] for edit in written}}.items():
        file = {"schema": 1, "model_sha256": "abc", "policy": "balanced", "edits": some}
        (folder / f"{name}.json").write_text(json.dumps(file))


def project(folder):
    whole = {
        "normlens_project": 1,
        "model": {"path": "/a/b.pt", "beside": "b.pt", "xxh3": "00ff", "bytes": 12, "modified_ms": 34},
        "plan": {"policy": "all", "prices": "measured", "max_growth_percent": 10.0, "kept": ["h.0.ln_1"],
                 "centered": [{"value": 7, "name": "sum.3"}], "norm": "fast"},
        "inputs": {"specs": ["in_0=int64[2,8]:0..9"], "npz": "", "assume": ["gate[-1]=1"], "strict": False},
        "view": {"open": ["", "h.0"], "zoom": 0.5, "x": 10.0, "y": 20.0, "norm": "ln_f"},
        "bench": {}, "bench_runs": [{}], "bench_params": {},
    }
    (folder / "whole").write_text(json.dumps(whole))
    for key in whole:
        (folder / f"without_{key}").write_text(json.dumps({k: v for k, v in whole.items() if k != key}))


def npz(folder):
    types = ("b1", "i1", "<i4", ">i8", "u2", "<u4", "u8", "f2", ">f4", "f8", "c8", "S3", "O")
    arrays = {kind.strip("<>"): np.ones((2, 3), kind) for kind in types}
    arrays |= {"fortran": np.asfortranarray(arrays["f8"]), "scalar": np.float32(1), "empty": np.zeros((0, 4))}
    arrays["record"] = np.zeros(2, [("a", "f4"), ("b", "i2")])
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    np.savez(folder / "stored.npz", **arrays)
    np.savez_compressed(folder / "packed.npz", **arrays)


def write(folder):
    torch.manual_seed(0)
    targets = {"pt2": pt2, "torchscript": torchscript, "protocol": protocol, "plan": plan, "project": project, "npz": npz}
    for name, make in targets.items():
        (folder / f"{name}_fuzz").mkdir(parents=True, exist_ok=True)
        make(folder / f"{name}_fuzz")
