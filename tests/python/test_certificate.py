"""check_certificate.py accepts the certificates of folds, and refuses each that is broken, with the reason.

    run_tests.py test_certificate.py ENGINE
"""

import contextlib
import copy
import io
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import warnings
import zipfile

import package

package.need_torch()

try:
    import onnx
    import onnx.reference
except ImportError:
    print("skipped: this Python has no onnx")
    sys.exit(package.SKIPPED)

import numpy as np
import torch
from onnx import helper, numpy_helper
from torch import nn

import certificates
from normlens import check_certificate
from normlens.atlas.models import settled

CHECKER = pathlib.Path(check_certificate.__file__)
WIDTH = 16


class Text(nn.Module):
    """A residual stream of an embedding, positions and linear layers, two of them joined."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(40, WIDTH), nn.Embedding(10, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.square, self.up, self.down = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 24), nn.Linear(24, WIDTH, bias=False)
        self.head, self.drop = nn.Linear(WIDTH, 7), nn.Dropout(0.1)

    def forward(self, ids):
        x = self.drop(self.words(ids) + self.places(torch.arange(ids.shape[1])))
        x = x + self.square(torch.tanh(self.norms[0](x)))
        x = x + self.down(torch.relu(self.up(self.norms[1](x)))) * 0.5
        return self.head(self.norms[2](x))


class Image(nn.Module):
    """As ConvNeXt: channels first and last."""

    def __init__(self):
        super().__init__()
        self.stem, self.point = nn.Conv2d(3, WIDTH, 4, 4), nn.Conv2d(WIDTH, WIDTH, 1)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.head = nn.Linear(WIDTH, 5)

    def forward(self, image):
        x = self.norms[0](self.stem(image).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        x = self.norms[1](self.point(torch.tanh(x)).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return self.head(self.norms[2](self.point(torch.relu(x)).flatten(2).transpose(1, 2)).mean(1))


class Encoder(nn.Module):
    """As ViT: patches, a class token and positions; two norms of a value that only a centering makes zero-mean."""

    def __init__(self):
        super().__init__()
        self.patch, self.token = nn.Conv2d(3, WIDTH, 4, 4), nn.Parameter(torch.randn(1, 1, WIDTH))
        self.place = nn.Parameter(torch.randn(1, 5, WIDTH))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(4))
        self.mix, self.head = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 5)

    def forward(self, image):
        x = torch.cat([self.token.expand(image.shape[0], -1, -1), self.patch(image).flatten(2).transpose(1, 2)], 1) + self.place
        x = x + self.mix(torch.tanh(self.norms[0](x)))
        y = torch.relu(self.mix(self.norms[1](x)))
        return self.head(self.norms[2](y) + self.norms[3](2 * y))


class Places(nn.Module):
    """As much of a table of positions as the input is long; a weight that lies turned; norms that are written out."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(40, WIDTH), nn.Parameter(torch.randn(10, WIDTH))
        self.turned = nn.Parameter(torch.randn(WIDTH, WIDTH))
        self.head = nn.Linear(WIDTH, 7)

    def forward(self, ids):
        x = self.words(ids) + self.places[:ids.shape[1]]
        centered = x - x.mean(-1, keepdim=True)
        x = x + torch.tanh(centered * (1e-5 + centered.pow(2).mean(-1, keepdim=True)).pow(-0.5)) @ self.turned.t()
        centered = x - x.mean(-1, keepdim=True)
        return self.head(centered / torch.sqrt(1e-5 + centered.pow(2).mean(-1, keepdim=True)))


class Rows(nn.Module):
    """Rows of features: a Gemm in ONNX, an addmm or linear in torch."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.head = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3)

    def forward(self, x):
        return self.head(self.norm(self.first(x)))


class Joined(nn.Module):
    """Two linear layers of one input, whose outputs are joined along the norm's axis."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.norm, self.head = nn.Linear(6, 10), nn.Linear(6, 6), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3)

    def forward(self, x):
        return self.head(self.norm(torch.cat([self.a(x), self.b(x)], -1)))


EXAMPLES = {Text: torch.arange(12).reshape(2, 6), Places: torch.arange(12).reshape(2, 6), Image: torch.randn(2, 3, 16, 16), Encoder: torch.randn(2, 3, 8, 8),
            Rows: torch.randn(4, WIDTH), Joined: torch.randn(2, 5, 6)}
FORMATS = ("onnx", "dynamo.onnx", "pt2", "pt")


def fold(folder, model, form, *options):
    """The folded file, of new weights."""
    torch.manual_seed(3)
    module, example = settled(model()).eval(), (EXAMPLES[model],)
    source, target = folder / f"source.{form}", folder / f"folded.{form}"
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        if form == "pt2":
            torch.export.save(torch.export.export(module, example), source)
        elif form == "pt":
            torch.jit.trace(module, example).save(source)
        elif form == "onnx":
            torch.onnx.export(module, example, source, dynamo=False, input_names=["in"], dynamic_axes={"in": {0: "batch", **({1: "length"} if model is Places else {})}})
        else:
            torch.onnx.export(module, example, source, dynamo=True, input_names=["in"])
    call = [package.ENGINE, "fold", source, "-o", target, "--quiet", "--policy", "all", *options]
    subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
    return target


def run(folded, certificate):
    """(exit code, what is printed)"""
    path = folded.with_suffix(".json")
    path.write_text(certificate if isinstance(certificate, str) else json.dumps(certificate))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = check_certificate.main([folded, path])
    return code, out.getvalue().strip()


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def assert_holds(self, folded, certificate, text="norms hold"):
        code, out = run(folded, certificate)
        self.assertEqual(code, 0, out)
        self.assertIn(text, out)

    def assert_refused(self, folded, certificate, text, code=1):
        found, out = run(folded, certificate)
        self.assertEqual(found, code, out)
        self.assertRegex(out, text)
        self.assertEqual(len(out.splitlines()), 1)


class Holds(Folder):
    def test_folds_of_every_format(self):
        for model, norms in ((Text, 3), (Image, 3), (Encoder, 4), (Rows, 1), (Joined, 1)):
            for form in FORMATS[:3]:
                with self.subTest(model=model.__name__, form=form):
                    folder = self.folder / f"{model.__name__}.{form}"
                    folder.mkdir()
                    folded = fold(folder, model, form)
                    certificate = certificates.certificate(folded, {"in": EXAMPLES[model].shape})
                    self.assertEqual(len(certificate["norms"]), norms)
                    self.assert_holds(folded, certificate)

    def test_norms_in_primitives_and_of_a_runtime(self):
        for style, form in (("primitives", "onnx"), ("primitives", "pt2"), ("fast", "pt2"), ("fast", "onnx")):
            with self.subTest(style=style, form=form):
                folder = self.folder / f"{style}.{form}"
                folder.mkdir()
                shapes = None
                if (style, form) == ("fast", "onnx"):  # operators that only the runtime has: the values have their shapes without them
                    shapes = certificates.OnnxFile(fold(folder, Text, form), {"in": EXAMPLES[Text].shape}, None).shapes
                folded = fold(folder, Text, form, "--norm", style)
                certificate = certificates.certificate(folded, {"in": EXAMPLES[Text].shape}, shapes)
                # The last sum is read by its norm alone, and no output of the runtime's operator: it has no name.
                self.assertEqual(len(certificate["norms"]), 2 if (style, form) == ("fast", "onnx") else 3)
                self.assert_holds(folded, certificate)

    def test_half_types(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float64):
            with self.subTest(dtype=dtype):
                module, x = settled(Rows()).to(dtype).eval(), EXAMPLES[Rows].to(dtype)
                with torch.no_grad():
                    for part in (module.first.weight, module.first.bias):
                        part -= part.double().mean(0).to(dtype)
                module.norm = nn.RMSNorm(WIDTH, dtype=dtype)
                folded = self.folder / "folded.pt2"
                torch.export.save(torch.export.export(module, (x,)), folded)
                certificate = certificates.certificate(folded, {})
                self.assert_holds(folded, certificate)
                with torch.no_grad():
                    module.first.weight[:, 3] += 0.5
                torch.export.save(torch.export.export(module, (x,)), folded)
                self.assert_refused(folded, certificates.signed(folded, certificate), "p_first_weight is not centered")

    def test_a_norm_per_head_of_one_third_of_a_linear(self):
        class Heads(nn.Module):
            def __init__(self):
                super().__init__()
                self.all, self.norm = nn.Linear(6, 24), nn.RMSNorm(4)

            def forward(self, x):
                first, second, _ = self.all(x).view(2, 5, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
                return self.norm(second) + first

        module = Heads().eval()
        with torch.no_grad():
            for part in (module.all.weight.view(3, 2, 4, 6), module.all.bias.view(3, 2, 4, 1)):
                part[1] -= part[1].mean(1, keepdim=True)
        folded = self.folder / "folded.pt2"
        torch.export.save(torch.export.export(module, (torch.randn(2, 5, 6),)), folded)
        last, linear = [4, 0, 4, True], [[10, 0, 10, False], [6, 2, 4, False], [4, 0, 4, True]]
        claims = [("getitem_1", "aten.unbind.int", [[20, 0, 20, False], last], [1]),
                  ("permute", "aten.permute.default", [[60, 20, 40, False], last], [2]),
                  ("view", "aten.view.default", linear, [3]), ("linear", "aten.linear.default", linear, [4, 5]),
                  ("p_all_weight", None, [[6, 2, 4, False], last, [6, 0, 6, False]], []),
                  ("p_all_bias", None, [[6, 2, 4, False], last], [])]
        certificate = {"certificate": 1, "file": folded.name, "format": "pt2", "data": [], "claims": [
            {"value": value, "pattern": pattern, "needs": needs, "kind": "derived" if needs else "constant"} | ({"op": op} if op else {})
            for value, op, pattern, needs in claims]}
        certificate["norms"] = [{"name": "norm", "input": "getitem_1", "axes": [3], "shape": [2, 2, 5, 4], "claim": 0}]
        self.assert_holds(folded, certificates.signed(folded, certificate))
        for claim in certificate["claims"][2:]:
            claim["pattern"][-2 if claim["value"] != "p_all_weight" else 0][1:3] = [0, 2]
        self.assert_refused(folded, certificate, "view has to be zero-mean over other groups")

    def test_no_wiring_of_torchscript(self):
        folded = fold(self.folder, Rows, "pt")
        names = {"first.weight": [[WIDTH, 0, WIDTH, True], [WIDTH, 0, WIDTH, False]], "first.bias": [[WIDTH, 0, WIDTH, True]]}
        claims = [{"value": "x", "pattern": [[4, 0, 4, False], [WIDTH, 0, WIDTH, True]], "kind": "derived", "needs": [1, 2]}]
        claims += [{"value": name, "tensor": name, "pattern": pattern, "kind": "constant", "needs": []} for name, pattern in names.items()]
        norm = {"name": "norm", "input": "x", "axes": [1], "shape": [4, WIDTH], "claim": 0}
        certificate = certificates.signed(folded, {"certificate": 1, "format": "torchscript", "norms": [norm], "claims": claims, "data": []})
        self.assert_holds(folded, certificate, "wiring not checked")
        broken = copy.deepcopy(certificate)
        broken["claims"][1]["pattern"].reverse()
        self.assert_refused(folded, broken, "norm norm: first.weight is not centered")
        self.assert_refused(folded, {**certificate, "claims": [{**claims[0], "needs": []}]}, "x is derived from nothing")
        broken["claims"][1]["tensor"] = "second.weight"
        self.assert_refused(folded, broken, "holds no tensor second.weight")

    def test_as_a_program(self):
        folded = fold(self.folder, Rows, "onnx")
        certificate = certificates.certificate(folded, {"in": EXAMPLES[Rows].shape})
        folded.with_suffix(".json").write_text(json.dumps(certificate))
        files = [folded, folded.with_suffix(".json")]
        for call, code in (([CHECKER, *files], 0), (["-m", "normlens.check_certificate", *files], 0), ([CHECKER], 2), ([CHECKER, "none", "none"], 3)):
            done = subprocess.run([sys.executable, *call], capture_output=True, text=True, cwd=package.ROOT / "app" / "python")
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for name in ("check_certificate.py", "certificate_rules.py", "certified_file.py"):
            text = CHECKER.with_name(name).read_text()
            self.assertLessEqual(len(text.splitlines()), 400)
            for other in ("torch", "onnx", "google", "safetensors"):
                self.assertNotRegex(text, rf"(?m)^\s*(import|from) {other}\b")


class Broken(Folder):
    """Each test breaks a certificate that holds, or the file that it is for, in one way."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.made, cls.shapes = {}, {}
        for model, form in ((Text, "onnx"), (Encoder, "onnx"), (Rows, "onnx"), (Joined, "onnx"), (Text, "dynamo.onnx"), (Text, "pt2")):
            path = pathlib.Path(folder.name) / f"{model.__name__}.{form}"
            path.mkdir()
            folded = fold(path, model, form, *(("--norm", "standard") if "onnx" in form else ()))
            cls.made[model, form] = (folded, certificates.certificate(folded, {"in": EXAMPLES[model].shape}))
            if form == "onnx":
                cls.shapes[model] = certificates.OnnxFile(folded, {"in": EXAMPLES[model].shape}, None).shapes

    def copied(self, model=Text, form="onnx"):
        folded, certificate = self.made[model, form]
        for path in folded.parent.iterdir():
            shutil.copy(path, self.folder)
        return self.folder / folded.name, copy.deepcopy(certificate)

    def refused(self, text, change=None, model=Text, claim=None, again=False, norm=None):
        """Changes the ONNX model, a claim (by its value) or the first norm; again: the changed file is certified anew."""
        folded, certificate = self.copied(model)
        if change:
            loaded = onnx.load(folded)
            change(loaded.graph)
            onnx.save(loaded, folded)
            shapes = {**self.shapes[model], "inner": [2, 6, WIDTH], "bent": [2, 6, WIDTH]}
            certificate = certificates.certificate(folded, {}, shapes) if again else certificates.signed(folded, certificate)
        for value, fields in (claim or {}).items():
            one = next(c for c in certificate["claims"] if c["value"] == value)
            one |= fields(one, certificate["claims"]) if callable(fields) else fields
        certificate["norms"][0] |= norm or {}
        self.assert_refused(folded, certificate, text)

    # What a weight holds.

    def weight(self, like):
        """The name of the first constant of a claim that starts so, and has two axes or one."""
        return next(c["value"] for c in self.made[Text, "onnx"][1]["claims"] if c["kind"] == "constant" and like in c["value"])

    def test_weights(self):
        def all_off(w):
            w += 0.01

        def one_off(w):
            w.reshape(-1)[5] += 1e-3

        def row_off(w):
            w[3] += 1e-4

        def not_a_number(w):
            w.reshape(-1)[7] = np.nan

        for name, edit, text in (("MatMul", all_off, "is not centered"), ("MatMul", one_off, "group 0 has a mean of"),
                                 ("square.bias", one_off, "square.bias is not centered"), ("words.weight", row_off, "group 3 has a mean of"),
                                 ("places.weight", row_off, "places.weight is not centered"), ("MatMul", not_a_number, "not finite")):
            with self.subTest(name=name, edit=edit.__name__):
                def change(graph):
                    tensor = next(t for t in graph.initializer if t.name == self.weight(name))
                    array = numpy_helper.to_array(tensor).copy()
                    edit(array)
                    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))

                self.refused(text, change)

    def test_a_row_that_only_longer_inputs_read(self):
        folded = fold(self.folder, Places, "onnx", "--certificate", self.folder / "written.json")
        certificate = json.loads((self.folder / "written.json").read_text())
        self.assert_holds(folded, certificate, "2 norms hold")
        loaded = onnx.load(folded)
        tensor = next(t for t in loaded.graph.initializer if list(t.dims) == [10, WIDTH])
        array = numpy_helper.to_array(tensor).copy()
        array[9] += 1
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
        onnx.save(loaded, folded)
        self.assert_refused(folded, certificates.signed(folded, certificate), "group 9 has a mean of")
        for claim in certificate["claims"]:  # of the rows that the example reads
            if claim["value"] == tensor.name:
                claim["pattern"] = [[10, 0, 6, False], [WIDTH, 0, WIDTH, True]]
        self.assert_refused(folded, certificate, "over other groups")

    def test_bytes_changed_after_the_hash(self):
        folded, certificate = self.copied()
        data = bytearray(folded.read_bytes())
        data[len(data) // 2] ^= 1
        folded.write_bytes(data)
        self.assert_refused(folded, certificate, "not the file that was certified")

    def test_external_data(self):
        folded, certificate = self.copied(Text, "dynamo.onnx")
        data = folded.with_name(certificate["data"][0]["name"])
        data.write_bytes(data.read_bytes()[:100])
        self.assert_refused(folded, certificate, "not the file that was certified")
        self.assert_refused(folded, certificates.signed(folded, certificate), "cannot be read: its data is cut short")
        self.assert_refused(folded, {**certificate, "data": []}, "its data file is not in the certificate's list")
        outside = {"name": "../folded.dynamo.onnx.data", "sha256": ""}
        self.assert_refused(folded, {**certificate, "data": [outside]}, "lies outside the folder", 3)

    # What the certificate says.

    def test_another_tensor(self):
        self.refused("names the tensor places.weight, and words.weight is read", claim={"words.weight": {"tensor": "places.weight"}})

    def test_another_value(self):
        self.refused("rests on words.weight, which claim", claim={"words.weight": {"value": "places.weight", "tensor": "places.weight"}})

    def test_patterns(self):
        wide = [[12, 0, 12, False], [WIDTH, 0, WIDTH, True]]
        values = self.made[Text, "onnx"][1]["norms"][0]["input"]
        for value, pattern in (("words.weight", [[40, 0, 40, True], [WIDTH, 0, WIDTH, False]]),
                               ("words.weight", [[40, 0, 40, False], [WIDTH, 0, WIDTH // 2, True]]),
                               (values, [[12, 0, 12, True], [WIDTH, 0, WIDTH, False]]), (values, [*wide[:1], [WIDTH, 0, 8, True]]),
                               (values, [[12, 0, 6, False], *wide[1:]]), (values, [[24, 0, 24, False], [8, 0, 8, True]]), (values, [])):
            with self.subTest(value=value, pattern=pattern):
                self.refused("has to be zero-mean over other groups", claim={value: {"pattern": pattern}})
        self.refused("empty factor", claim={values: {"pattern": [[12, 3, 3, False], [WIDTH, 0, WIDTH, True]]}})

    def test_kinds_and_needs(self):
        top = self.made[Text, "onnx"][1]["norms"][2]["input"]
        self.refused("which claim .* does not need", claim={top: {"kind": "proven", "needs": []}})
        self.refused("says proven", claim={top: {"kind": "proven"}})
        self.refused("is a constant", claim={"words.weight": {"kind": "derived"}})
        self.refused("in a circle", claim={"words.weight": lambda one, claims: {"needs": [0]}})
        self.refused("one that is not there", claim={"words.weight": {"needs": [99]}})
        self.refused("made by Add, and claim .* says MatMul", claim={top: {"op": "MatMul"}})
        self.refused("on which Add does not rest", claim={top: lambda one, claims: {
            "needs": one["needs"] + [next(i for i, c in enumerate(claims) if c["value"] == "words.weight")]}})

    def test_norms(self):
        first, third = (self.made[Text, "onnx"][1]["norms"][i]["input"] for i in (0, 2))
        self.refused("the file holds no value renamed", norm={"input": "renamed"})
        self.refused("no RMS norm over the axes", norm={"input": "words.weight", "shape": [40, WIDTH], "axes": [1]})
        self.refused("no RMS norm over the axes", norm={"axes": [1]})
        self.refused("no RMS norm over the axes .* of 8 numbers", norm={"shape": [2, 12, 8]})
        self.refused("2 norms that read .* are listed, and the file has 1", norm={"input": third})
        self.refused("no RMS norm", lambda graph: self.readers(graph, first, "RMSNormalization")[0].attribute[0].CopyFrom(helper.make_attribute("axis", 1)))

    # How the file is wired. The certificate is the old one, or that of somebody who follows an operator's first input.

    def readers(self, graph, value, op):
        return [n for n in graph.node if value in n.input and n.op_type == op]

    def inserted(self, make, value=None):
        """A change that puts nodes behind the value that the first norm reads, which keeps its name."""
        value = value or self.made[Text, "onnx"][1]["norms"][0]["input"]

        def change(graph):
            at, node = next((i, n) for i, n in enumerate(graph.node) if value in n.output)
            node.output[list(node.output).index(value)] = "inner"
            made, held = make("inner", value)
            graph.initializer.extend(numpy_helper.from_array(np.asarray(array), name) for name, array in held.items())
            for i, one in enumerate(made):
                graph.node.insert(at + 1 + i, one)

        return change

    def test_operators_in_the_stream(self):
        scale = np.linspace(0.5, 1.5, WIDTH, dtype=np.float32)
        node, ramp = helper.make_node, {"held": scale}
        rows = [
            (node("Relu", ["inner"], ["OUT"]), {}, "no rule for Relu"), (node("Abs", ["inner"], ["OUT"]), {}, "no rule for Abs"),
            (node("Mul", ["inner", "held"], ["OUT"]), ramp, "scales each channel differently"),
            (node("Div", ["inner", "held"], ["OUT"]), ramp, "scales each channel differently"),
            (node("Add", ["inner", "held"], ["OUT"]), ramp, "held is not centered"),
            (node("Sub", ["held", "inner"], ["OUT"]), ramp, "held is not centered"),
            (node("Add", ["inner", "held"], ["OUT"]), {"held": np.float32(1)}, "held"),
            (node("Cast", ["inner"], ["OUT"], to=10), {}, "may round"),
            (node("Softmax", ["inner"], ["OUT"]), {}, "no rule for Softmax"),
            (node("Dropout", ["inner", "", "held"], ["OUT"]), {"held": np.bool_(True)}, "drops elements at random"),
            (node("Transpose", ["inner"], ["OUT"], perm=[0, 2, 1]), {}, "Transpose|other groups"),
            (node("RMSNormalization", ["inner", "held"], ["OUT"]), ramp, "scales each channel differently"),
            (node("MatMul", ["inner", "held"], ["OUT"]), {"held": np.diag(scale)}, "held is not centered"),
            (node("RMSNormalization", ["inner", "held"], ["OUT"]), {"held": scale * 0 + 2}, None),
            (node("Identity", ["inner"], ["OUT"]), {}, None),
            (node("Mul", ["inner", "held"], ["OUT"]), {"held": scale * 0 + 3}, None),
            (node("Div", ["inner", "held"], ["OUT"]), {"held": np.ones((2, 6, 1), np.float32)}, None),
        ]
        for made, held, text in rows:
            def make(inner, value, made=made, held=held):
                one = copy.deepcopy(made)
                one.output[0] = value
                return [one], held

            with self.subTest(op=made.op_type, text=text):
                self.refused(r"which claim \d+ does not need|says Add|no rule for|does not keep it", self.inserted(make))
                if text:
                    self.refused(text, self.inserted(make), again=True)
                else:
                    folded, certificate = self.copied()
                    loaded = onnx.load(folded)
                    self.inserted(make)(loaded.graph)
                    onnx.save(loaded, folded)
                    certificate = certificates.certificate(folded, {}, {**self.shapes[Text], "inner": [2, 6, WIDTH]})
                    self.assert_holds(folded, certificate)
                    for name, array in held.items():  # that a caller may set; one number for a row is none of the norm's channels
                        if np.shape(array)[-1] == 1:
                            continue
                        loaded.graph.input.append(helper.make_tensor_value_info(name, 1, np.shape(array)))
                        onnx.save(loaded, folded)
                        self.assert_refused(folded, certificates.signed(folded, certificate), "does not keep it")

    def test_an_operand_more(self):
        """What is added is no zero-mean value, whether the certificate is silent or claims it."""
        def make(inner, value):
            return [helper.make_node("Tanh", [inner], ["bent"]), helper.make_node("Add", [inner, "bent"], [value])], {}

        self.refused("rests on inner, which claim", self.inserted(make))
        self.refused("bent: there is no rule for Tanh", self.inserted(make), again=True)

    def test_operands_swapped(self):
        def swap(graph):
            node = next(n for n in graph.node if n.op_type == "MatMul" and self.weight("MatMul") in n.input)
            node.input[0], node.input[1] = node.input[1], node.input[0]

        self.refused("rests on .*, which claim|is not known", swap)

    def test_a_weight_turned(self):
        def turn(graph):
            node = next(n for n in graph.node if n.op_type == "Gemm")
            next(a for a in node.attribute if a.name == "transB").i = 0

        self.refused("has to be zero-mean over other groups", turn, model=Rows)
        self.refused("is not centered", turn, model=Rows, again=True)

    def test_another_weight(self):
        def other(graph):
            node = next(n for n in graph.node if n.op_type == "MatMul" and self.weight("MatMul") in n.input)
            graph.initializer.append(numpy_helper.from_array(np.eye(WIDTH, dtype=np.float32), "other"))
            node.input[1] = "other"

        self.refused("rests on other, which claim", other)
        self.refused("other is not centered", other, again=True)

    def test_a_layer_norm_left(self):
        def keep(graph):
            node = next(n for n in graph.node if n.op_type == "RMSNormalization")
            node.op_type = "LayerNormalization"

        self.refused("a LayerNorm, which subtracts the mean, reads", keep)

    def test_the_norm_reads_another_value(self):
        def rewire(graph):
            norm = next(n for n in graph.node if n.op_type == "RMSNormalization")
            at = list(graph.node).index(norm)
            graph.node.insert(at, helper.make_node("Exp", [norm.input[0]], ["bent"]))
            graph.node[at + 1].input[0] = "bent"

        self.refused("no RMS norm over the axes .* reads", rewire)
        self.refused("no rule for Exp", rewire, again=True)

    def test_a_row_of_another_axis(self):
        def turn(graph):
            next(n for n in graph.node if n.op_type == "Gather" and n.input[0] == "words.weight").attribute.append(helper.make_attribute("axis", 1))

        self.refused("it does not look up rows", turn)

    def test_a_part_that_is_not_centered(self):
        def change(graph):
            tensor = next(t for t in graph.initializer if t.name == "token")
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) + np.float32(0.1), "token"))

        self.refused("token is not centered", change, model=Encoder)

    def test_a_part_joined_along_the_channels(self):
        def change(graph):
            tensor = next(t for t in graph.initializer if t.name == "a.bias")
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) + np.float32(0.01), "a.bias"))

        def other_input(graph):
            at, node = next((i, n) for i, n in enumerate(graph.node) if n.op_type == "MatMul")
            graph.node.insert(at, helper.make_node("Neg", ["in"], ["bent"]))
            graph.node[at + 1].input[0] = "bent"

        self.refused("a.bias, b.bias is not centered", change, model=Joined)
        self.refused("not linear layers of one input", other_input, model=Joined)

    def test_a_centering(self):
        def over(axis):
            def change(graph):
                mean = next(n for n in graph.node if n.op_type == "ReduceMean" and "centering" in n.output[0])
                held = next(n for n in graph.node if mean.input[1] in n.output)
                held.attribute[0].t.CopyFrom(numpy_helper.from_array(np.array([axis], np.int64)))
            return change

        def of_another(graph):
            node = next(n for n in graph.node if n.op_type == "ReduceMean" and "centering" in n.output[0])
            node.input[0] = next(n for n in graph.node if n.op_type == "Tanh").output[0]

        def added(graph):
            next(n for n in graph.node if n.op_type == "Sub" and "centering" in n.output[0]).op_type = "Add"

        for change in (over(1), of_another, added):
            self.refused("rests on|says Sub", change, model=Encoder)

    def test_a_constant_that_a_caller_may_set(self):
        def given(graph):
            graph.input.append(helper.make_tensor_value_info("words.weight", 1, [40, WIDTH]))

        self.refused("words.weight is an input of the model", given)

    def test_a_branch(self):
        def make(inner, value):
            branches = {}
            for name in ("then_branch", "else_branch"):
                node = helper.make_node("Identity", [inner], [name])
                branches[name] = helper.make_graph([node], name, [], [helper.make_tensor_value_info(name, 1, None)])
            return [helper.make_node("If", ["held"], [value], **branches)], {"held": np.bool_(True)}

        self.refused("says Add", self.inserted(make))
        self.refused("no rule for If", self.inserted(make), claim={self.made[Text, "onnx"][1]["norms"][0]["input"]: {"op": "If"}})

    def test_a_domain(self):
        self.refused("no rule for other::Add|says Add", lambda graph: [setattr(n, "domain", "other") for n in graph.node if n.op_type == "Add"])

    # torch.export.

    def rewritten(self, folded, change):
        with zipfile.ZipFile(folded) as file:
            records = {info.filename: file.read(info) for info in file.infolist()}
        name = next(n for n in records if n.endswith("models/model.json"))
        model = json.loads(records[name])
        change(model["graph_module"])
        records[name] = json.dumps(model).encode()
        with zipfile.ZipFile(folded, "w") as file:
            for record, data in records.items():
                file.writestr(record, data)

    def test_torch_export(self):
        def nodes(model, op):
            return [n for n in model["graph"]["nodes"] if f".{op}." in n["target"]]

        def another_op(old, new):
            def change(model):
                nodes(model, old)[0]["target"] = f"torch.ops.aten.{new}"
            return change

        def square(model):
            return next(n for n in nodes(model, "linear") if any(i["arg"].get("as_tensor") == {"name": "p_square_weight"} for i in n["inputs"]))

        def other_weight(model):
            square(model)["inputs"][1]["arg"]["as_tensor"]["name"] = "p_up_weight"

        def other_operand(model):
            value = self.made[Text, "pt2"][1]["norms"][1]["input"]
            node = next(n for n in nodes(model, "add") if n["outputs"][0]["as_tensor"]["name"] == value)
            node["inputs"][1]["arg"]["as_tensor"]["name"] = "tanh"

        def other_norm(model):
            nodes(model, "rms_norm")[0]["inputs"][1]["arg"]["as_ints"] = [6, WIDTH]

        def other_place(model):
            spec = next(s for s in model["signature"]["input_specs"] if s["parameter"]["parameter_name"] == "square.weight")
            spec["parameter"]["parameter_name"] = "up.weight"

        def learns(model):
            node = nodes(model, "dropout")[0]
            node["target"], node["inputs"][2]["name"] = "torch.ops.aten.batch_norm.default", "training"
            training_of(node)

        def training_of(node):
            node["inputs"][2]["arg"]["as_bool"] = True

        def training(model):
            training_of(nodes(model, "dropout")[0])

        for change, text in ((another_op("add", "maximum.default"), "says aten.add.Tensor"), (another_op("add", "add_.Tensor"), "in place"),
                             (another_op("add", "add.Tensor_out"), "in place"),
                             (another_op("rms_norm", "layer_norm.default"), "a LayerNorm, which subtracts the mean"), (other_weight, "p_up_weight does not make the norm's channels"),
                             (other_operand, "rests on tanh"), (other_norm, "no RMS norm"), (other_place, "p_square_weight does not make the norm's channels"),
                             (training, "drops elements at random"), (learns, "changes a constant when it runs")):
            with self.subTest(text=text):
                folded, certificate = self.copied(Text, "pt2")
                self.rewritten(folded, change)
                self.assert_refused(folded, certificates.signed(folded, certificate), text)

    def test_names_forge_no_line(self):
        folded, certificate = self.copied()
        for name in ("a\n2 norms hold", "a\x1b[2J", "\ud800"):
            code, out = run(folded, {**certificate, "norms": [{**certificate["norms"][0], "name": name, "claim": 99}]})
            self.assertEqual((code, out.count("\n"), "\x1b" in out), (1, 0, False), out)

    def test_a_certificate_of_no_norm(self):
        folded, certificate = self.copied()
        self.assert_refused(folded, {**certificate, "norms": []}, "of no norm")

    def test_what_holds_is_true_when_it_is_run(self):
        """Files whose wiring is changed at random: where the certificate of somebody careless holds, the means are 0."""
        draw, found = random.Random(11), 0
        ids = np.random.default_rng(1).integers(0, 10, (2, 6))
        for turn in range(80):
            folded, _ = self.copied()
            model, shapes = onnx.load(folded), self.shapes[Text]
            for _ in range(draw.choice((1, 1, 2))):
                node = draw.choice([n for n in model.graph.node if n.op_type in ("Add", "Mul", "MatMul", "Tanh", "RMSNormalization")])
                place = draw.randrange(len(node.input))
                alike = sorted(v for v, shape in shapes.items() if shape == shapes[node.input[place]])
                if node.op_type in ("Add", "Mul") and draw.random() < 0.5:
                    node.op_type = draw.choice(("Add", "Sub", "Mul", "Div"))
                else:
                    node.input[place] = draw.choice(alike)
            onnx.save(model, folded)
            try:
                with np.errstate(all="ignore"):
                    values = onnx.reference.ReferenceEvaluator(model).run(None, {"in": ids}, intermediate=True)
                certificate = certificates.certificate(folded, {}, shapes)
            except Exception:  # nodes that read each other, for which neither has a meaning
                continue
            code, out = run(folded, certificate)
            self.assertIn(code, (0, 1), out)
            for norm in certificate["norms"] if code == 0 else []:
                value = values[norm["input"]]
                self.assertLess(np.abs(value.mean(-1)).max(), 1e-5 * np.abs(value).max() + 1e-12, norm)
            found += code == 0
        self.assertGreater(found, 5)

    # Hostile files.

    def test_small_files_take_little_time_and_memory(self):
        def listed(inner, value):
            shapes = [helper.make_node("Concat", [f"c{i}", f"c{i}"], [f"c{i + 1}"], axis=0) for i in range(40)]
            return [*shapes, helper.make_node("Reshape", [inner, "c40"], [value])], {"c0": np.array([-1])}

        value = self.made[Text, "onnx"][1]["norms"][0]["input"]
        self.refused("does not keep it", self.inserted(listed), claim={value: {"op": "Reshape"}})

        def axes(graph):
            graph.initializer.append(helper.make_tensor("many", 7, [1] * 100000, [1]))

        folded, certificate = self.copied()
        loaded = onnx.load(folded)
        axes(loaded.graph)
        onnx.save(loaded, folded)
        self.assert_refused(folded, certificates.signed(folded, certificate), "too many axes", 3)
        self.refused("is too long", norm={"shape": [4096, 4096, WIDTH]})

        folded = self.folder / "folded.pt"
        nested = b")" + 60 * b"2\x86"  # a tuple of the one before, twice
        for made in (b"\x80\x05\x96" + struct.pack("<Q", 8 << 30) + b".", b"\x80\x02}" + nested + b"K\x01s.",
                     b"\x80\x05\x8f(" + nested + b"\x90.", b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + nested + b"K\x00))tR."):
            with zipfile.ZipFile(folded, "w") as archive:
                archive.writestr("m/data.pkl", made)
            broken = {**certificate, "format": "torchscript", "data": []}
            self.assert_refused(folded, certificates.signed(folded, broken), "not read", 3)
        folded = self.folder / "folded.pt2"
        with zipfile.ZipFile(folded, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("m/archive_format", "pt2")
            archive.writestr("m/models/model.json", "[" + "[]," * (1 << 23) + "[]]")
        self.assert_refused(folded, certificates.signed(folded, {**certificate, "format": "pt2"}), "too many lists", 3)

    def test_damage_ends_with_a_sentence(self):
        draw = random.Random(5)
        for model, form in ((Text, "onnx"), (Text, "pt2")):
            whole, certificate = self.made[model, form][0].read_bytes(), self.made[model, form][1]
            folded = self.folder / f"folded.{form}"
            for turn in range(60):
                data = bytearray(whole[:draw.randrange(1, len(whole))] if turn % 3 == 0 else whole)
                for _ in range(turn % 3 * 8):
                    data[draw.randrange(min(len(data), 4000) if turn % 2 else len(data))] = draw.randrange(256)
                folded.write_bytes(data)
                code, out = run(folded, certificates.signed(folded, copy.deepcopy(certificate)))
                self.assertIn(code, (0, 1, 3), out)
                self.assertEqual(len(out.splitlines()), 1)
        folded, certificate = self.copied()
        for broken in ("", "[]", "{}", "nul", "[" * 100000, json.dumps(certificate)[:-40], json.dumps({**certificate, "claims": {}}),
                       json.dumps({**certificate, "norms": [5]}), json.dumps({**certificate, "claims": [None] * 30})):
            code, out = run(folded, broken)
            self.assertIn(code, (1, 3), out)


if __name__ == "__main__":
    unittest.main()
