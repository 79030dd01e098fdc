"""The centerings that a fold tells are the centerings of the file, each one op: read back by torch and by onnx.

A centering is `mean(x)` over axes that stay, and then `x - mean`. A LayerNorm in pieces has that, too, and loses it when
it is folded: what the original has is taken off. RMSNorm has none, in whatever flavour.
"""

import itertools
import pathlib
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

import onnx
import onnx.inliner
import torch
from samples import MODELS, REPOSITORY, base, engine

FLAVOURS = {".pt": ("portable", "fast", "primitives"), ".onnx": ("portable", "standard", "ort", "primitives")}


def torch_nodes(block):
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from torch_nodes(inner)


def centerings_of_torch(path):
    found = 0
    for node in torch_nodes(torch.jit.load(path, map_location="cpu").inlined_graph):
        if node.kind() not in ("aten::sub", "aten::sub_"):
            continue
        x, mean = list(node.inputs())[:2]
        maker = mean.node()
        found += maker.kind() == "aten::mean" and list(maker.inputs())[0].debugName() == x.debugName()
    return found


def onnx_nodes(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from onnx_nodes(attribute.g)


def centerings_of_onnx(path):
    model = onnx.inliner.inline_local_functions(onnx.load(path, load_external_data=False))
    nodes = list(onnx_nodes(model.graph))
    mean_of = {node.output[0]: node.input[0] for node in nodes if node.op_type == "ReduceMean"}
    return sum(node.op_type == "Sub" and mean_of.get(node.input[1]) == node.input[0] for node in nodes)


def centerings_of(path):
    return centerings_of_torch(str(path)) if path.suffix == ".pt" else centerings_of_onnx(str(path))


def lost_with_pieces(had, norms):
    """Of the original's: those of the LayerNorms in pieces that are folded. None: not to be told from others."""
    pieces = [norm for norm in norms if norm["form"] == "decomposed"]
    each, rest = divmod(had, len(pieces)) if pieces else (0, 0)
    if pieces and (rest or each != 1):
        return None
    return each * sum(norm["state"] != "kept" for norm in pieces)


def judge(case):
    """-> (what was folded, told, found); found None where the file does not tell."""
    path, policy, flavour = case
    inputs = path.parent / f"{base(path)}.inputs.npz"
    given = ("--inputs", inputs) if inputs.exists() else ()
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / f"out{path.suffix}"
        status, result, errors = engine(
            "fold", path, "-o", out, *given, "--policy", policy, "--norm", flavour, "--no-verify", "--force"
        )
        name = f"{path.name} {policy} {flavour}"
        if status != 0 or result["output"] is None:
            return name, None, errors
        had, has = centerings_of(path), centerings_of(out)
        lost = lost_with_pieces(had, result["norms"])
        counted = sum(norm["state"] == "folded_with_centering" for norm in result["norms"])
        assert counted <= result["centerings"] and (counted > 0) == (result["centerings"] > 0), name
        return name, result["centerings"], None if lost is None else has - had + lost


def demo_cases():
    for path in sorted((REPOSITORY / "resources" / "models").glob("*.pt")):
        for policy, flavour in itertools.product(("balanced", "all"), FLAVOURS[".pt"]):
            yield path, policy, flavour


def sample_cases(every):
    """Policy all has the most centerings; flavours in turn, so that each meets each kind of model."""
    paths = [p for suffix in FLAVOURS for p in sorted((MODELS / "visible").glob("*" + suffix))]
    if every:
        yield from ((p, policy, f) for p in paths for policy in ("all", "balanced", "free") for f in FLAVOURS[p.suffix])
        return
    for at, path in enumerate(paths[::4]):
        flavours = FLAVOURS[path.suffix]
        yield path, "all", flavours[at % len(flavours)]


class Centerings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.ops.load_library(engine("doctor")[1]["ops_library"])

    def check(self, cases, least):
        judged = 0
        with ThreadPoolExecutor(2) as pool:
            for name, told, found in pool.map(judge, cases):
                if told is None or found is None:
                    continue
                with self.subTest(name):
                    self.assertEqual(told, found)
                judged += told > 0
        self.assertGreaterEqual(judged, least)

    def test_of_the_demo_models(self):
        self.check(demo_cases(), 3)

    @unittest.skipUnless((MODELS / "visible").is_dir(), "the shared sample models are not here")
    def test_of_the_samples(self):
        self.check(sample_cases("--every" in sys.argv), 8)
