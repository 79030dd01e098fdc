"""The rules of check_certificate.py: what has to be zero-mean for the output of a node to be zero-mean.

Labels are an array of a value's shape: the number of each element's group, or -1 where it is in none. A value is
zero-mean over labels if each group sums to 0. Where the file does not say the shape, the labels may lie in one row. A
rule takes the labels of the output and returns [(operand, its labels)], or refuses.
"""

import math

import numpy as np

if __package__:
    from .certified_file import Refused, few, need
else:
    from certified_file import Refused, few, need

EPS = {"f8": 2.0**-52, "f4": 2.0**-23, "f2": 2.0**-10, "bf": 2.0**-7}  # of the types that a weight may have
MIXED = "it mixes the norm's channels"


def length_of(factors):
    return math.prod(size for size, *_ in few(factors))


def labels_of(factors):
    """The labels that a pattern of the certificate stands for, in one row."""
    whole = all(type(n) is int for factor in factors for n in factor[:3])
    filled = whole and all(0 <= begin < end <= size for size, begin, end, _ in factors)
    need(filled, "a pattern of the certificate has an empty factor")
    need(length_of(factors) < 1 << 30, "a pattern of the certificate is too long")
    labels = np.zeros(1, np.int32)
    for size, begin, end, summed in factors:
        place = np.arange(size, dtype=np.int32)
        part = labels[:, None] + 0 * place if summed else labels[:, None] * (end - begin) + place - begin
        labels = np.where((labels[:, None] >= 0) & (place >= begin) & (place < end), part, -1).reshape(-1)
    return labels


def same_groups(a, b):
    """Whether two rows of labels group the same elements."""
    if a.size != b.size or ((a < 0) != (b < 0)).any():
        return False
    a, b = a[a >= 0], b[b >= 0]
    there, back = (np.zeros(int(x.max(initial=0)) + 1, np.int32) for x in (a, b))
    there[a], back[b] = b, a
    return bool((there[a] == b).all() and (back[b] == a).all())


def claimed_groups(pattern, asked):
    """The groups of a claim's pattern, if all that are asked for are whole ones of them; else None."""
    if length_of(pattern) != asked.size:
        return None
    own, inside = labels_of(pattern), asked.reshape(-1) >= 0
    touched = np.zeros(own.max(initial=0) + 2, bool)
    touched[own[inside]] = True
    whole = not touched[own[~inside & (own >= 0)]].any()
    alike = whole and same_groups(np.where(inside, own, -1), asked.reshape(-1))
    return own.reshape(asked.shape) if alike else None


def common_row(rows, reason):
    """The groups within a row, where all rows that are in any agree on them."""
    rows = rows[(rows >= 0).any(1)]
    starts = np.arange(len(rows))[:, None]
    keys = np.where(rows < 0, -1, rows + starts * (rows.max(initial=0) + 1))
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    row = np.where(rows < 0, -1, first[inverse].reshape(rows.shape) - starts * rows.shape[1])
    need(len(row) and (row == row[0]).all(), reason)
    return row[0]


def each(row, count):
    """So many rows with the groups of this one, each by itself."""
    return np.where(row < 0, -1, np.arange(count, dtype=np.int32)[:, None] * row.size + row.astype(np.int32))


def check_means(name, tensors, labels):
    """The means of one tensor, or of several that are centered together."""
    fits = all(t.kind in EPS and math.prod(t.dims) == part.size for t, part in zip(tensors, labels))
    need(fits, f"{name} holds no floats, or does not fit its pattern")
    try:
        w = np.concatenate([t.read() for t in tensors]).astype(np.float64)
    except Refused as error:
        raise Refused(f"{name} cannot be read: {error}") from None
    at = np.concatenate([part.reshape(-1) for part in labels])
    w, at = w[at >= 0], at[at >= 0]
    need(w.size and np.isfinite(w).all(), f"{name} holds a number that is not finite")
    count = np.maximum(np.bincount(at), 1)
    mean, magnitude = np.abs(np.bincount(at, w)) / count, np.bincount(at, np.abs(w)) / count
    over = mean - 2 * max(EPS[t.kind] for t in tensors) * magnitude
    worst = int(over.argmax())
    place = int((np.bincount(at)[:worst] > 0).sum())
    need(over[worst] <= 0, f"{name} is not centered: group {place} has a mean of {mean[worst]:.3g}")


class Rules:
    """The rules of one node. hints: how many elements its operands have by the certificate, where the file does not say."""

    def __init__(self, graph, node, value, hints):
        self.graph, self.node, self.value, self.hints, self.x = graph, node, value, hints, (node.ins or [None])[0]

    def par(self, names, place=99, default=None):
        """An attribute, or the constant in this place of the inputs."""
        found = [self.node.arg[name] for name in names.split() if self.node.arg.get(name) is not None]
        value = self.node.ins[place] if place < len(self.node.ins) else None
        need(found or not value or value in self.graph.ints, f"{value} is computed")
        return found[0] if found else self.graph.ints[value] if value else default

    def count(self, value):
        shape = self.graph.shape(value)
        size = math.prod(shape) if shape is not None and None not in shape else self.hints.get(value)
        need(size, f"the size of {value} is not known")
        return size

    def axis(self, axis, rank):
        need(isinstance(axis, int) and rank > 1 and -rank <= axis < rank, "the file does not say which axis it means")
        return axis % rank

    def narrowed(self, labels, value):
        """The labels as an operand sees them that is broadcast to their shape."""
        shape = self.graph.shape(value)
        if (shape is None or None in shape) and 0 < self.hints.get(value, labels.size) < labels.size:
            lead = next((i for i in range(labels.ndim) if math.prod(labels.shape[i:]) == self.hints[value]), labels.ndim)
            shape = [1] * lead + list(labels.shape[lead:])
        if shape is None or len(shape) > labels.ndim and None in shape:
            return labels
        lead = labels.ndim - len(shape)
        shape = [labels.shape[lead + i] if n is None else n for i, n in enumerate(shape)]
        size = math.prod(shape)
        if size == labels.size:
            return labels
        flat, long = labels.ndim == 1 or lead < 0, [n for i, n in enumerate(shape) if max(shape[:i + 1]) > 1]
        fits = all(n in (1, labels.shape[lead + i]) for i, n in enumerate(shape)) if not flat else labels.size % size == 0 and 1 not in long
        need(fits, f"{value} is not of the shape that it has to have")
        wide = [] if flat else [i for i in range(labels.ndim) if i < lead or shape[i - lead] == 1]
        rows = np.moveaxis(labels, wide, range(len(wide))).reshape(-1, size)
        return common_row(rows, f"it repeats {value} along the norm's channels").reshape(shape)

    def apart(self, labels, axis):
        """Refuses groups that tell the places of an axis apart or reach over several, where its size is only a hint."""
        rows = np.moveaxis(labels, axis, 0).reshape(labels.shape[axis], -1)
        need(((rows < 0) == (rows[:1] < 0)).all(), "the file does not say which part it is")
        firsts = np.full(labels.max(initial=0) + 2, -1)
        firsts[rows] = np.arange(len(rows))[:, None]
        alone = (firsts[rows] == np.arange(len(rows))[:, None])[rows >= 0].all()
        need(alone, "the file does not say the size of the norm's channels")

    def same(self, labels):
        return [(self.x, labels)]

    def dropout(self, labels):
        training = self.node.arg.get("train", 0) or self.graph.number((self.node.ins[2:] or [0])[0] or 0)
        need(training == 0, "it drops elements at random")
        return [(self.x, labels)]

    def cast(self, labels):
        need(self.node.arg.get("to", 1) in (1, 11) and self.node.arg.get("dtype") in (None, 7, 8), "it is a cast that may round")
        return [(self.x, labels)]

    def add(self, labels):
        mean, rule = self.graph.maker(self.node.ins[1])
        if rule == "-mean" and "ub" in self.node.op and mean.ins[0] == self.x and self.par("alpha", 99, 1) == 1 and labels.ndim > 1:
            axes = self.graph.mean_axes(mean, labels.ndim)
            if axes and (labels == labels[tuple(slice(0, 1 if i in axes else None) for i in range(labels.ndim))]).all():
                return []
        return [(value, self.narrowed(labels, value)) for value in self.node.ins]

    def mul(self, labels):
        divides = "iv" in self.node.op
        for data, scale in ((0, 1),) if divides else ((0, 1), (1, 0)):
            x, by = self.node.ins[data], self.node.ins[scale]
            axes = self.graph.square_mean(x, by, divides, labels.ndim) if isinstance(by, str) else None
            if self.constant_along(by, labels) or axes and self.in_rows(labels, axes):
                return [(x, self.narrowed(labels, x))]
        raise Refused("it scales each channel differently")

    def in_rows(self, labels, axes):
        """Whether each group lies in one row over these axes: what is one number for each row is one for each group."""
        kept = [1 if i in axes else n for i, n in enumerate(labels.shape)]
        rows = np.broadcast_to(np.arange(math.prod(kept)).reshape(kept), labels.shape)[labels >= 0]
        inside, one = labels[labels >= 0], np.zeros(labels.max(initial=0) + 1, rows.dtype)
        one[inside] = rows
        return labels.ndim > 1 and bool((one[inside] == rows).all())

    def rms(self, labels):
        """A norm divides a row by one number; its scale has to be one number, too."""
        scale, dims = (self.node.ins[1:2] or [None])[0], len(self.node.arg.get("normalized_shape") or "1")
        first = -dims if "rms_norm" in self.node.op else self.node.arg.get("axis", -1)
        need(not self.node.ins[2:3] or self.node.ins[2] in ("", None), "it adds a shift")
        held = self.graph.tensors.get(self.behind(scale)) if scale else None
        need(not scale or held and len(np.unique(held.read())) == 1, "it scales each channel differently")
        need(self.in_rows(labels, range(first % labels.ndim, labels.ndim)), "it is taken over other axes")
        return [(self.x, labels)]

    def behind(self, value):
        """What a value is a copy of."""
        node, rule = self.graph.maker(value)
        return self.behind(node.ins[0]) if rule == "same" else value

    def constant_along(self, value, labels):
        value = self.behind(value) if isinstance(value, str) else value
        shape = self.graph.shape(value)
        if not shape or None in shape or labels.ndim < max(2, len(shape)):
            return shape is not None and math.prod(n or 2 for n in shape) == 1
        held = self.graph.tensors[value].read() if value in self.graph.tensors else np.arange(math.prod(shape))
        held, inside = np.broadcast_to(held.reshape(shape), labels.shape)[labels >= 0], labels[labels >= 0]
        one = np.zeros(inside.max(initial=0) + 1, held.dtype)
        one[inside] = held
        return bool((one[inside] == held).all())

    def matmul(self, labels):
        a, b, *bias = self.node.ins
        turned, shape = bool(self.node.arg.get("transB")) or "linear" in self.node.op, self.graph.shape(b)
        need(len(shape) > 1 if shape is not None else labels.ndim > 1, f"{b} is no matrix of a known size")
        wide = shape[-2 if turned else -1] if shape else labels.shape[-1]
        fits = wide and labels.size % wide == 0 and (labels.ndim == 1 or wide == labels.shape[-1])
        need(fits, f"{b} does not make the norm's channels")
        rows, needs = labels.reshape(-1, wide), [(v, self.narrowed(labels, v)) for v in bias if v]
        try:
            row = common_row(rows, MIXED)
        except Refused:
            row = np.arange(wide)
        if np.unique(row[row >= 0]).size < (row >= 0).sum():
            part = each(row, self.count(b) // wide)
            stated = shape if shape and None not in shape else (*labels.shape[:-2], -1, wide)
            return [(b, (part.T if turned else part).reshape(stated)), *needs]
        known = None not in (self.graph.shape(a) or [None]) and not self.node.arg.get("transA")
        need(known and labels.ndim > 1 and self.count(a) % len(rows) == 0, MIXED)
        return [(a, each(common_row(rows.T, MIXED), self.count(a) // len(rows)).T.reshape(*labels.shape[:-1], -1)), *needs]

    def skip(self, labels):
        total, added = self.graph.sum_of(self.node)
        need(total == self.value, "nothing is known of its other outputs")
        return [(value, self.narrowed(labels, value)) for value in added]

    def conv(self, labels):
        weight, *bias = self.node.ins[1:]
        shape, parts = self.graph.shape(weight), self.par("group groups", 99, 1)
        ranks = len(self.graph.shape(self.value) or shape or []) == len(shape or []) > 1 < labels.ndim
        need(ranks and labels.shape[1] == shape[0] and shape[0] % parts == 0, f"{weight} does not make the norm's channels")
        row = common_row(np.moveaxis(labels, 1, -1).reshape(-1, shape[0]), MIXED)
        split = np.where(row < 0, -1, row * parts + np.arange(shape[0]) // (shape[0] // parts))
        rest = np.arange(math.prod(shape[1:]))[:, None] * parts * shape[0]
        return [(weight, np.where(split < 0, -1, rest + split).T.reshape(shape))] + [(v, row) for v in bias if v]

    def gather(self, labels):
        shape, index = self.graph.shape(self.x), self.graph.ints.get(self.node.ins[1])
        if isinstance(index, int) and "aten" not in self.node.op:
            axis = self.axis(self.par("axis", 99, 0), labels.ndim + 1)
            return self.cut(np.expand_dims(labels, axis), axis, index)
        rows = shape and None not in shape and self.par("axis", 99, 0) == 0
        need(rows and labels.size % math.prod(shape[1:]) == 0, "it does not look up rows")
        return [(self.x, each(common_row(labels.reshape(-1, math.prod(shape[1:])), MIXED), shape[0]).reshape(shape))]

    def cut(self, labels, axis, start, step=1):
        """The labels of an operand of which these are a part."""
        shape, axis, total = list(labels.shape), self.axis(axis, labels.ndim), self.count(self.x)
        if None in (self.graph.shape(self.x) or [None]):
            need(start >= 0, f"the shape of {self.x} is not known")
            self.apart(labels, axis)
        shape[axis] = total * shape[axis] // labels.size
        start += shape[axis] if start < 0 else 0
        place = (slice(None),) * axis + (slice(start, start + (labels.shape[axis] - 1) * step + 1, step),)
        out = np.full(shape, -1)
        need(out.size == total and start >= 0 and out[place].shape == labels.shape, "the file does not say what it takes")
        out[place] = labels
        return [(self.x, out)]

    def select(self, labels):
        index = self.node.arg["index"] if "index" in self.node.arg else self.node.outs.index(self.value)
        axis = self.axis(self.par("dim", 99, 0), labels.ndim + 1)
        return self.cut(np.expand_dims(labels, axis), axis, index)

    def slice(self, labels):
        lists = [self.par(*item) for item in (("starts start", 1, 0), ("axes dim", 3, 0), ("steps step", 4, 1))]
        start, axis, step = (item[0] if isinstance(item, list) and len(item) == 1 else item for item in lists)
        need(isinstance(start, int) and isinstance(step, int) and step > 0, "it does not take one part")
        lead = labels.ndim - len(self.graph.shape(self.x) or labels.shape)
        if lead > 0 and math.prod(labels.shape[:lead]) == 1:  # the file does not say how many axes its output has
            labels = labels.reshape(labels.shape[lead:])
        end = self.graph.ints.get(self.node.ins[2]) if self.node.op == "Slice" else self.node.arg.get("end", 0)
        return self.cut(labels, axis, start, step) if end is not None else self.any_part(labels, axis)

    def any_part(self, labels, axis):
        """The labels of an operand of which these are a part whose end is computed: another run may take all of it."""
        axis = self.axis(axis, labels.ndim)
        self.apart(labels, axis)
        row = common_row(np.moveaxis(labels, axis, 0).reshape(labels.shape[axis], -1), "the file does not say which part it is")
        whole = each(row, self.count(self.x) // row.size).reshape(-1, *labels.shape[:axis], *labels.shape[axis + 1:])
        return [(self.x, np.moveaxis(whole, 0, axis))]

    def split(self, labels):
        axis, place = self.axis(self.par("axis dim", 99, 0), labels.ndim), self.node.outs.index(self.value)
        shapes = [self.graph.shape(out) for out in self.node.outs]
        sizes = self.par("split", 1) if self.node.op == "Split" else [shape and shape[axis] for shape in shapes]
        known = None not in sizes if sizes else self.count(self.x) == labels.size * len(shapes)
        need(known, "the file does not say where its parts begin")
        return self.cut(labels, axis, sum(sizes[:place]) if sizes else place * labels.shape[axis])

    def permute(self, labels):
        order = list(self.par("perm dims", 99, range(labels.ndim)[::-1]))
        if "dim0" in self.node.arg:
            a, b, order = self.node.arg["dim0"], self.node.arg["dim1"], list(range(labels.ndim))
            order[a], order[b] = order[b], order[a]
        order = [i % labels.ndim for i in order]
        need(labels.ndim > 1 and sorted(order) == list(range(labels.ndim)), "the file does not say which axes it moves")
        return [(self.x, labels.transpose(np.argsort(order)))]

    def unsqueeze(self, labels):
        axes = tuple(self.axis(int(i), labels.ndim) for i in np.atleast_1d(self.par("axes dim", 1)))
        need(all(labels.shape[i] == 1 for i in axes), "the file does not say which axes it adds")
        return [(self.x, labels.squeeze(axes))]

    def squeeze(self, labels):
        axes = np.atleast_1d(self.par("axes dim", 1, 0))
        need(self.par("axes dim", 1) is not None and labels.ndim > 1, "the file does not say which axes it removes")
        axes, shape = [self.axis(int(i), labels.ndim + len(axes)) for i in axes], self.graph.shape(self.x)
        ones = shape is None or len(shape) == labels.ndim + len(axes) and all(shape[i] == 1 for i in axes)
        need(ones, "it removes no axes of size 1")
        return [(self.x, np.expand_dims(labels, tuple(axes)))]

    def expand(self, labels):
        need(None not in (self.graph.shape(self.x) or [None]), f"the shape of {self.x} is not known")
        return [(self.x, self.narrowed(labels, self.x))]

    def reshape(self, labels):
        need(self.node.arg.get("dtype") is None, "it takes the bits for another type")
        shape, symbols = self.graph.shape(self.x), self.graph.symbols.get(self.x, [])
        goal = (self.graph.entries(self.node.ins[1]) if self.node.op == "Reshape" else self.graph.symbols.get(self.value)) or []
        kept = [n == (self.x, i) or n == 0 and not self.par("allowzero") or n in symbols[i:i + 1] for i, n in enumerate(goal)]
        head = (kept + [False]).index(False) if len(goal) == labels.ndim else 0
        made = self.graph.shape(self.value) or (goal if len(goal) == labels.ndim else [None] * labels.ndim)
        for i, n in list(enumerate(made))[head:] if labels.ndim > 1 else []:
            if not isinstance(n, int) or n < 1:
                self.apart(labels, i)
            else:
                need(n == labels.shape[i], f"it makes {n} channels of another number")
        if shape is None or shape.count(None) > 1:  # a convolution needs to know where its channels are, and no more
            shape = [*labels.shape[:head], None] if self.graph.maker(self.x)[1] == "conv" else [None]
        shape = [-1 if n is None else n for n in shape]
        known = math.prod(n for n in shape if n > 0)
        fits = known and labels.size % known == 0 and (-1 in shape or known == labels.size)
        need(fits, f"{self.x} has another number of elements")
        return [(self.x, labels.reshape(shape))]

    def concat(self, labels):
        axis = self.axis(self.par("axis dim", 99, 0), labels.ndim)
        if not set(self.node.ins) & set(self.hints):
            return self.joint(labels, axis)
        if any(None in (self.graph.shape(v) or [None]) for v in self.node.ins):
            self.apart(labels, axis)
        sizes = [self.count(v) * labels.shape[axis] // labels.size for v in self.node.ins]
        need(sum(sizes) == labels.shape[axis], "the file does not say where its parts begin")
        parts = np.split(labels, np.cumsum(sizes)[:-1], axis)
        return [(v, part) for v, part in zip(self.node.ins, parts) if (part >= 0).any()]

    def joint(self, labels, axis):
        """Linear layers of one input, joined along the norm's axis, are one layer: their columns have one mean."""
        linears = [self.graph.linear_of(v) for v in self.node.ins]
        need(axis == labels.ndim - 1 and len({x for x, *_ in linears}) == 1, "its parts are not linear layers of one input")
        row, needs = common_row(labels.reshape(-1, labels.shape[-1]), MIXED), []
        parts = np.split(row, np.cumsum([self.graph.shape(w)[0 if turned else 1] for _, w, turned, _ in linears])[:-1])
        for place in (1, 3):
            names = [linear[place] for linear in linears if linear[place]]
            need(all(n in self.graph.tensors for n in names) and len(names) in (0, len(parts)), "its weights are no constants")
            rows = np.arange(self.count(names[0]) // parts[0].size if names else 0)[:, None] * row.size
            at = [np.where(part < 0, -1, rows + part) for part in parts[:len(names)]]
            at = [part.T if turned and place == 1 else part for part, (_, _, turned, _) in zip(at, linears)]
            if names:
                check_means(", ".join(names), [self.graph.tensors[n] for n in names], at)
            needs += [(n, part, "joint") for n, part in zip(names, at)]
        return needs
