"""What steps are made of, and the list of steps.

    @step(often)
    def name(w, c, x, y): ...      w: the writer, c: choices, x and y: streams [B, T, D]; returns a stream

Each is written once, for both formats, with the words that TorchScriptWriter and OnnxWriter share.
"""

STEPS = {}  # name -> (how often, formats)
MAKERS = {}
INNER = []  # those that may stand in a branch or a loop
BOTH = ("torchscript", "onnx")


def step(often, formats=BOTH, inner=False):
    def declare(function):
        STEPS[function.__name__] = (often, formats)
        MAKERS[function.__name__] = function
        if inner:
            INNER.append(function.__name__)
        return function
    return declare


def layer(w, c, x, name="linear", out=None, into=None):
    """A linear layer over the channels, [..., into] -> [..., out]."""
    out, into = out or w.width, into or w.width
    shared = c.chance(name + ".shared", 10)
    weight = w.weight("shared" if shared else c.owner, name + ".weight", [out, into])
    bias = None if c.chance(name + ".no_bias", 30) else w.weight(c.owner, name + ".bias", [out])
    return w.linear(x, weight, bias, c.pick(name + ".form", "plain", "matmul", "einsum", "flat", "left"))


def gamma_beta(w, c, name, shape):
    if w.even:
        return w.filled(c.owner, name + ".weight", shape, 1), w.filled(c.owner, name + ".bias", shape, 0)
    gamma = c.pick(name + ".gamma", "random", "random", "none", "equal")
    beta = c.pick(name + ".beta", "random", "none", "zero")
    scale = {"random": lambda: w.weight(c.owner, name + ".weight", shape, 1.0), "none": lambda: None,
             "equal": lambda: w.filled(c.owner, name + ".weight", shape, 1.5)}[gamma]()
    if scale is None:
        return None, None
    shift = {"random": lambda: w.weight(c.owner, name + ".bias", shape), "none": lambda: None,
             "zero": lambda: w.filled(c.owner, name + ".bias", shape, 0)}[beta]()
    return scale, shift


def norm(w, c, x, name="norm", width=None):
    width = width or w.width
    gamma, beta = gamma_beta(w, c, name, [width])
    if c.chance(name + ".written", 15):
        return written(w, c, x, gamma, beta, name)
    return w.layer_norm(x, [width], gamma, beta)


def written(w, c, x, gamma, beta, name):
    centred = w.binary("sub", x, w.reduce("mean", x, [-1]))
    again = w.binary("sub", x, w.reduce("mean", x, [-1])) if c.chance(name + ".twice", 30) else centred
    variance = w.reduce("mean", w.binary("mul", again, again), [-1])
    deviation = w.unary("sqrt", w.binary("add", variance, 1e-5))
    y = w.binary("div", centred, deviation)
    y = y if gamma is None else w.binary("mul", y, gamma)
    return y if beta is None else w.binary("add", y, beta)


def active(w, c, x, name="act"):
    return w.unary(c.pick(name, "relu", "tanh", "sigmoid", "sin", "gelu"), x)


def heads(w, c, x):
    """[B, T, D] -> [B, T, H, D / H]"""
    h = c.pick("heads", *[n for n in (2, 1, 3, 4) if w.width % n == 0])
    return w.reshape(x, [w.dim(x, 0), w.dim(x, 1), h, w.width // h]), h


def joined(w, x, like):
    return w.reshape(x, [w.dim(like, 0), w.dim(like, 1), w.width])


def turned(w, x):
    return w.permute(x, [0, 2, 1])
