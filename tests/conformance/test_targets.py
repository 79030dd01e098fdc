"""docs/targets.md: which norm each runtime loads, the engine's table, and every norm in every tool that runs here.

Call: run_tests.py test_targets.py ENGINE [--write]. The page must be what the table and the runs say; --write makes it so, and
notes in the table what ran, its version and the day. Other versions and days are no difference. Tools that are not installed
are skipped, and the page is not compared then; packaging/test fetches all of them.
"""

import contextlib
import datetime
import importlib.metadata
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx
import torch
from samples import ENGINE, engine
from sessions import LEVELS, TOLERANCE, far, outputs
from torch import nn

WRITE = "--write" in sys.argv
if WRITE:
    sys.argv.remove("--write")
ROOT = pathlib.Path(__file__).parents[2]
PAGE, TABLE = ROOT / "docs" / "targets.md", ROOT / "core" / "formats" / "targets.cpp"
# What runs the folds of a target, and its package.
RUN_BY = {"onnxruntime": ("ONNX Runtime", "onnxruntime"), "openvino": ("OpenVINO", "openvino"), "torch": ("torch", "torch"), "normlens": ("torch", "torch")}
NORMS = {".onnx": ("portable", "primitives", "standard", "ort"), ".pt": ("portable", "primitives", "fast"), ".pt2": ("portable", "primitives", "fast")}
HEAD = """# Targets

What runs a folded file decides which norm it should have. `normlens fold MODEL -o OUT --for TARGET` writes the one that the
target loads; `--norm auto` measures here and takes the fastest. Without either, an .onnx file gets the operators of its own
opset that any runtime has, squared by `Pow` so that optimizers see a norm, and .pt and .pt2 get `aten::rms_norm`.
"""


def run_onnxruntime(path, x):
    return outputs(path, LEVELS[-1], [x.numpy()])[0]


def run_reference(path, x):
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(str(path)).run(None, {"x": x.numpy()})[0]


def run_openvino(path, x):
    import openvino

    exact = {"INFERENCE_PRECISION_HINT": "f32"}  # else bfloat16 where the CPU has it
    return openvino.Core().compile_model(str(path), "CPU", exact)([x.numpy()])[0]


def run_onnxslim(path, x):
    import onnxslim

    slim = path.with_suffix(".slim.onnx")
    onnx.save(onnxslim.slim(str(path)), slim)
    return run_onnxruntime(slim, x)


def run_script(path, x):
    return torch.jit.load(str(path))(x).detach().numpy()


def run_exported(path, x):
    return torch.export.load(path).module()(x).detach().numpy()


def run_compiled(path, x):
    torch._dynamo.reset()
    return torch.compile(torch.export.load(path).module(), fullgraph=True)(x).detach().numpy()


def run_inductor(path, x):
    package = torch._inductor.aoti_compile_and_package(torch.export.load(path), package_path=str(path) + ".aoti.pt2")
    return torch._inductor.aoti_load_package(package)(x).detach().numpy()


TOOLS = {
    ".onnx": {"ONNX Runtime": ("onnxruntime", run_onnxruntime), "onnx's reference evaluator": ("onnx", run_reference),
              "OpenVINO": ("openvino", run_openvino), "onnxslim, then ONNX Runtime": ("onnxslim", run_onnxslim)},
    ".pt": {"torch.jit": ("torch", run_script)},
    ".pt2": {"torch.export": ("torch", run_exported), "torch.compile": ("torch", run_compiled), "AOTInductor": ("torch", run_inductor)},
}
# Operators of one runtime alone; nothing else is expected to load them.
OWN = {("ort", "onnx's reference evaluator"), ("ort", "OpenVINO")}


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(8, 16)
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(3))
        self.linears = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))
        self.last = nn.LayerNorm(16)

    def forward(self, x):
        x = self.stem(x)
        for norm, linear in zip(self.norms, self.linears):
            x = x + linear(torch.relu(norm(x)))
        return torch.tanh(self.last(x))


def source_of(target):
    name, package = RUN_BY[target]
    version = importlib.metadata.version(package).split("+")[0]
    return f"{name} {version}, {datetime.date.today().isoformat()}"


def undated(text):
    """Without the versions and days of what ran."""
    return re.sub(r"((?:ONNX Runtime|OpenVINO|torch) )[\d.]+, \d{4}-\d\d-\d\d", r"\1", text)


def title(name):
    return {".onnx": "ONNX", ".pt": "TorchScript", ".pt2": "torch.export"}[name]


class Targets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        torch.manual_seed(0)
        model = Blocks().eval()
        for parameter in model.parameters():
            nn.init.uniform_(parameter, -1, 1)
        cls.x = torch.randn(3, 8)
        cls.expected = model(cls.x).detach().numpy()
        torch.jit.trace(model, cls.x).save(cls.folder / "m.pt")
        torch.export.save(torch.export.export(model, (cls.x,)), cls.folder / "m.pt2")
        torch.onnx.export(model, (cls.x,), cls.folder / "m.onnx", input_names=["x"], opset_version=17, dynamo=False)
        _, cls.doctor, _ = engine("doctor")
        torch.ops.load_library(cls.doctor["ops_library"])

    def folded(self, suffix, *words):
        out = self.folder / f"folded{'_'.join(words)}{suffix}"
        status, result, errors = engine("fold", self.folder / f"m{suffix}", "-o", out, *words)
        self.assertEqual((status, result["folded"]), (0, 4), errors)
        self.assertIs(result["verify"]["exact"], True)
        return out, result

    def outcome(self, suffix, norm, tool, run):
        path, _ = self.folded(suffix, "--norm", norm)
        try:
            with contextlib.redirect_stdout(sys.stderr):
                actual = run(path, self.x)
        except Exception:
            self.assertIn((norm, tool), OWN, f"{norm} does not load in {tool}")
            return "does not load"
        self.assertLess(far(self.expected, actual), TOLERANCE, f"{norm} in {tool}")
        return "equal"

    def rows(self):
        for suffix, tools in TOOLS.items():
            yield f"\n| {title(suffix)} in | " + " | ".join(f"`{norm}`" for norm in NORMS[suffix]) + " |"
            yield "| --- |" + " --- |" * len(NORMS[suffix])
            for tool, (_, run) in tools.items():
                cells = [self.outcome(suffix, norm, tool, run) for norm in NORMS[suffix]]
                yield f"| {tool} | " + " | ".join(cells) + " |"

    def targets(self):
        yield "\n| `--for` | writes | fast there | float16 | cannot | known from |"
        yield "| --- | --- | --- | --- | --- | --- |"
        for row in self.doctor["targets"]:
            writes = "; ".join(f"{title('.' + {'onnx': 'onnx', 'torchscript': 'pt', 'pt2': 'pt2'}[form['format']])}"
                               f"{' from ' + form['since'] + ' on' if form['since'] else ''}: {form['operators']}" for form in row["forms"])
            known = f"run here: {source_of(row['name'])}" if row["ran"] else f"**not run**: {row['source']}"
            yield f"| `{row['name']}` ({row['title']}) | {writes} | {row['speed']} | {row['range']} | {row['limits']} | {known} |"

    def test_page(self):
        missing = [name for tools in TOOLS.values() for name, _ in tools.values() if importlib.util.find_spec(name) is None]
        if missing:
            self.skipTest(f"{', '.join(missing)} not installed")
        runs = "\nEvery norm in every tool that runs here, by `tests/conformance/test_targets.py`: outputs of the folded file against\n" \
               "the original module's in float32.\n"
        page = HEAD + "\n".join(self.targets()) + "\n" + runs + "\n".join(self.rows()) + "\n"
        if WRITE:
            PAGE.write_text(page, encoding="utf-8")
            table = TABLE.read_text(encoding="utf-8")
            for name in RUN_BY:
                table = re.sub(rf'(\.name = "{name}",.*?\.source = ")[^"]*', rf"\g<1>{source_of(name)}", table, count=1, flags=re.DOTALL)
            TABLE.write_text(table, encoding="utf-8")
        self.assertEqual(undated(PAGE.read_text(encoding="utf-8")), undated(page))

    def test_sources(self):
        for row in self.doctor["targets"]:
            dated = bool(re.fullmatch(r"(ONNX Runtime|OpenVINO|torch) [\d.]+, \d{4}-\d\d-\d\d", row["source"]))
            self.assertEqual(dated, row["ran"], row["source"])

    def test_for(self):
        expected = {("onnxruntime", ".onnx"): "ort", ("openvino", ".onnx"): "primitives", ("tensorrt", ".onnx"): "primitives",
                    ("torch", ".pt"): "portable", ("torch@2.3", ".pt"): "primitives", ("torch@2.4", ".pt"): "portable",
                    ("torch", ".pt2"): "portable", ("executorch", ".pt2"): "primitives", ("coreml", ".pt"): "primitives",
                    ("normlens", ".pt"): "fast", ("normlens", ".pt2"): "fast"}
        for (target, suffix), norm in expected.items():
            _, result = self.folded(suffix, "--for", target)
            self.assertEqual((result["norm"], result["target"]), (norm, target))

    def test_refused(self):
        for words, said in ((("--for", "openvino"), "OpenVINO loads no file of this format"), (("--for", "tvm"), "there is no target 'tvm'"),
                            (("--for", "torch@"), "there is no target"), (("--for", "torch", "--norm", "fast"), "excludes")):
            status, _, errors = engine("fold", self.folder / "m.pt", "-o", self.folder / "no.pt", *words)
            self.assertEqual(status, 2)
            self.assertIn(said, errors)

    def test_default_keeps_the_opset(self):
        path, result = self.folded(".onnx")
        self.assertEqual(result["norm"], "portable")
        model = onnx.load(path)
        self.assertEqual([one.version for one in model.opset_import if not one.domain], [17])
        self.assertIn("Pow", [node.op_type for node in model.graph.node])

    def test_range_of_float16(self):
        """Where squares are taken in float16, a fold says which norms leave its range: before and after, as torch has them."""
        model = Blocks().eval()
        with torch.no_grad():
            model.stem.weight *= 1000
        seen = [[], []]
        for norm in (model.norms[0], model.last):
            norm.register_forward_pre_hook(lambda _, given: seen[0].append(given[0].double()))
        torch.onnx.export(model, (self.x,), self.folder / "large.onnx", input_names=["x"], opset_version=17, dynamo=False)
        numpy.savez(self.folder / "x.npz", in_0=self.x.numpy())
        seen[0].clear()
        model(self.x)
        words = ("fold", self.folder / "large.onnx", "-o", self.folder / "large_folded.onnx", "--inputs", self.folder / "x.npz")
        _, result, _ = engine(*words, "--for", "tensorrt")
        norms = result["range"]["norms"]
        self.assertEqual((result["range"]["limit"], len(norms)), (65504, 4))
        for entry, x in zip((norms[0], norms[-1]), seen[0]):
            self.assertAlmostEqual(entry["before"]["square"] / float((x**2).max()), 1, delta=1e-5)
            self.assertAlmostEqual(entry["before"]["sum"] / float((x**2).sum(-1).max()), 1, delta=1e-5)
            centered = x - x.mean(-1, keepdim=True)
            self.assertAlmostEqual(entry["after"]["square"] / float((centered**2).max()), 1, delta=1e-4)
        text = subprocess.run([ENGINE, *map(str, words), "--for", "tensorrt"], capture_output=True, text=True, check=True).stdout
        self.assertIn("float16 ends at 65504: keep this norm in float32", text)
        _, result, _ = engine(*words)
        self.assertIsNone(result["range"])

    def test_range_of_norms_behind_a_centering(self):
        """What a fold adds to a float16 model is measured, too: a mean subtracted at run time, a norm in float32."""
        model = Blocks().half().eval()
        torch.onnx.export(nn.Sequential(nn.Tanh(), model.norms[0]), (self.x.new_ones(2, 16).half(),), self.folder / "half.onnx",
                          input_names=["x"], opset_version=17, dynamo=False)
        words = ("fold", self.folder / "half.onnx", "-o", self.folder / "half_folded.onnx", "--policy", "all")
        for chosen in ((), ("--for", "tensorrt"), ("--norm", "standard")):
            _, result, errors = engine(*words, *chosen)
            self.assertTrue(result["range"]["norms"], errors)
            for entry in result["range"]["norms"]:
                self.assertIsNotNone(entry["after"], chosen)
        _, result, _ = engine(*words, "--for", "onnxruntime")  # which sums in float32
        self.assertIsNone(result["range"])

    def test_auto(self):
        for suffix in (".pt", ".onnx"):
            _, result = self.folded(suffix, "--norm", "auto")
            self.assertIn(result["norm"], NORMS[suffix])


if __name__ == "__main__":
    unittest.main()
