"""Safetensors as tests write and read them, without the package: 8 bytes of length, JSON, bytes."""

import json
import struct

import torch

TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64}


def write(path, tensors, metadata=None):
    """tensors: {name: (type, tensor)}"""
    header, data = {"__metadata__": metadata or {"format": "pt"}}, b""
    for name, (kind, tensor) in tensors.items():
        raw = tensor.to(TYPES[kind]).contiguous().view(-1).view(torch.uint8).numpy().tobytes()
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read(path):
    """-> {name: tensor}, {name: raw bytes}, metadata"""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    metadata = header.pop("__metadata__", None)
    tensors, pieces = {}, {}
    for name, entry in header.items():
        begin, end = (8 + length + at for at in entry["data_offsets"])
        pieces[name] = raw[begin:end]
        flat = torch.frombuffer(bytearray(raw[begin:end]), dtype=torch.uint8) if end > begin else torch.empty(0, dtype=torch.uint8)
        tensors[name] = flat.view(TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors, pieces, metadata


def write_sharded(folder, tensors, shards=2):
    """Round robin, with an index."""
    names = list(tensors)
    files = {name: f"model-{i % shards + 1:05d}-of-{shards:05d}.safetensors" for i, name in enumerate(names)}
    for file in set(files.values()):
        write(folder / file, {name: tensors[name] for name in names if files[name] == file})
    index = {"metadata": {"total_size": 1}, "weight_map": files}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")


def read_folder(folder):
    tensors, pieces = {}, {}
    for file in sorted(folder.glob("*.safetensors")):
        some, raw, _ = read(file)
        tensors.update(some)
        pieces.update(raw)
    return tensors, pieces
