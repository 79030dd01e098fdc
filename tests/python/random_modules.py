"""Random modules with residual streams, norms of several classes and branches; all from one seed."""

import random

import torch
from torch import nn
from torch.nn import functional

WORDS = 13


class Written(nn.Module):
    """A LayerNorm that is written out, as Cohere's and DeBERTa's."""

    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        return (x - mean) / torch.sqrt((x - mean).pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight + self.bias


class PlusOne(nn.LayerNorm):
    def forward(self, x):
        return functional.layer_norm(x, self.normalized_shape, self.weight + 1, self.bias, self.eps)


class Odd(nn.LayerNorm):
    """No LayerNorm any more, or one that has centered before."""

    def __init__(self, width, kind):
        super().__init__(width)
        self.kind = kind

    def forward(self, x):
        if self.kind == "centered":
            return super().forward(x - x.mean(-1, keepdim=True))
        return super().forward(x) + 0.1 * x if self.kind == "added" else torch.tanh(super().forward(x))


class Turned(nn.Module):
    """A LayerNorm over channels in axis 1."""

    def __init__(self, width):
        super().__init__()
        self.norm = Channels(width)

    def forward(self, x):
        return self.norm(x.transpose(1, 2)).transpose(1, 2)


class Channels(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


# What the code decides by: (example, another value) of the argument `a`, and the decision.
DECISIONS = {
    "none": (None, 1.0, lambda x, a: a is not None),
    "flag": (False, True, lambda x, a: bool(a)),
    "number": (1.0, 7.5, lambda x, a: a > 3),
    "word": ("near", "far", lambda x, a: a == "far"),
    "length": ([1], [1, 2], lambda x, a: len(a) > 1),
    "long": (None, None, lambda x, a: x.size(1) > 11),
    "very long": (None, None, lambda x, a: x.size(1) > 1500),
    "even": (None, None, lambda x, a: x.size(0) % 2 == 0),
    "one": (None, None, lambda x, a: x.size(1) == 1),
    "seventeen": (None, None, lambda x, a: x.size(1) % 17 == 0),
    "square": (None, None, lambda x, a: x.size(0) == x.size(1)),
}


class RandomModule(nn.Module):
    """steps: (kind, the stream it reads, another stream, whether a branch decides)."""

    def __init__(self, seed):
        super().__init__()
        rng = random.Random(seed)
        self.width, self.decision = rng.choice((4, 6, 8, 12)), rng.choice((*DECISIONS, *["none"] * 4))
        self.ids, self.tied = rng.random() < 0.6, rng.random() < 0.3
        self.start = nn.Embedding(WORDS, self.width) if self.ids else nn.Linear(5, self.width, bias=rng.random() < 0.7)
        self.steps, self.parts = [], nn.ModuleList()
        for place in range(rng.randint(2, 6)):
            kind = rng.choice((*["block"] * 5, *["norm"] * 2, "post", "linear", "scale", "gate", "product", "drop", "again", "conv"))
            near = max(0, place - rng.choice((0, 0, 0, 1, 2)))
            self.steps.append((kind, near, rng.randint(0, place), rng.random() < 0.25, rng.choice(("raw", "skip", "abs"))))
            self.parts.append(self.part(kind, rng))
        self.last = self.norm(rng)
        self.head = nn.Linear(self.width, WORDS, bias=rng.random() < 0.5)
        self.read = rng.choice(("head", "head", "both", "stream"))
        if self.tied and self.ids:
            self.head.weight = self.start.weight

    def norm(self, rng):
        kind = rng.choice((*["plain"] * 5, "no bias", "no affine", "written", "plus one", "turned", "centered", "added", "tanh"))
        if kind in ("plain", "no bias", "no affine"):
            return nn.LayerNorm(self.width, elementwise_affine=kind != "no affine", bias=kind == "plain")
        makers = {"written": Written, "plus one": PlusOne, "turned": Turned}
        return makers[kind](self.width) if kind in makers else Odd(self.width, kind)

    def part(self, kind, rng):
        width, bias = self.width, rng.random() < 0.6
        if kind in ("block", "post", "again"):
            inner = nn.Sequential(nn.Linear(width, 7, bias=bias), nn.GELU(), nn.Linear(7, width, bias=bias))
            return nn.ModuleDict({"norm": self.norm(rng), "inner": inner})
        makers = {"norm": lambda: self.norm(rng), "linear": lambda: nn.Linear(width, width, bias=bias)}
        makers |= {"gate": nn.ReLU, "drop": lambda: nn.Dropout(0.3), "product": lambda: nn.Linear(width, width)}
        makers |= {"scale": lambda: nn.ParameterList([torch.ones(width)]), "conv": lambda: nn.Conv1d(width, width, 1, bias=bias)}
        return makers[kind]()

    def step(self, kind, part, x, y):
        if kind == "block":
            return x + part["inner"](part["norm"](x))
        if kind == "again":
            return x + part["inner"](part["norm"](x)) + 0.5 * part["inner"](part["norm"](y))
        if kind == "post":
            return part["norm"](x + part["inner"](x))
        if kind == "conv":
            return y + part(x.transpose(1, 2)).transpose(1, 2)
        other = {"scale": lambda: x * part[0], "product": lambda: y * part(x), "drop": lambda: y + part(x)}
        return other[kind]() if kind in other else part(x)

    def forward(self, x, a=None):
        takes = DECISIONS[self.decision][2](x, a)
        streams = [self.start(x)]
        for (kind, near, far, decides, otherwise), part in zip(self.steps, self.parts):
            if decides and takes and otherwise != "raw":
                streams.append(streams[near] if otherwise == "skip" else streams[near].abs())
            else:
                streams.append(self.step(kind, part, streams[near], streams[far]))
        end = streams[-1].abs() if takes and self.steps[0][4] == "raw" else streams[-1]
        y = self.head(self.last(end))
        return y if self.read == "head" else (y, streams[-1 if self.read == "stream" else 0].sum(-1))

    def inputs(self, seed, batch, tokens, other=False):
        """(x, a) as forward takes them; other: what the code decides by is another value."""
        generator = torch.Generator().manual_seed(seed)
        shape = (batch, tokens) if self.ids else (batch, tokens, 5)
        x = torch.randint(0, WORDS, shape, generator=generator) if self.ids else torch.randn(shape, generator=generator)
        return x.to(self.start.weight.dtype) if not self.ids else x, DECISIONS[self.decision][1 if other else 0]


def random_module(seed):
    """(module in evaluation mode, example inputs)"""
    rng = random.Random(-1 - seed)
    torch.manual_seed(seed)
    module = RandomModule(seed)
    trained = rng.random() < 0.8
    with torch.no_grad():
        for parameter in module.parameters() if trained else ():
            parameter.add_(0.3 * torch.randn_like(parameter))
    module = module.to(rng.choice((torch.float64, torch.float64, torch.float32))).eval()
    return module, module.inputs(seed, rng.choice((1, 2, 3)), rng.choice((2, 3, 5, 8)))
