"""torch.export archives: opened, analysed, folded, proved, and read again by torch.

Each model is exported static, dynamic and decomposed, and traced to TorchScript: verdicts agree. What is folded is
loaded with torch.export.load: the same numbers, the same signature, ranges and guards, every untouched record byte for
byte. The sample archives of ../shared are opened as they are.
"""

import json
import pathlib
import tempfile
import unittest

import torch
from torch import nn
from torch._export.serde.serialize import serialize
from torch.export import Dim, export, load, save

from exported import WIDTH, Exported, Residual, records, settled, write_flat, write_package
from samples import MODELS, engine, ran

SAMPLES = MODELS / "pt2"


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, WIDTH)
        self.layer = nn.TransformerEncoderLayer(WIDTH, 2, 2 * WIDTH, batch_first=True, norm_first=True)
        self.after = nn.TransformerEncoderLayer(WIDTH, 2, 2 * WIDTH, batch_first=True)

    def forward(self, x):
        return self.after(self.layer(self.first(x)))


class Patches(nn.Module):
    def __init__(self):
        super().__init__()
        self.cut = nn.Conv2d(3, WIDTH, 4, 4)
        self.position = nn.Parameter(torch.randn(1, 16, WIDTH))
        self.norm = nn.LayerNorm(WIDTH)
        self.written = nn.Linear(WIDTH, 5)

    def forward(self, image):
        x = self.cut(image).flatten(2).transpose(1, 2) + self.position
        mean = x.mean(-1, keepdim=True)
        x = (x - mean) / torch.sqrt((x - mean).pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.written(self.norm(x)).mean(1)


class Gated(nn.Module):
    """A norm behind what only a run-time centering makes zero-mean, for two norms."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)
        self.one, self.other = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x):
        x = torch.relu(self.first(x))
        return self.one(x) * self.other(x + 1.0)


class Masked(nn.Module):
    """Nothing compares the sizes of the mask with those of the ids, so that Dim.AUTO leaves each its own symbol."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.last = nn.LayerNorm(WIDTH)

    def forward(self, ids, mask):
        x = self.embed(ids)
        heads = self.norm(x).unflatten(-1, (2, WIDTH // 2)).transpose(1, 2)
        batch, length = (torch.arange(size) for size in ids.shape)
        allowed = mask[batch[:, None, None, None], length] > 0  # as transformers makes its masks
        seen = nn.functional.scaled_dot_product_attention(heads, heads, heads, allowed)
        return self.last(x + self.out(seen.transpose(1, 2).flatten(2)))


def cases():
    ids = torch.randint(0, 11, (3, 5), generator=torch.Generator().manual_seed(1))
    draw = lambda *shape: torch.randn(shape, generator=torch.Generator().manual_seed(2))
    batch, length = Dim("batch", max=64), Dim("length", min=2, max=64)
    return {
        "residual": (Residual(), ids, {0: batch, 1: length}),
        "encoder": (Encoder(), draw(3, 5, 6), {0: batch, 1: length}),
        "patches": (Patches(), draw(3, 3, 16, 16), {0: batch}),
        "gated": (Gated(), draw(3, 5, WIDTH), {0: batch, 1: length}),
    }


def document(path):
    return json.loads(records(path)["models/model.json"])


class Pairs(Exported):
    cases = staticmethod(cases)

    @classmethod
    def write(cls, name, exported):
        super().write(name, exported)
        model, sample = cls.models[name]
        torch.jit.trace(model, sample, check_trace=False).save(str(cls.path / f"{name}.pt"))
        torch.onnx.export(model, (sample,), str(cls.path / f"{name}.onnx"), dynamo=False)

    def verdicts(self, path):
        analysis = ran(self, "analyze", path)
        self.assertIsNone(analysis["probe_error"])
        return [(norm["normalized_shape"], norm["verdict"]) for norm in analysis["layer_norms"]]

    OTHERS = ("static.pt2", "dynamic.pt2", "core.pt2", "onnx")

    def test_verdicts_are_those_of_torchscript_and_onnx(self):
        for name in self.models:
            expected = self.verdicts(self.path / f"{name}.pt")
            self.assertTrue(expected)
            for kind in self.OTHERS:
                with self.subTest(model=name, kind=kind):
                    self.assertEqual(self.verdicts(self.path / f"{name}.{kind}"), expected)

    def plan(self, path, policy):
        """What becomes of the norms. Which weights are edited on the way is the format's: a number that is added is a
        tensor in one and an argument in another, a bias of its own in one and a row of a sum in another."""
        out = self.path / f"plan{path.suffix}"
        result = ran(self, "fold", path, "-o", out, "--policy", policy)
        return result["folded"], result["centerings"]

    def test_plans_are_those_of_torchscript_and_onnx(self):
        for name in self.models:
            for policy in ("free", "all"):
                expected = self.plan(self.path / f"{name}.pt", policy)
                for kind in self.OTHERS:
                    with self.subTest(model=name, kind=kind, policy=policy):
                        self.assertEqual(self.plan(self.path / f"{name}.{kind}", policy), expected)

    def test_norms_have_the_names_of_their_modules(self):
        analysis = ran(self, "analyze", self.path / "residual.dynamic.pt2")
        self.assertEqual([norm["name"] for norm in analysis["layer_norms"]], ["norms.0", "norms.1", "norms.2"])

    def test_what_is_folded_is_what_torch_loads(self):
        for name in self.models:
            for kind in self.KINDS:
                for policy, norm in (("free", "portable"), ("all", "portable"), ("all", "primitives")):
                    with self.subTest(model=name, kind=kind, policy=policy, norm=norm):
                        self.fold_and_load(name, kind, policy, norm)

    def fold_and_load(self, name, kind, policy, norm):
        original, out = self.path / f"{name}.{kind}.pt2", self.path / "out.pt2"
        out.unlink(missing_ok=True)
        result = ran(self, "fold", original, "-o", out, "--policy", policy, "--norm", norm)
        if result["folded"] == 0:
            self.assertFalse(out.exists())
            return
        self.assertIs(result["verify"]["exact"], True, result["verify"])
        model, sample = self.models[name]
        loaded = load(out)
        self.assertLess(self.gap(model, loaded.module(), sample), 2e-5)
        before, after = load(original), loaded
        self.assertEqual(before.graph_signature.user_inputs, after.graph_signature.user_inputs)
        self.assertEqual(str(before.call_spec), str(after.call_spec))
        self.assertEqual(str(before.range_constraints), str(after.range_constraints))
        if kind != "static":
            longer = torch.cat([sample, sample])
            self.assertLess(self.gap(model, loaded.module(), longer), 2e-5)
        after.module()(sample)  # its guards are still there
        self.untouched(original, out)

    def test_a_fold_is_written_as_torchscript_too(self):
        for name, (model, sample) in self.models.items():
            with self.subTest(model=name):
                out = self.path / f"{name}.folded.pt"
                result = ran(self, "fold", self.path / f"{name}.dynamic.pt2", "-o", out, "--policy", "all")
                self.assertIs(result["verify"]["exact"], True, result["verify"])
                loaded = torch.jit.load(str(out))
                for inputs in (sample, torch.cat([sample, sample])):
                    self.assertLess(self.gap(model, loaded, inputs), 2e-5)
                again = ran(self, "analyze", out)
                same = self.path / f"{name}.folded.pt2"
                engine("fold", self.path / f"{name}.dynamic.pt2", "-o", same, "--policy", "all")
                self.assertEqual(len(again["layer_norms"]), len(self.verdicts(same)))

    def untouched(self, original, out):
        a, b = records(original), records(out)
        self.assertLessEqual(set(a), set(b))
        changed = {record for record in a if a[record] != b[record]}
        self.assertLessEqual(
            {record for record in changed if not record.startswith("data/weights/weight_")},
            {"models/model.json", "data/weights/model_weights_config.json"},
        )
        self.assertEqual(b["models/model.json"], json.dumps(json.loads(b["models/model.json"])).encode())
        first, second = document(original), document(out)
        for key in first:
            if key != "graph_module":
                self.assertEqual(first[key], second[key], key)
        for key in ("module_call_graph", "metadata"):
            self.assertEqual(first["graph_module"][key], second["graph_module"][key])

    def test_inputs_of_the_same_sizes_are_run_at_the_same(self):
        original, out = self.path / "masked.pt2", self.path / "masked.folded.pt2"
        model = settled(Masked())
        inputs = torch.randint(0, 11, (2, 7)), torch.ones(2, 7, dtype=torch.int64)
        auto = {0: Dim.AUTO, 1: Dim.AUTO}
        exported = export(model, inputs, dynamic_shapes=(auto, auto))
        self.assertGreater(len(exported.range_constraints), 2, "they have no symbols of their own: the test is none")
        save(exported, original)
        result = ran(self, "fold", original, "-o", out)
        self.assertEqual(result["folded"], 2)
        self.assertIs(result["verify"]["exact"], True, result["verify"])
        longer = torch.randint(0, 11, (3, 9)), torch.ones(3, 9, dtype=torch.int64)
        with torch.no_grad():
            expected, got = model(*longer), load(out).module()(*longer)
        self.assertLess(((expected - got).abs().max() / expected.abs().max()).item(), 2e-5)

    def test_a_static_export_runs_at_its_own_size_alone(self):
        result = ran(self, "analyze", self.path / "encoder.static.pt2", "--input", "x=float32[4,5,6]", expected=3)
        self.assertIn("exported for 3 alone", result["error"]["message"])


class OlderTorch(Exported):
    """Containers of torch 2.5 to 2.8: the same verdicts, and what is folded loads with today's torch."""

    cases = staticmethod(cases)

    @classmethod
    def write(cls, name, exported):
        save(exported, cls.path / f"{name}.new.pt2")
        artifact = serialize(exported)
        write_flat(artifact, cls.path / f"{name}.8.2.pt2", (8, 2))
        write_flat(artifact, cls.path / f"{name}.7.3.pt2", (7, 3))
        write_package(artifact, cls.path / f"{name}.8.8.pt2")

    def verdicts(self, path):
        analysis = ran(self, "analyze", path)
        return [(norm["name"], norm["verdict"], norm.get("input_name")) for norm in analysis["layer_norms"]]

    def test_verdicts_are_those_of_todays_container(self):
        for name in self.models:
            expected = self.verdicts(self.path / f"{name}.new.pt2")
            for schema in ("7.3", "8.2", "8.8"):
                with self.subTest(model=name, schema=schema):
                    self.assertEqual(self.verdicts(self.path / f"{name}.{schema}.pt2"), expected)

    def test_what_is_folded_loads_with_todays_torch(self):
        for name, (model, sample) in self.models.items():
            for schema in ("8.2", "8.8"):
                with self.subTest(model=name, schema=schema):
                    out = self.path / "out.pt2"
                    out.unlink(missing_ok=True)
                    result = ran(self, "fold", self.path / f"{name}.{schema}.pt2", "-o", out, "--policy", "all")
                    self.assertGreater(result["folded"], 0)
                    self.assertIs(result["verify"]["exact"], True, result["verify"])
                    loaded = load(out).module()
                    for inputs in (sample, torch.cat([sample, sample])):
                        self.assertLess(self.gap(model, loaded, inputs), 2e-5)

    def test_a_program_of_torch_2_5_is_looked_at_and_not_folded(self):
        out = self.path / "old.pt2"
        status, result, _ = engine("fold", self.path / "residual.7.3.pt2", "-o", out)
        self.assertNotEqual(status, 0)
        self.assertIn("no newer torch would load it", result["error"]["message"])
        self.assertFalse(out.exists())


class Samples(unittest.TestCase):
    """The archives beside the sources, each as torch wrote it."""

    def test_each_is_opened(self):
        for path in sorted(SAMPLES.glob("*.pt2")):
            with self.subTest(path.stem):
                result = ran(self, "analyze", path)
                self.assertEqual(result["format"], "pt2")

    def test_what_folds_is_proved(self):
        folded = 0
        for path in sorted(SAMPLES.glob("*.pt2")):
            for norm in ("portable", "primitives", "fast"):
                with self.subTest(model=path.stem, norm=norm), tempfile.TemporaryDirectory() as folder:
                    out = pathlib.Path(folder) / "out.pt2"
                    result = ran(self, "fold", path, "-o", out, "--policy", "all", "--norm", norm)
                    if result["folded"] > 0:
                        self.assertIs(result["verify"]["exact"], True, result["verify"])
                        folded += 1
        self.assertGreater(folded, 16)
