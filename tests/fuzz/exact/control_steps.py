"""Branches, loops, what TorchScript alone can say, outputs."""

from parts import active, INNER, layer, MAKERS, norm, step


def inner(w, c, x, y, name):
    form = c.pick(name, *INNER)
    return MAKERS[form](w, c.under(name), x, y)


@step(4)
def branch(w, c, x, y):
    form = c.pick("if", "flag", "size", "n", "value")
    condition = {"flag": lambda: w.flag(), "size": lambda: w.more(w.dim(x, 1), 2), "n": lambda: w.more(w.input("n"), 1),
                 "value": lambda: w.any_above(x, 0.8)}[form]()
    other = (lambda: x) if c.chance("else.same", 30) else (lambda: inner(w, c, x, y, "else"))
    z = w.branch(condition, lambda: inner(w, c, x, y, "then"), other)
    return norm(w, c, z) if c.chance("norm", 60) else z


@step(3)
def loop(w, c, x, y):
    turns = w.input("n") if c.chance("n", 50) else c.pick("turns", 1, 2)
    z = w.loop(turns, x, lambda carried: inner(w, c, carried, y, "body"))
    return norm(w, c, z) if c.chance("norm", 60) else z


# ---- what TorchScript alone can say


@step(4, ("torchscript",))
def state(w, c, x, y):
    form = c.pick("form", "count", "seen", "ring", "list")
    a = layer(w, c, x)
    if form == "count":
        w.line(f"self.{w.buffer('count', [1])} += 1")
        return w.let(f"{a} * (self.state_count < 4.)") if c.chance("used", 60) else a
    if form == "ring":
        w.line(f"self.{w.buffer('ring', [w.width])}.copy_({x}[0, 0].detach())")
        return norm(w, c, w.binary("add", a, "self.state_ring"))
    name = w.buffer("seen", [w.width])
    z = w.binary("mul", a, f"self.{name}") if form == "list" else w.binary("add", a, f"self.{name}")
    w.line(f"self.{name} = self.{name} + {x}[0, 0]")
    return norm(w, c, z) if c.chance("norm", 60) else z


@step(2, ("torchscript",))
def listed(w, c, x, y):
    streams, i = w.let(f"[{x}]"), w.name()
    w.line(f"for {i} in range({c.pick('turns', 1, 2, w.input('n'))}):")
    w.line(f"    {streams}.append(aten.linear({streams}[-1], {w.weight(c.owner, 'weight', [w.width, w.width])}))")
    z = w.let(f"{streams}[-1]" if c.chance("last", 50) else f"aten.sum(aten.stack({streams}, 0), 0)")
    return norm(w, c, z)


@step(4, ("torchscript",))
def in_place(w, c, x, y):
    form = c.pick("form", "add", "zero_token", "mul", "channel", "number", "masked", "view", "alias")
    a = w.let(f"{layer(w, c, x)}.clone()") if c.chance("clone", 30) else layer(w, c, x)
    if form == "alias":
        b = w.let(f"{a}.view({a}.size(0), -1, {w.width})")
        w.line(f"{b}.add_({y})")
        return norm(w, c, a)
    w.line({
        "add": lambda: f"{a} += {layer(w, c, y, 'other')}",
        "zero_token": lambda: f"{a}[:, 0] = 0.",
        "mul": lambda: f"{a}.mul_({y}[..., :1])",
        "channel": lambda: f"{a}[..., 0] = {c.pick('value', '0.', '1.', f'{y}[..., 0]')}",
        "number": lambda: f"{a}.add_(2.)",
        "masked": lambda: f"{a}.masked_fill_({y}[..., :1] > 0, {c.pick('fill', '0.', '3.')})",
        "view": lambda: f"{a}[:, :, :{max(1, w.width // 2)}].mul_(2.)",
    }[form]())
    return norm(w, c, a)


@step(4, ("torchscript",))
def run_time_axes(w, c, x, y):
    a, n = layer(w, c, x), w.input("n")
    form = c.pick("form", "last", "from", "both")
    shape = {"last": f"{x}.shape[-{n}:]", "from": f"{x}.shape[{n}:]", "both": f"{x}.shape[{n}:]"}[form]
    z = w.let(f"aten.layer_norm({a}, {shape}, None, None, 1e-5)")
    return w.binary("add", z, norm(w, c, a)) if form == "both" else z


@step(2, ("torchscript",))
def any_rank(w, c, x, y):
    a = layer(w, c, x)
    if c.chance("squeezed", 50):
        return norm(w, c, w.binary("mul", a, w.let(f"{w.input('g_bt1')}.squeeze(0).squeeze(-1).unsqueeze(-1)")))
    return norm(w, c, w.let(f"{a} * {y}.mean({w.input('n')} - 1, keepdim=True)"))


# ---- outputs


@step(4)
def output(w, c, x, y):
    """Beside the last one; the stream goes on."""
    form = c.pick("form", "plain", "norm", "act", "huge", "huge_norm", "head")
    if form == "plain":
        w.output(x)
    elif form == "norm":
        w.output(norm(w, c, x))
    elif form == "act":
        w.output(active(w, c, x))
    elif form == "head":
        w.output(layer(w, c, norm(w, c, x), "head", 3))
    else:
        z = norm(w, c, layer(w, c, x)) if form == "huge_norm" else w.unary("sin", x)
        big = w.full([w.dim(x, 0), w.dim(x, 1), 1], c.pick("huge", -3e38, 1e30) if w.stored_type != "float16" else -6e4)
        w.output(w.concat([z, big], -1))
    return x
