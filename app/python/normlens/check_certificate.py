"""Checks the certificate of a fold against the folded file. It shares no code with what wrote either of them.

    python -m normlens.check_certificate FOLDED CERTIFICATE

A certificate claims of each folded norm that its input is zero-mean, and names the values that this rests on. Every step
is derived again from the graph of the file (.onnx, .pt2), and every mean of a weight from its bytes. Exit code 0: all
norms hold; 1: one is refused; 2: wrong usage; 3: a file cannot be read. The wiring of a .pt file is source text, which is
not checked.
"""

import hashlib
import io
import math
import mmap
import pathlib
import pickle
import sys
from collections import Counter, namedtuple

import numpy as np

if __package__:
    from .certificate_rules import Rules, check_means, claimed_groups, labels_of, length_of
    from .certified_file import STORAGES, Archive, Graph, OnnxGraph, Pt2Graph, Refused, Tensor, Unreadable, few, need, structure
else:
    from certificate_rules import Rules, check_means, claimed_groups, labels_of, length_of
    from certified_file import STORAGES, Archive, Graph, OnnxGraph, Pt2Graph, Refused, Tensor, Unreadable, few, need, structure


Record = namedtuple("Record", "name kind")
LEFT_OUT = {pickle.EMPTY_SET, pickle.ADDITEMS, pickle.FROZENSET, pickle.BYTEARRAY8, pickle.DICT}  # of a pickle's instructions


class Stub:
    """Takes the place of every class that a pickle names; none is ever looked up."""

    def __init__(self, *_):
        self.state = None

    def __setstate__(self, state):
        self.state = state


class Names(dict):
    """Is filled by a pickle. The hash of a tuple in itself, many times over, would take for ever."""

    def __setitem__(self, key, value):
        need(type(key) in (str, int), "a dictionary has other keys than names", Unreadable)
        super().__setitem__(key, value)


class TensorPickle(pickle._Unpickler):
    """The tensors of a TorchScript archive, by name. The unpickler in C makes as much room as a number in the file says, and
    so do those of its instructions that LibTorch does not write and that are left out here."""

    dispatch = {code: load for code, load in pickle._Unpickler.dispatch.items() if bytes([code]) not in LEFT_OUT}

    def __init__(self, archive):
        super().__init__(io.BytesIO(archive.read("data.pkl", plain=True)))
        self.archive = archive

    def load_empty_dictionary(self):
        self.append(Names())

    dispatch[pickle.EMPTY_DICT[0]] = load_empty_dictionary

    def find_class(self, module, name):
        return self.rebuild if name == "_rebuild_tensor_v2" else STORAGES.get(name[:-7]) if name.endswith("Storage") else Stub

    def persistent_load(self, key):
        kind, name = key[1:3]
        need(isinstance(name, str), "a tensor's record has no name", Unreadable)
        return Record(name, kind if isinstance(kind, str) else None)

    def rebuild(self, storage, offset, sizes, strides, *_):
        need(isinstance(storage, Record), "a tensor is in no record", Unreadable)
        return self.archive.tensor(f"data/{storage.name}", storage.kind, list(sizes), list(strides), offset)

    def tensors(self):
        found, waiting, seen = {}, [("", self.load())], set()
        while waiting:
            name, item = waiting.pop()
            item = getattr(item, "state", None) if isinstance(item, Stub) else item
            if isinstance(item, Tensor):
                found[name] = item
            elif isinstance(item, dict) and id(item) not in seen:
                seen.add(id(item))
                waiting += [(f"{name}.{key}".lstrip("."), value) for key, value in item.items()]
        return found


def mapped(path):
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def opened(path, cert):
    """The graph of the file that a certificate is for, or the tensors of a .pt file; all files as they were hashed."""
    data, files = mapped(path), {}
    need(hashlib.sha256(data).hexdigest() == cert["sha256"], f"{path.name} is not the file that was certified")
    for item in cert.get("data") or []:
        name, other = item["name"], path.parent / item["name"]
        inside = pathlib.PurePath(name).name == name and other.resolve().parent == path.parent.resolve()
        need(inside, f"the data file {name} lies outside the folder", Unreadable)
        files[name] = mapped(other)
        need(hashlib.sha256(files[name]).hexdigest() == item["sha256"], f"{name} is not the file that was certified")
    archive = Archive(path) if bytes(data[:2]) == b"PK" else None
    kind = "onnx" if archive is None else "pt2" if "archive_format" in archive.records else "torchscript"
    need(cert["format"] == kind, f"the file is {kind}, and the certificate says {cert['format']}")
    return OnnxGraph(data, files) if kind == "onnx" else Pt2Graph(archive) if kind == "pt2" else TensorPickle(archive).tensors()


def check_norm(graph, norm, claims, listed, done):
    value, shape = norm["input"], few(norm["shape"])
    need(value in graph.made or value in graph.tensors or value in graph.inputs, f"the file holds no value {value}")
    declared = graph.shapes.get(value) or [None] * len(shape)
    fits = len(declared) == len(shape) and all(a in (None, b) for a, b in zip(declared, shape))
    need(fits, f"{value} is not of the shape {shape}")
    axes, (reads, others) = sorted(i % len(shape) for i in norm["axes"]), graph.norm_reads(len(shape))
    size = math.prod(shape[i] for i in axes)
    alike = {value} | {out for node in graph.nodes if node.rule == "cast" and node.ins[0] == value for out in node.outs}
    fit = sum(read in alike and over == axes and held in (None, 1, size) for read, over, held in reads)
    need(fit or not others & alike, f"a LayerNorm, which subtracts the mean, reads {value}")
    need(fit, f"no RMS norm over the axes {axes}, of {size} numbers, reads {value}")
    need(fit >= listed[value], f"{listed[value]} norms that read {value} are listed, and the file has {fit}")
    need(math.prod(shape) <= 1 << 24, f"{value} is too long")
    start = labels_of([(n, 0, n, i in axes) for i, n in enumerate(shape)]).reshape(shape)
    waiting = [(norm["claim"], value, start)]
    while waiting:
        index, value, labels = waiting.pop()
        key = (index, value, labels.shape, hashlib.sha256(np.ascontiguousarray(labels)).digest())
        if key not in done:
            done.add(key)
            waiting += check_claim(graph, claims, index, value, labels)


def check_claim(graph, claims, index, value, labels, joint=False):
    """Checks one claim, and returns what it rests on: [(claim, value, labels)]."""
    claim = claims[index]
    labels = claimed_groups(claim["pattern"], labels)
    need(labels is not None, f"{value} has to be zero-mean over other groups than claim {index} says")
    need(value not in graph.inputs, f"{value} is an input of the model, which a caller may set")
    if value in graph.tensors:
        constant, tensor = claim["kind"] in ("constant", "joint", "proven"), claim.get("tensor", value)
        need(constant and not claim["needs"], f"{value} is a constant, and claim {index} says {claim['kind']}")
        need(tensor in (value, graph.names.get(value)), f"claim {index} names the tensor {tensor}, and {value} is read")
        if not joint:
            check_means(value, [graph.tensors[value]], [labels])
        return []
    node = graph.made.get(value)
    need(node, f"the file holds no value {value}")
    need(claim.get("op", node.op) == node.op, f"{value} is made by {node.op}, and claim {index} says {claim.get('op')}")
    need(claim.get("node", value) == value, f"claim {index} names the node of {claim.get('node')} for {value}")
    named = {claims[i]["value"]: i for i in claim["needs"]}
    hints = {v: length_of(claims[i]["pattern"]) for v, i in named.items()}
    needs = [seen_through(graph, *each, named=named, hints=hints) for each in derived(graph, value, labels, hints)]
    out = []
    for operand, part, *together in needs:
        need(isinstance(operand, str) or operand == 0, f"{value}: {node.op} adds the number {operand}")
        if operand in graph.tensors and operand not in named and not graph.tensors[operand].read().any():
            continue
        need(operand in named, f"{value}: {node.op} rests on {operand}, which claim {index} does not need")
        if together:
            check_claim(graph, claims, named[operand], operand, part, True)
        else:
            out.append((named[operand], operand, part))
    extra = set(named) - {v for v, *_ in needs}
    need(not extra, f"{value}: claim {index} needs {min(extra, default='')}, on which {node.op} does not rest")
    need(not needs or claim["kind"] != "proven", f"{value}: claim {index} says proven, and {node.op} rests on its operands")
    return out


def derived(graph, value, labels, hints):
    node = graph.made[value]
    rule = (node.rule or "-").lstrip("-")
    need(rule and hasattr(Rules, rule), f"{value}: there is no rule for {node.op}")
    first = value == node.outs[0] or node.rule in ("split", "select", "skip")
    need(first, f"{value}: there is no rule for this output of {node.op}")
    try:
        return getattr(Rules(graph, node, value, hints), rule)(labels)
    except Refused as error:
        raise Refused(f"{value}: {node.op} does not keep it zero-mean: {error}") from None


def seen_through(graph, value, labels, *joint, named, hints):
    """A value on which a claim rests, or the one behind it if the certificate leaves out what has the same numbers."""
    while value not in named and graph.maker(value)[1] in ("same", "cast", "dropout"):
        value, labels = derived(graph, value, labels, hints)[0]
    return value, labels, *joint


def check_order(claims):
    """Refuses claims that rest on each other in a circle."""
    left = {i: set(claim["needs"]) for i, claim in enumerate(claims)}
    need(all(0 <= i < len(claims) for needs in left.values() for i in needs), "a claim needs one that is not there")
    readers, ready = {}, [i for i, needs in left.items() if not needs]
    for i, needs in left.items():
        for other in needs:
            readers.setdefault(other, []).append(i)
    for i in ready:
        for reader in readers.get(i, []):
            left[reader].discard(i)
            ready += [] if left[reader] else [reader]
    need(len(ready) == len(claims), "the claims rest on each other in a circle")


def check_tensors(found, claims, index):
    """Checks the constants that a claim rests on, without the wiring."""
    waiting, seen = [index], set()
    while waiting:
        claim = claims[waiting.pop()]
        need(claim["needs"] or claim["kind"] != "derived", f"{claim['value']} is derived from nothing")
        waiting += [i for i in claim["needs"] if i not in seen]
        seen.update(claim["needs"])
        together = {}
        constants = [claims[i] for i in claim["needs"] if claims[i]["kind"] == "joint"]
        for one in constants + ([claim] if claim["kind"] == "constant" else []):
            need(one["tensor"] in found, f"the file holds no tensor {one['tensor']}")
            together.setdefault(len(found[one["tensor"]].dims), []).append(one)
        for part in together.values():
            for one in part:
                tensor, length = found[one["tensor"]], length_of(one["pattern"])
                need(tensor.kind and math.prod(tensor.dims) == length, f"{one['tensor']} does not fit its pattern")
            names = [one["tensor"] for one in part]
            check_means(", ".join(names), [found[name] for name in names], [labels_of(one["pattern"]) for one in part])


def check(path, certificate):
    cert = structure(pathlib.Path(certificate).read_bytes())
    need(cert["certificate"] == 1, f"version {cert['certificate']} of certificates is not known", Unreadable)
    graph, claims = opened(pathlib.Path(path), cert), cert["claims"]
    need(cert["norms"], "it is of no norm")
    check_order(claims)
    if isinstance(graph, Graph):
        own = {name: value for value, name in graph.names.items()}  # a .pt2 calls a parameter by two names
        claims = [claim if claim["value"] in graph.tensors else {**claim, "value": own.get(claim["value"], claim["value"])} for claim in claims]
    listed, done = Counter(norm["input"] for norm in cert["norms"]), set()
    for norm in cert["norms"]:
        try:
            need(0 <= norm["claim"] < len(claims), f"there is no claim {norm['claim']}")
            if isinstance(graph, Graph):
                check_norm(graph, norm, claims, listed, done)
            else:
                check_tensors(graph, claims, norm["claim"])
        except Refused as error:
            raise Refused(f"norm {norm['name']}: {error}") from None
    return f"{len(cert['norms'])} norms hold" + ("" if isinstance(graph, Graph) else "; wiring not checked")


def line(words):
    """Names in a stranger's file may hold control characters."""
    return "".join(one if one.isprintable() else "?" for one in str(words))


def main(arguments):
    if len(arguments) != 2:
        print("usage: python -m normlens.check_certificate FOLDED CERTIFICATE", file=sys.stderr)
        return 2
    try:
        print(line(check(*arguments)))
        return 0
    except Refused as error:
        print(line(f"refused: {error}"))
        return 1
    except (Unreadable, OSError) as error:
        print(line(f"not read: {error}"))
    except Exception as error:  # noqa: BLE001 - a damaged file may fail anywhere
        print(line(f"not read: the file or the certificate is damaged ({type(error).__name__}: {error})"))
    return 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
