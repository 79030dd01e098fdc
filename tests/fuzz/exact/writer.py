"""What both formats share: a case's inputs, weights and steps."""

import numpy

from case import Choices, number_of
from parts import MAKERS

# Sizes by axis: "B", "T", "D", "S" (a second sequence) or a number.
INPUTS = {
    "x": ("float", ("B", "T", "D")), "k": ("float", ("B", "S", "D")), "ids": ("ids", ("B", "T")), "n": ("int", ()),
    "flag": ("bool", ()), "g_bt1": ("float", ("B", "T", 1)), "g_b1d": ("float", ("B", 1, "D")), "g_1": ("float", (1,)),
    "g_0": ("float", ()), "g_t1": ("float", ("T", 1)), "g_111": ("float", (1, 1, 1)), "g_b11": ("float", ("B", 1, 1)),
}


class Writer:
    """Writes one case. Values are names, of tensors and of integers."""

    def __init__(self, case):
        self.case, self.width, self.type, self.even = case, case["D"], case["type"], case["even"]
        self.stored_type = case.get("stored", self.type)  # a file in a wider type holds what one in that type holds
        self.opset = case["opset"]
        self.inputs, self.weights, self.buffers, self.outputs = ["x"], {}, {}, []
        self.simplest = {}  # by step: its choices at their simplest
        self.last = 0
        self.open_weight = None

    def write(self):
        streams = {0: "x"}
        for one in self.case["steps"]:
            choices = Choices(one["choices"], self.case["seed"], one["id"])
            x, y = (streams.get(one[which], streams[max(streams)]) for which in ("of", "and"))
            streams[one["id"]] = MAKERS[one["do"]](self, choices, x, y)
            self.simplest[one["id"]] = choices.simplest
        if not self.outputs:
            self.output(streams[max(streams)])
        return self.finish()

    def stored(self, value):
        return numpy.asarray(numpy.asarray(value, self.stored_type), self.type)

    def name(self):
        self.last += 1
        return f"v{self.last}"

    def input(self, name):
        if name not in self.inputs:
            self.inputs.append(name)
        return name

    def shares_size(self, name, axis):
        """The file says that the input has the size there that another has."""
        return False

    def output(self, value):
        self.outputs.append(value)

    def weight(self, owner, name, shape, around=0.1):
        key = f"{owner}_{name}".replace(".", "_")
        if key in self.weights and list(self.weights[key].shape) != shape:
            key += "_" + "_".join(map(str, shape))
        if key not in self.weights:
            drawn = numpy.random.default_rng(number_of(self.case["seed"], key)).standard_normal(shape)
            self.weights[key] = (drawn * (0.9 / max(1, shape[-1]) ** 0.5 if len(shape) > 1 else 0.5) + around)
            if len(shape) > 1:
                self.weights[key][-1] *= self.case.get("outlier", 1)  # of the channels that a linear gives
        return self.constant(key)

    def filled(self, owner, name, shape, value):
        key = f"{owner}_{name}".replace(".", "_")
        self.weights[key] = numpy.full(shape, value, numpy.float64)
        if not numpy.isfinite(value):
            self.weights[key][1:] = 0.5
        return self.constant(key)
