"""The geometry probe against torch and numpy: the demo models as TorchScript and as ONNX, on the same inputs, give the angles,
lengths, shares and errors that the network itself gives in Python; and each other's. Samples of other layouts run."""

import copy
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy
import torch

from samples import ENGINE, MODELS, REPOSITORY, base, ran

sys.path.insert(0, str(REPOSITORY / "resources" / "models"))
import generate  # noqa: E402

DEMOS = {"gpt2": generate.GPT2, "bert": generate.BERT, "vit": generate.ViT}
DEGREES = 2e-3  # of an angle near 90 where the numbers have seven digits
RELATIVE = 1e-4


class RmsInPlace(torch.nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.norm = norm

    def forward(self, x):
        root = torch.sqrt((x * x).mean(-1, keepdim=True) + self.norm.eps)
        return x / root * self.norm.weight + self.norm.bias


def figures(rows):
    """Of rows [n, d]: angle to 1, length, share of the energy along 1; each with its spread over the rows."""
    d = rows.shape[1]
    along = rows.sum(1) / numpy.sqrt(d)
    length = numpy.linalg.norm(rows, axis=1)
    angle = numpy.degrees(numpy.arccos(along / length))
    share = (along / length) ** 2
    return {"angle_deg": angle.mean(), "angle_std": angle.std(), "norm": length.mean(), "norm_std": length.std(),
            "mean_share": share.mean(), "mean_share_std": share.std(), "rows": len(rows)}


def swapped(rows, norm):
    """-> the largest and the mean relative change of the norm's output, row by row, in float64"""
    gamma, beta = (p.detach().double().numpy() for p in (norm.weight, norm.bias))
    middle = rows - rows.mean(1, keepdims=True)
    layer = middle / numpy.sqrt((middle**2).mean(1, keepdims=True) + norm.eps) * gamma + beta
    rms = rows / numpy.sqrt((rows**2).mean(1, keepdims=True) + norm.eps) * gamma + beta
    change = numpy.linalg.norm(rms - layer, axis=1) / numpy.linalg.norm(layer, axis=1)
    return change.max(), change.mean()


def outputs(model, x):
    with torch.no_grad():
        y = model(x)
    return [t.double() for t in (y if isinstance(y, tuple) else (y,))]


def change(before, after):
    """The largest over the outputs of max |a - b| / max |a|."""
    return max(float((a - b).abs().max() / a.abs().max()) for a, b in zip(before, after))


class Demo:
    def __init__(self, name):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.path = REPOSITORY / "resources" / "models" / f"{name}.pt"
            self.model = DEMOS[name](generate.Size()).eval()
            self.model.load_state_dict(torch.jit.load(str(self.path)).state_dict(), strict=False)
        torch.manual_seed(5)
        self.x = torch.randn(2, 3, 32, 32) if name == "vit" else torch.randint(0, 512, (2, 16))
        self.norms = {n: m for n, m in self.model.named_modules() if isinstance(m, torch.nn.LayerNorm)}
        self.seen = {}
        hooks = [m.register_forward_hook(lambda _, given, made, n=n: self.seen.__setitem__(n, (given[0], made)))
                 for n, m in self.norms.items()]
        self.before = outputs(self.model, self.x)
        for hook in hooks:
            hook.remove()

    def rows(self, name, side):
        tensor = self.seen[name][side].detach().double()
        return tensor.reshape(-1, tensor.shape[-1]).numpy()

    def with_rms(self, names):
        other = copy.deepcopy(self.model)
        for name in names:
            parent, _, last = name.rpartition(".")
            setattr(other.get_submodule(parent), last, RmsInPlace(other.get_submodule(name)))
        return outputs(other, self.x)

    def export(self, path):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = io.BytesIO()
            torch.onnx.export(self.model, (self.x,), made, opset_version=17, dynamo=False, input_names=["in_0"])
            path.write_bytes(made.getvalue())


class Probe(unittest.TestCase):
    def probe(self, *words):
        told = ran(self, "probe", *words)
        return told

    def near(self, a, b, what):
        absolute = DEGREES if what.startswith("angle") else 1e-6
        self.assertLessEqual(abs(a - b), max(absolute, RELATIVE * abs(b)), what)

    def judge(self, told, demo):
        self.assertEqual(len(told["norms"]), len(demo.seen))
        for norm, name in zip(told["norms"], demo.seen):  # both in execution order
            for side, place in (("input", 0), ("output", 1)):
                expected = figures(demo.rows(name, place))
                for figure, value in expected.items():
                    self.near(norm[side][figure], value, figure)
            largest, mean = swapped(demo.rows(name, 0), demo.norms[name])
            self.near(norm["swap"]["max_rel"], largest, "swap")
            self.near(norm["swap"]["mean_rel"], mean, "swap")
            effect = change(demo.before, demo.with_rms([name]))
            self.assertAlmostEqual(norm["swap"]["outputs"]["max_rel"] / effect, 1, delta=0.02)
            self.assertEqual(norm["swap"]["notices"], "hardly" if effect < 3e-2 else "yes")
        every = change(demo.before, demo.with_rms(list(demo.norms)))
        self.assertAlmostEqual(told["all_swapped"]["max_rel"] / every, 1, delta=0.02)


class Batches(unittest.TestCase):
    """Several files of inputs, a folder of models, other types."""

    def test_002_eq_6_over_a_million_tokens_in_bounded_memory(self):
        files, tokens = 16, 62500
        torch.manual_seed(3)
        model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.LayerNorm(16)).eval()
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "inputs").mkdir()
            torch.jit.trace(model, torch.randn(8, 16)).save(str(folder / "m.pt"))
            rows = []
            for i in range(files):
                x = torch.randn(tokens, 16) + i / files
                numpy.savez(folder / "inputs" / f"{i:02}.npz", in_0=x.numpy())
                with torch.no_grad():
                    rows.append(model[0](x).double().numpy())
            one, _ = self.measured(folder / "m.pt", "--inputs", folder / "inputs" / "00.npz")
            all_of_them, told = self.measured(folder / "m.pt", "--inputs", folder / "inputs")
        expected = figures(numpy.concatenate(rows))
        side = told["norms"][0]["input"]
        self.assertEqual(side["rows"], files * tokens)
        for figure in ("angle_deg", "angle_std", "norm", "mean_share"):
            self.assertAlmostEqual(side[figure] / expected[figure], 1, delta=1e-4)
        self.assertLess(all_of_them - one, 24e6, "the inputs alone are 64 MB")

    def measured(self, *words):
        """-> peak memory in bytes, the JSON object"""
        with tempfile.TemporaryFile() as out:
            process = subprocess.Popen([ENGINE, "probe", *map(str, words), "--json"], stdout=out, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            out.seek(0)
            return usage.ru_maxrss * 1024, json.load(out)

    def test_a_folder_of_models_has_a_row_for_each_model_and_norm(self):
        told = ran(self, "probe", REPOSITORY / "resources" / "models")
        self.assertEqual([pathlib.Path(each["model"]).name for each in told["models"]], ["bert.pt", "gpt2.pt", "vit.pt"])
        for each in told["models"]:
            alone = ran(self, "probe", each["model"])
            self.assertEqual([norm["input"] for norm in each["norms"]], [norm["input"] for norm in alone["norms"]])

    def test_checkpoints_come_by_their_numbers(self):
        with tempfile.TemporaryDirectory() as name:
            for step in (10, 9, 100):
                shutil.copy(REPOSITORY / "resources" / "models" / "vit.pt", f"{name}/step-{step}.pt")
            told = ran(self, "probe", name)
        steps = [pathlib.Path(each["model"]).stem for each in told["models"]]
        self.assertEqual(steps, ["step-9", "step-10", "step-100"])

    def test_a_table_is_written_over_nothing_that_is_read(self):
        model = REPOSITORY / "resources" / "models" / "vit.pt"
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for which in "ab":
                numpy.savez(folder / f"{which}.npz", in_0=numpy.zeros((2, 3, 32, 32), "f"))
            (folder / "steps").mkdir()
            for step in (1, 2):
                shutil.copy(model, folder / "steps" / f"{step}.pt")
            for words, csv in (((model, "--inputs", folder / "a.npz", folder / "b.npz"), folder / "b.npz"),
                               ((model, "--inputs", folder), folder / "b.npz"),
                               ((folder / "steps",), folder / "steps" / "2.pt")):
                before = csv.read_bytes()
                done = subprocess.run([ENGINE, "probe", *map(str, words), "--csv", csv], capture_output=True, text=True)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(csv.read_bytes(), before)

    def test_003_question_1_the_mean_drifts_by_rounding(self):
        told = ran(self, "probe", REPOSITORY / "resources" / "models" / "gpt2.pt", "--drift", "--policy", "all")
        most = {"float32": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}
        for i, norm in enumerate(told["norms"]):
            drift = {(each["form"], each["dtype"]): each["mean_to_rms"] for each in norm["drift"]}
            self.assertEqual(len(drift), 9)
            self.assertAlmostEqual(drift["original", "float32"], norm["input"]["mean_share"] ** 0.5, delta=1e-7)
            for dtype, limit in most.items():
                self.assertTrue(0 < drift["fold", dtype] < limit, (norm["name"], dtype))
                self.assertEqual(drift["crms", dtype] is None, i + 1 < len(told["norms"]))  # ln_f gets all channels
            self.assertLess(drift["fold", "float32"], drift["fold", "float16"])
            self.assertLess(drift["fold", "float16"], drift["fold", "bfloat16"])

    def test_a_type_is_that_of_the_run(self):
        path = REPOSITORY / "resources" / "models" / "vit.pt"
        exact, half = (ran(self, "probe", path, "--dtype", dtype) for dtype in ("float64", "float16"))
        self.assertEqual((exact["dtype"], half["dtype"]), ("float64", "float16"))
        for a, b in zip(exact["norms"], half["norms"]):
            self.assertNotEqual(a["input"]["norm"], b["input"]["norm"])
            self.assertAlmostEqual(b["input"]["norm"] / a["input"]["norm"], 1, delta=1e-2)
            self.assertLess(a["swap"]["outputs"]["limit"], b["swap"]["outputs"]["limit"])


def judge_demo(test, name):
    demo = Demo(name)
    with tempfile.TemporaryDirectory() as folder:
        inputs, exported = pathlib.Path(folder) / "inputs.npz", pathlib.Path(folder) / f"{name}.onnx"
        numpy.savez(inputs, in_0=demo.x.numpy())
        demo.export(exported)
        script = test.probe(demo.path, "--inputs", inputs, "--after")
        onnx = test.probe(exported, "--inputs", inputs, "--after")
    test.assertEqual([norm["name"] for norm in script["norms"]], list(demo.seen))
    for told in (script, onnx):
        test.judge(told, demo)
        for norm in told["norms"]:
            if norm["after"]["kind"] == "RMSNorm":
                test.assertAlmostEqual(norm["after"]["input"]["angle_deg"], 90, delta=1e-3)
    for a, b in zip(script["norms"], onnx["norms"]):
        for side in ("input", "output", "random"):
            test.near(a[side]["angle_deg"], b[side]["angle_deg"], "angle")


@unittest.skipUnless(MODELS.is_dir(), "the shared sample models are not here")
class Samples(unittest.TestCase):
    pass


def judge_sample(test, path):
    """Every norm that is found has figures, or a reason; what is told of it is possible."""
    told = ran(test, "probe", path, "--inputs", path.parent / f"{base(path)}.inputs.npz")
    for norm in told["norms"]:
        if norm["reason"]:
            continue
        for side in ("input", "output"):
            if norm[side]["rows"] == norm[side]["zero_rows"] + norm[side]["bad_rows"]:
                continue
            test.assertTrue(0 <= norm[side]["angle_deg"] <= 180, norm)
            test.assertTrue(0 <= norm[side]["mean_share"] <= 1, norm)
            test.assertGreaterEqual(norm[side]["norm"], 0)


for demo_name in DEMOS:
    setattr(Probe, f"test_{demo_name}", lambda self, name=demo_name: judge_demo(self, name))
for sample in sorted([*(MODELS / "visible").glob("*.pt"), *(MODELS / "visible").glob("*.dyn18.onnx")]):
    case = sample.name.replace(".", "_")
    setattr(Samples, f"test_{case}", lambda self, path=sample: judge_sample(self, path))
