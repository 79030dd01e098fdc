"""Models that write state of their own: however often the engine runs one, the folded file holds the state of the
original and goes on from it as the original does. Classes and named tuples, which the C++ tests cannot make, are here."""

import pathlib
import tempfile
import unittest
from typing import Dict, List, NamedTuple, Optional

import numpy as np
import torch
from torch import Tensor, nn

from samples import engine

WIDTH = 8


@torch.jit.script
class Counter:
    def __init__(self, n: int, t: Tensor):
        self.n = n
        self.t = t

    def step(self, x: Tensor):
        self.n += 1
        self.t.add_(x)


class Pair(NamedTuple):
    t: Tensor
    n: int


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.ln, self.head = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4)
        for parameter in self.parameters():
            parameter.data = torch.randn_like(parameter) * 0.7 + 0.3

    def tail(self, x: Tensor):
        return self.head(self.ln(self.lin(x)))


class OfAnObject(Base):
    def __init__(self):
        super().__init__()
        self.counter = Counter(0, torch.zeros(WIDTH))

    def forward(self, x: Tensor):
        self.counter.step(x[0, 0])
        return self.tail(x) * self.counter.n + self.counter.t.sum()

    @staticmethod
    def state(m):
        return [m.counter.n, m.counter.t]


class OfListedObjects(Base):
    def __init__(self):
        super().__init__()
        self.counters: List[Counter] = [Counter(0, torch.zeros(WIDTH)), Counter(1, torch.zeros(WIDTH))]

    def forward(self, x: Tensor):
        for counter in self.counters:
            counter.step(x[0, 0])
        return self.tail(x) * self.counters[1].n + self.counters[0].t.sum()

    @staticmethod
    def state(m):
        return [value for counter in m.counters for value in (counter.n, counter.t)]


class OfObjectsByName(Base):
    def __init__(self):
        super().__init__()
        self.counters: Dict[str, Counter] = {"a": Counter(0, torch.zeros(WIDTH))}

    def forward(self, x: Tensor):
        self.counters["a"].n += 1
        self.counters["a"].t.add_(x[0, 0])
        return self.tail(x) * self.counters["a"].n + self.counters["a"].t.sum()

    @staticmethod
    def state(m):
        return [m.counters["a"].n, m.counters["a"].t]


class OfANamedTuple(Base):
    pair: Pair

    def __init__(self):
        super().__init__()
        self.pair = Pair(torch.zeros(WIDTH), 3)

    def forward(self, x: Tensor):
        self.pair = Pair(self.pair.t + x[0, 0], self.pair.n + 1)
        return self.tail(x) * self.pair.n + self.pair.t.sum()

    @staticmethod
    def state(m):
        return list(m.pair)


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("h", torch.zeros(WIDTH))
        self.n = 0

    def forward(self, x: Tensor):
        self.n += 1
        self.h = self.h + x[0, 0]
        return x * self.n


class OfParts(Base):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([Part(), Part()])

    def forward(self, x: Tensor):
        for part in self.parts:
            x = part(x)
        return self.tail(x)

    @staticmethod
    def state(m):
        return [value for part in m.parts.children() for value in (part.h, part.n)]


class OfACache(Base):
    past: Optional[Tensor]

    def __init__(self):
        super().__init__()
        self.past = None

    def forward(self, x: Tensor):
        past = self.past
        past = x if past is None else torch.cat([past, x], 1)
        self.past = past
        return self.tail(past)

    @staticmethod
    def state(m):
        return [m.past]


class OfATable(Base):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, WIDTH, max_norm=1.0)
        self.table.weight.data.mul_(5)

    def forward(self, x: Tensor):
        return self.tail(x + self.table(torch.arange(3)).sum(0))

    @staticmethod
    def state(m):
        return [m.table.weight]


def alike(a, b):
    return torch.equal(a, b) and a.stride() == b.stride() if torch.is_tensor(a) else a == b


class State(unittest.TestCase):
    def test_is_the_files(self):
        torch.manual_seed(0)
        torch.set_default_dtype(torch.float64)  # a tensor in an object has no float64 copy
        for kind in Base.__subclasses__():
            with self.subTest(kind.__name__), tempfile.TemporaryDirectory() as folder, torch.no_grad():
                model, out, inputs = (pathlib.Path(folder) / name for name in ("m.pt", "o.pt", "i.npz"))
                torch.jit.script(kind().eval()).save(str(model))
                np.savez(inputs, in_0=torch.randn(2, 3, WIDTH).numpy())
                status, result, errors = engine("fold", model, "-o", out, "--inputs", inputs)
                self.assertEqual((status, result["folded"]), (0, 1), f"{errors} {result}")
                original, folded = torch.jit.load(str(model)), torch.jit.load(str(out))
                for a, b in zip(kind.state(original), kind.state(folded)):
                    self.assertTrue(alike(a, b), f"{a} became {b}")
                for _ in range(3):
                    x = torch.randn(2, 3, WIDTH)
                    torch.testing.assert_close(folded(x), original(x), rtol=1e-10, atol=1e-10)


class TrainingMode(unittest.TestCase):
    def test_is_told_where_a_file_is_written(self):
        class Plain(Base):
            def forward(self, x: Tensor):
                return self.tail(x)

        with tempfile.TemporaryDirectory() as folder:
            model, out = pathlib.Path(folder) / "m.pt", pathlib.Path(folder) / "o.pt"
            for training in (True, False):
                torch.jit.script(Plain().train(training)).save(str(model))
                _, result, errors = engine("fold", model, "-o", out, "--input", f"in_0=float32[2,3,{WIDTH}]")
                self.assertEqual("training mode" in (result["note"] or ""), training, result)
                self.assertEqual("training mode" in errors, training, errors)

    def test_dropout_that_was_traced_in_it_is_told(self):
        parts = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Dropout(0.1), torch.nn.LayerNorm(WIDTH))
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "m.pt"
            for training in (True, False):
                torch.jit.trace(parts.train(training), torch.randn(2, WIDTH), check_trace=False).save(str(model))
                _, result, _ = engine("analyze", model)
                self.assertEqual("stays random" in (result["note"] or ""), training, result)
