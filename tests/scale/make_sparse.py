"""Writes a decoder of any size as ONNX with sharded external data whose large weights are holes in sparse files.

    make_sparse.py LAYERS WIDTH FILE.onnx          80 8192: 65 billion parameters, and hardly a block on the disk

Norms, biases and what is smaller than SHARED_FROM bytes are real numbers inside the model; the rest reads as zeros.
"""

import pathlib
import sys

import onnx
from onnx import TensorProto

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import make_onnx  # noqa: E402

SHARED_FROM = 1 << 20
SHARD_BYTES = 10 << 30
PAGE = 4096


class SparseWriter(make_onnx.Writer):
    def __init__(self, path):
        super().__init__()
        self.path, self.shard, self.end = path, 0, SHARD_BYTES

    def weight(self, name, *shape):
        size = 4
        for extent in shape:
            size *= extent
        if size < SHARED_FROM:
            return super().weight(name, *shape)
        if self.end + size > SHARD_BYTES:
            self.shard, self.end = self.shard + 1, 0
        location = f"{self.path.name}.{self.shard:05}.data"
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", location), ("offset", self.end), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        with open(self.path.with_name(location), "ab") as data:
            data.truncate(self.end + size)
        self.end = (self.end + size + PAGE - 1) // PAGE * PAGE
        self.initializers.append(tensor)
        return name


def make(layers, width, path):
    size = make_onnx.Size(width=width, heads=width // 128, layers=layers, tokens=32000, positions=4096)
    onnx.save(make_onnx.decoder(size, SparseWriter(path)), path)


if __name__ == "__main__":
    make(int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]))
