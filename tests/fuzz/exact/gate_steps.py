"""Gates, masks, addends and scales."""

from parts import heads, joined, layer, norm, step, turned


def gate_of_input(w, c, name):
    g = w.input(c.pick(name, "g_bt1", "g_1", "g_0", "g_b1d", "g_t1", "g_111", "g_b11"))
    return w.unary("sigmoid", g) if c.chance(name + ".sigmoid", 30) else g


@step(6)
def gate_input(w, c, x, y):
    a = layer(w, c, x) if c.chance("layer", 60) else x
    z = w.binary(c.pick("op", "mul", "mul", "add", "div"), a, gate_of_input(w, c, "input"))
    return norm(w, c, z) if c.chance("norm", 70) else z


@step(8)
def gate_computed(w, c, x, y):
    form = c.pick("form", "token", "self", "arange", "weight_cut", "mean_d", "first_n", "first", "max", "batch_mean",
                  "all", "size", "keys", "token_mean", "square", "unsqueezed", "squeezed", "expanded", "tiled")
    g = computed(w, c, form, y)
    a = layer(w, c, x) if c.chance("layer", 70) else x
    z = w.binary(c.pick("op", "mul", "mul", "add", "div"), a, g)
    return norm(w, c, z) if c.chance("norm", 80) else z


def computed(w, c, form, y):
    if form == "token":
        return w.unary("sigmoid", layer(w, c, y, "token", 1))
    if form == "self":
        return w.softmax(w.matmul(y, turned(w, y)), -1)
    if form == "keys":
        return w.matmul(y, turned(w, w.input("k")))
    if form == "arange":
        return w.binary("add", w.arange(w.dim(y, c.pick("arange.of", 0, 1))), 1)
    if form == "weight_cut":
        cut = w.cut(w.weight(c.owner, "cut", [8, 8]), 1, 0, w.dim(y, 1))
        return w.cut(cut, 0, 0, w.dim(y, c.pick("cut.of", 1, 0)))
    if form == "mean_d":
        return w.reduce("mean", y, [w.input("n")])
    if form == "first_n":
        return w.cut(y, -1, 0, w.input("n"))
    if form == "first":
        return w.cut(y, -1, 0, 1)
    if form == "max":
        return w.reduce("max", y, [-1])
    if form == "batch_mean":
        return w.reduce("mean", y, [0])
    if form == "token_mean":
        return w.reduce("mean", y, [1])
    if form == "all":
        return w.reduce("mean", y, [0, 1, 2], keep=False)
    if form == "size":
        return w.as_number(w.dim(y, 1))
    if form == "squeezed":
        return w.unsqueeze(w.squeeze_all(w.cut(y, -1, 0, 1)), -1)
    if form == "expanded":
        return w.expand(w.cut(y, -1, 0, 1), [w.dim(y, 0), w.dim(y, 1), w.dim(y, -1)])
    if form == "tiled":
        return w.tile(w.cut(y, -1, 0, c.pick("tiled.of", 1, 2)), [1, 1, w.input("n")])
    if form == "square":
        return w.reduce("mean", w.binary("mul", y, y), [-1])
    return w.unsqueeze(w.reduce("max", y, [-1], keep=False), -1)


# ---- masks, addends, scales


def mask_of(w, c, x):
    form = c.pick("mask", "token", "input", "element", "arange", "first_n", "tokens")
    if form == "input":
        return w.greater(w.input("g_bt1"), 0.0)
    if form == "element":
        return w.greater(x, 0.3)
    if form == "arange":
        return w.greater(w.arange(w.input("n")), 1.5)
    if form == "first_n":
        return w.greater(w.cut(x, -1, 0, w.input("n")), 0.0)
    if form == "tokens":
        return w.greater(w.unsqueeze(w.arange(w.dim(x, 1)), -1), 1.5)
    return w.greater(w.cut(x, -1, 0, 1), 0.0)


@step(5)
def masked(w, c, x, y):
    m = mask_of(w, c, y)
    a = layer(w, c, x) if c.chance("layer", 60) else x
    fill = c.pick("fill", "stream", 0.0, 3.0, "row", "token", -1e4)
    if fill == "stream":
        z = w.where(m, a, layer(w, c, y, "other"))
    elif fill == "row":
        z = w.where(m, a, w.weight(c.owner, "row", [w.width]))
    elif fill == "token":
        z = w.where(m, a, layer(w, c, y, "other", 1))
    else:
        z = w.fill(a, m, fill)
    return norm(w, c, z) if c.chance("norm", 80) else z


@step(5, inner=True)
def addend(w, c, x, y):
    form = c.pick("form", "number", "one", "token", "tokens", "huge", "size", "n")
    a = layer(w, c, x) if c.chance("layer", 60) else x
    b = {
        "number": lambda: 3.0,
        "one": lambda: w.weight(c.owner, "one", [1]),
        "token": lambda: layer(w, c, y, "token", 1),
        "tokens": lambda: w.unsqueeze(w.arange(w.dim(x, 1)), -1),
        "huge": lambda: 1e4,
        "size": lambda: w.as_number(w.dim(x, 1)),
        "n": lambda: w.as_number(w.input("n")),
    }[form]()
    if not c.prefix and isinstance(b, str) and c.chance("also", 20):
        w.output(w.binary("mul", y, b))
    z = w.binary(c.pick("op", "add", "sub"), a, b)
    return norm(w, c, z) if c.chance("norm", 70) else z


@step(4, inner=True)
def scaled(w, c, x, y):
    form = c.pick("form", "row", "sum", "number", "heads", "affine")
    a = layer(w, c, x)
    if form == "number":
        z = w.binary("mul", a, 0.5)
    elif form == "heads":
        h, n = heads(w, c, a)
        z = joined(w, w.binary("mul", h, w.weight(c.owner, "scale", [n, 1], 1.0)), x)
    else:
        a = w.binary("add", a, layer(w, c, y, "other")) if form == "sum" else a
        z = w.binary("mul", a, w.weight(c.owner, "scale", [w.width], 1.0))
        z = w.binary("add", z, w.weight(c.owner, "shift", [w.width])) if form == "affine" else z
    return w.binary("add", x, z) if c.chance("add", 50) else norm(w, c, z)
