"""Streams, views, other norms, types."""

from parts import active, heads, joined, layer, norm, step, turned


@step(6, inner=True)
def linear(w, c, x, y):
    return layer(w, c, x)


@step(8, inner=True)
def block(w, c, x, y):
    h = layer(w, c, norm(w, c, x))
    if c.chance("mlp", 40):
        h = layer(w, c, active(w, c, h), "second")
    return w.binary("add", x, h)


@step(5, inner=True)
def normed(w, c, x, y):
    return norm(w, c, layer(w, c, x) if c.chance("layer", 60) else x)


@step(4, inner=True)
def two(w, c, x, y):
    return w.binary(c.pick("op", "add", "sub", "mul"), x, y)


@step(2)
def embedding(w, c, x, y):
    ids = w.input("ids")
    table = w.weight("shared" if c.chance("shared", 30) else c.owner, "table", [7, w.width])
    e = w.lookup(table, ids)
    return w.binary("add", x, e) if c.chance("add", 50) else e


@step(2)
def positions(w, c, x, y):
    form = c.pick("form", "row", "cut", "cls", "one")
    if form == "cut":
        return w.binary("add", x, w.cut(w.weight(c.owner, "positions", [16, w.width]), 0, 0, w.dim(x, 1)))
    shape = {"row": [w.width], "cls": [1, 1, w.width], "one": [1]}[form]
    return w.binary("add", x, w.weight(c.owner, "position", shape))


@step(2)
def cls_token(w, c, x, y):
    cls = w.expand(w.weight(c.owner, "cls", [1, 1, w.width]), [w.dim(x, 0), 1, w.width])
    both = norm(w, c, w.concat([cls, layer(w, c, x)], 1))
    return w.cut(both, 1, 1, None)


@step(2)
def activation(w, c, x, y):
    return active(w, c, x)


@step(1, inner=True)
def centred(w, c, x, y):
    return w.binary("sub", x, w.reduce("mean", x, [-1]))


# ---- views


@step(4)
def viewed(w, c, x, y):
    form = c.pick("form", "flat", "rows", "halves", "turned", "tokens", "rest")
    a = layer(w, c, x)
    if form == "flat":
        return joined(w, norm(w, c, w.reshape(a, [-1, w.width])), x)
    if form == "rows":  # whole rows for some sizes only
        z = w.reshape(a, [c.pick("rows", 2, w.width), -1])
        return w.reshape(w.layer_norm(z, [w.dim(z, -1)], None, None), [w.dim(x, 0), w.dim(x, 1), w.width])
    if form == "rest":
        z = w.reshape(a, [w.dim(x, 0), -1, w.width])
        return joined(w, norm(w, c, z), x)
    if form == "halves":
        z = w.reshape(a, [w.dim(x, 0), -1, 1])
        return joined(w, z, x)
    if form == "tokens":
        return w.layer_norm(a, [w.dim(a, 1), w.dim(a, 2)], None, None)
    z = turned(w, a)
    return turned(w, w.layer_norm(z, [w.dim(z, -1)], None, None))


@step(3)
def per_head(w, c, x, y):
    h, n = heads(w, c, layer(w, c, x))
    if c.chance("turned", 40):
        h = w.permute(w.permute(h, [0, 2, 1, 3]), [0, 2, 1, 3])
    return joined(w, norm(w, c, h, width=w.width // n), x)


@step(3)
def attention(w, c, x, y):
    q, k, v = (layer(w, c, x, name) for name in "qkv")
    p = w.softmax(w.matmul(norm(w, c, q) if c.chance("norm", 50) else q, turned(w, k)), -1)
    z = w.matmul(p, v)
    return layer(w, c, z, "out") if c.chance("out", 60) else z


@step(3)
def split(w, c, x, y):
    a, b = w.split(layer(w, c, x, out=2 * w.width), [w.width, w.width], -1)
    a = norm(w, c, a) if c.chance("norm", 60) else a
    return w.binary(c.pick("op", "add", "mul"), a, w.unary("sigmoid", b))


@step(3)
def together(w, c, x, y):
    form = c.pick("form", "channels", "tokens", "halves")
    a, b = layer(w, c, x), layer(w, c, y, "other") if c.chance("layer", 60) else y
    if form == "channels":
        return layer(w, c, norm(w, c, w.concat([a, b], -1), width=2 * w.width), "back", w.width, 2 * w.width)
    if form == "tokens":
        return w.cut(norm(w, c, w.concat([a, b], 1)), 1, 0, w.dim(x, 1))
    first = w.width // 2
    parts = [layer(w, c, x, "first", first), layer(w, c, y, "rest", w.width - first)]
    return norm(w, c, w.concat(parts, -1))


@step(3)
def padded(w, c, x, y):
    form = c.pick("form", "tokens", "channels", "value")
    a = layer(w, c, x)
    if form == "tokens":
        return w.cut(norm(w, c, w.pad(a, 1, 1, 1, 0.0)), 1, 1, -1)
    if form == "value":
        return w.cut(norm(w, c, w.pad(a, 1, 0, 2, 2.0)), 1, 0, -2)
    return w.cut(norm(w, c, w.pad(a, 2, 0, 2, 0.0), width=w.width + 2), 2, 0, w.width)


@step(2)
def mixed(w, c, x, y):
    form = c.pick("form", "flip", "roll", "conv", "cumsum", "tokens")
    if form == "flip":
        return w.flip(layer(w, c, x), c.pick("axis", -1, 1))
    if form == "roll":
        a = layer(w, c, x)
        return w.concat([w.cut(a, 1, 1, None), w.cut(a, 1, 0, 1)], 1)
    if form == "conv":
        kernel = w.weight(c.owner, "kernel", [w.width, w.width, 3])
        return turned(w, w.conv(turned(w, x), kernel, w.weight(c.owner, "kernel.bias", [w.width])))
    if form == "cumsum":
        return w.cumsum(x, c.pick("axis", 1, -1))
    return w.binary("add", x, w.reduce(c.pick("op", "mean", "sum"), layer(w, c, y), [1]))


# ---- other norms, types, literal forms


@step(3)
def other_norm(w, c, x, y):
    form = c.pick("form", "rms", "instance", "group", "flat_group")
    if form == "rms":
        square = w.reduce("mean", w.binary("mul", x, x), [-1])
        z = w.binary("div", x, w.unary("sqrt", w.binary("add", square, 1e-5)))
        return w.binary("mul", z, w.weight(c.owner, "rms", [w.width], 1.0))
    if form == "instance":
        return turned(w, w.group_norm(turned(w, layer(w, c, x)), w.width))
    if form == "flat_group":
        groups = c.pick("groups", 1, 2)
        return joined(w, w.flat_group_norm(w.reshape(layer(w, c, x), [-1, w.width]), groups), x)
    return turned(w, w.group_norm(turned(w, layer(w, c, x)), 1))


@step(1)
def cast(w, c, x, y):
    return w.cast(w.cast(x, c.pick("to", "float32", "float64", "float16")), w.type)


@step(1)
def not_finite(w, c, x, y):
    return w.linear(x, w.filled(c.owner, "bad", [w.width, w.width], c.pick("value", float("inf"), float("nan"))), None, "plain")
