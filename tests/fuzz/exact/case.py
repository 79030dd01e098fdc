"""A case: a random model as a list of steps, with all that is done to it. Plain data, written and read as JSON.

Each step makes a stream [B, T, D] of one or two earlier ones ("of", "and": ids). What a step chooses is drawn from the
case's seed and the step's id, and kept in it: steps can be dropped and choices replaced without moving anything else.
"""

import hashlib
import random

WIDTHS = (2, 3, 4, 6, 8)
SIZES = (3, 1, 2, 5)  # of batch and tokens in the sample
TYPES = ("float64", "float32", "float16")
HALVES = {"torchscript": ("float16", "bfloat16"), "onnx": ("float16",)}  # ONNX Runtime has no bfloat16 on the CPU
POLICIES = ("balanced", "free", "all")
NORMS = {"torchscript": ("portable", "primitives", "fast"), "onnx": ("portable", "primitives", "ort", "standard")}


def number_of(*words):
    return int.from_bytes(hashlib.blake2b(repr(words).encode(), digest_size=8).digest(), "little")


class Choices:
    """Of one step. The first option is the simplest, which a smaller case takes."""

    def __init__(self, made, seed, step, prefix=""):
        self.made, self.seed, self.step, self.prefix = made, seed, step, prefix
        self.owner = f"s{step}_{prefix}"  # of weights
        self.simplest = {}

    def under(self, name):
        below = Choices(self.made, self.seed, self.step, f"{self.prefix}{name}.")
        below.simplest = self.simplest
        return below

    def pick(self, name, *options):
        name = self.prefix + name
        if name not in self.made:
            self.made[name] = options[number_of(self.seed, self.step, name) % len(options)]
        self.simplest[name] = options[0]
        return self.made[name]

    def chance(self, name, percent):
        name = self.prefix + name
        if name not in self.made:
            self.made[name] = number_of(self.seed, self.step, name) % 100 < percent
        self.simplest[name] = False
        return self.made[name]


def draw_case(seed, file_format, steps, halves=False):
    """`steps`: name -> (how often, formats). `halves`: in a half type, a third of them with outlier channels."""
    rng = random.Random(number_of(seed, file_format))
    known = [(name, often) for name, (often, formats) in steps.items() if file_format in formats]
    names, often = zip(*known)
    case = {
        "seed": seed,
        "format": file_format,
        "type": rng.choices(TYPES, (8, 2, 1))[0],
        "D": rng.choice(WIDTHS),
        "B": rng.choices(SIZES, (4, 3, 2, 1))[0],
        "T": rng.choices(SIZES, (4, 3, 2, 1))[0],
        "S": rng.choice((2, 1)),
        "n": rng.choice((1, 2)),
        "flag": rng.random() < 0.5,
        "opset": rng.choice((17, 18, 20, 21, 23)),
        "policy": rng.choices(POLICIES, (2, 2, 1))[0],
        "norm": rng.choice(NORMS[file_format][:1] * 3 + NORMS[file_format]),
        "given": rng.random() < 0.9,  # the sample, to the engine
        "declared": rng.choice(("names", "sample", "ones", "nothing")),
        "overridable": rng.random() < 0.1,  # a weight, in ONNX
        "even": rng.random() < 0.15,  # every gamma 1 and beta 0
        "steps": [],
    }
    for i in range(1, rng.randint(2, 6) + 1):
        do = rng.choices(names, often)[0]
        if i == 1 and rng.random() < 0.7:
            do = rng.choice(("linear", "embedding", "positions"))
        of = rng.choice(range(max(1, i - 3), i)) if i > 1 and rng.random() < 0.9 else 0
        case["steps"].append({"id": i, "do": do, "of": of, "and": rng.randrange(i), "choices": {}})
    case["steps"].append({"id": i + 1, "do": "output", "of": i, "and": 0, "choices": {}})
    if halves:
        case |= {"type": rng.choice(HALVES[file_format]), "outlier": rng.choice((1, 1, 30))}
    return case
