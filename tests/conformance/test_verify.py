"""`verify A B`: folds by other hands, right ones and wrong ones of many kinds, are told apart, with the first wrong norm and why."""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx
import torch
from onnx import numpy_helper
from samples import engine
from torch import nn


CHECKER = pathlib.Path(__file__).parents[2] / "app" / "python" / "normlens" / "check_certificate.py"


class Norm(nn.Module):
    """What people write by hand in a LayerNorm's place."""

    def __init__(self, norm, eps=None):
        super().__init__()
        self.weight, self.bias, self.eps = norm.weight, norm.bias, eps or norm.eps

    def forward(self, x):
        return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight + self.bias


class WrittenOut(nn.Module):
    """A LayerNorm of single operators."""

    def __init__(self, norm):
        super().__init__()
        self.weight, self.bias, self.eps = norm.weight, norm.bias, norm.eps

    def forward(self, x):
        x = x - x.mean(-1, keepdim=True)
        return x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight + self.bias


class Rms(nn.Module):
    def __init__(self, norm, eps):
        super().__init__()
        self.weight, self.eps = norm.weight, eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(3))
        self.ups = nn.ModuleList(nn.Linear(16, 32) for _ in range(3))
        self.downs = nn.ModuleList(nn.Linear(32, 16) for _ in range(3))
        self.last = nn.LayerNorm(16)
        self.head = nn.Linear(16, 5)

    def forward(self, ids):
        x = self.embed(ids)
        for norm, up, down in zip(self.norms, self.ups, self.downs):
            x = x + down(torch.relu(up(norm(x))))
        return self.head(self.last(x))


def centered(model, leave_out=()):
    """As by hand: every weight that goes into the stream."""
    with torch.no_grad():
        parts = {"embed.weight": (model.embed.weight, 1)}
        for i, down in enumerate(model.downs):
            parts[f"downs.{i}.weight"], parts[f"downs.{i}.bias"] = (down.weight, 0), (down.bias, 0)
        for name, (tensor, axis) in parts.items():
            if name not in leave_out:
                tensor -= tensor.mean(axis, keepdim=True)
    return model


class Verify(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.ids = torch.randint(0, 20, (2, 7), generator=torch.Generator().manual_seed(1))
        numpy.savez(cls.folder / "ids.npz", in_0=cls.ids.numpy())
        cls.write(cls.model(), "a")

    @staticmethod
    def model():
        torch.manual_seed(0)
        model = Blocks().eval()
        for parameter in model.parameters():
            nn.init.uniform_(parameter, -1, 1)
        return model

    @classmethod
    def write(cls, model, name):
        torch.jit.trace(model, cls.ids).save(cls.folder / f"{name}.pt")
        torch.export.save(torch.export.export(model, (cls.ids,)), cls.folder / f"{name}.pt2")
        torch.onnx.export(model, (cls.ids,), cls.folder / f"{name}.onnx", input_names=["ids"], opset_version=17, dynamo=False)

    def by_hand(self, change=None, leave_out=(), eps=None):
        model = centered(self.model(), leave_out)
        model.norms = nn.ModuleList(Norm(norm, eps) for norm in model.norms)
        model.last = Norm(model.last)
        if change:
            change(model)
        return model

    def verdicts(self, suffix, b, a="a"):
        status, result, errors = engine("verify", self.folder / f"{a}{suffix}", self.folder / b, "--inputs", self.folder / "ids.npz")
        self.assertIn(status, (0, 1), errors)
        self.assertEqual(status == 0, result["right"])
        return result

    def test_our_folds(self):
        for suffix, norms in {".pt": ("portable", "primitives"), ".pt2": ("portable", "primitives"), ".onnx": ("portable", "standard", "ort")}.items():
            for norm in norms:
                out = self.folder / f"ours_{norm}{suffix}"
                status, _, errors = engine("fold", self.folder / f"a{suffix}", "-o", out, "--norm", norm, "--inputs", self.folder / "ids.npz")
                self.assertEqual(status, 0, errors)
                result = self.verdicts(suffix, out.name)
                self.assertEqual([one["verdict"] for one in result["norms"]], ["right"] * 4, (suffix, norm, result))
                self.assertTrue(all(any("embed" in tensor or "Gather" in tensor for tensor in one["tensors"]) for one in result["norms"]))

    def rms_model(self, moved=(), eps=1e-5):
        """Blocks of RMSNorms, those in `moved` with their weights in the linear layers behind them."""
        model = self.model()
        model.norms, model.last = nn.ModuleList(Rms(norm, eps) for norm in model.norms), Rms(model.last, eps)
        with torch.no_grad():
            for i, (norm, reader) in enumerate(zip([*model.norms, model.last], [*model.ups, model.head])):
                if i in moved:
                    reader.weight *= norm.weight
                    norm.weight.fill_(1)
        return model

    def test_weights_moved_by_hand(self):
        self.write(self.rms_model(), "rms")
        self.write(self.rms_model(moved=range(4)), "moved")
        self.write(self.rms_model(moved=range(3)), "three_moved")
        self.write(self.rms_model(moved=range(4), eps=2e-5), "other_eps")
        lost = self.rms_model(moved=range(4))
        with torch.no_grad():
            lost.head.weight *= 1.01
        self.write(lost, "lost")
        for suffix in (".pt", ".pt2", ".onnx"):
            with self.subTest(suffix):
                result = self.verdicts(suffix, f"moved{suffix}", "rms")
                self.assertTrue(result["right"], result)
                self.assertEqual([one["verdict"] for one in result["norms"]], ["weightless"] * 4, result)
                result = self.verdicts(suffix, f"three_moved{suffix}", "rms")
                self.assertEqual([one["verdict"] for one in result["norms"]], ["weightless"] * 3 + ["kept"], result)
                self.assertTrue(result["right"], result)
                self.assertFalse(self.verdicts(suffix, f"rms{suffix}", "rms")["right"])  # nothing is folded
                self.assertFalse(self.verdicts(suffix, f"lost{suffix}", "rms")["right"])
                result = self.verdicts(suffix, f"other_eps{suffix}", "rms")
                self.assertIn("epsilon", result["norms"][0]["reason"])
                self.assertFalse(result["right"])

    def test_norms_written_out_are_kept(self):
        model = self.model()
        model.norms, model.last = nn.ModuleList(WrittenOut(norm) for norm in model.norms), WrittenOut(model.last)
        self.write(model, "written_out")
        for suffix in (".pt", ".pt2", ".onnx"):
            result = self.verdicts(suffix, f"written_out{suffix}")
            self.assertEqual([one["verdict"] for one in result["norms"]], ["kept"] * 4, (suffix, result))
            self.assertFalse(result["right"], suffix)

    def test_no_certificate_of_moved_weights_alone(self):
        self.write(self.rms_model(), "rms")
        out, certificate = self.folder / "ours_moved.onnx", self.folder / "ours_moved.json"
        words = ("--gamma", "fold", "--inputs", self.folder / "ids.npz", "--certificate", certificate)
        status, _, errors = engine("fold", self.folder / "rms.onnx", "-o", out, *words)
        self.assertEqual(status, 0, errors)
        self.assertIn("nothing to certify", errors)
        self.assertFalse(certificate.exists())
        self.assertTrue(self.verdicts(".onnx", out.name, "rms")["right"])

    def test_right_by_hand(self):
        self.write(self.by_hand(), "hand")
        for suffix in (".pt", ".pt2", ".onnx"):
            result = self.verdicts(suffix, f"hand{suffix}")
            self.assertEqual([one["verdict"] for one in result["norms"]], ["right"] * 4, result)

    def test_wrong_by_hand(self):
        def gamma(model):
            with torch.no_grad():
                model.norms[1].weight *= 1.01

        def column(model):
            with torch.no_grad():
                model.downs[1].weight[:, 3] += 1e-3

        class Shifted(nn.Module):
            def __init__(self, norm):
                super().__init__()
                self.norm = norm

            def forward(self, x):
                return self.norm(x + 0.1)

        def shifted(model):
            model.norms[2] = Shifted(model.norms[2])

        wrong = {
            "nothing centered": ({"leave_out": ("embed.weight", *(f"downs.{i}.{part}" for i in range(3) for part in ("weight", "bias")))}, 0, "zero-mean"),
            "the embedding left out": ({"leave_out": ("embed.weight",)}, 0, "zero-mean"),
            "a bias left out": ({"leave_out": ("downs.0.bias",)}, 1, "zero-mean"),
            "a weight left out": ({"leave_out": ("downs.1.weight",)}, 2, "zero-mean"),
            "a column off by little": ({"change": column}, 2, "zero-mean"),
            "another epsilon": ({"eps": 1e-2}, 0, "epsilon"),
            "an epsilon that these inputs do not show": ({"eps": 1.1e-5}, 0, "epsilon"),
            "gamma changed": ({"change": gamma}, 1, ""),
            "its input shifted": ({"change": shifted}, 2, "zero-mean"),
        }
        for name, (how, first, said) in wrong.items():
            self.write(self.by_hand(**how), "wrong")
            for suffix in (".pt", ".onnx"):
                with self.subTest(name, suffix=suffix):
                    result = self.verdicts(suffix, f"wrong{suffix}")
                    self.assertFalse(result["right"])
                    names = [one["name"] for one in result["norms"]]
                    self.assertEqual(result["first_wrong"], names[first], result)
                    self.assertIn(said, result["norms"][first]["reason"])

    def test_a_mean_that_no_input_shows(self):
        """A row of the table that the inputs do not look up is not centered: equal on them, and not shown to be a fold."""
        def row(model):
            with torch.no_grad():
                model.embed.weight[int(set(range(20)).difference(self.ids.flatten().tolist()).pop())] += 1

        self.write(self.by_hand(change=row), "row")
        result = self.verdicts(".onnx", "row.onnx")
        self.assertFalse(result["right"])
        self.assertIn("zero-mean", result["norms"][0]["reason"])

    def test_graph_edits_of_an_onnx_file(self):
        """The weights are those of a right fold, the wiring is not."""
        out = self.folder / "ours.onnx"
        engine("fold", self.folder / "a.onnx", "-o", out, "--inputs", self.folder / "ids.npz", "--norm", "standard")
        for kind in ("relu", "scale", "bias"):
            model = onnx.load(out)
            norm = [node for node in model.graph.node if node.op_type == "RMSNormalization"][1]
            at = list(model.graph.node).index(norm)
            value = numpy.linspace(0.9, 1.1, 16, dtype=numpy.float32)
            model.graph.initializer.append(numpy_helper.from_array(value, "planted"))
            op = {"relu": ("Relu", [norm.input[0]]), "scale": ("Mul", [norm.input[0], "planted"]), "bias": ("Add", [norm.input[0], "planted"])}[kind]
            model.graph.node.insert(at, onnx.helper.make_node(op[0], op[1], ["planted_out"]))
            norm.input[0] = "planted_out"
            path = self.folder / f"planted_{kind}.onnx"
            onnx.save(model, path)
            result = self.verdicts(".onnx", path.name)
            self.assertFalse(result["right"], kind)
            self.assertEqual(result["first_wrong"], result["norms"][1]["name"], result)

    def checked(self, folded, certificate):
        words = [sys.executable, CHECKER, self.folder / folded, self.folder / certificate]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    def test_certificates(self):
        """What the engine writes, of its own folds and of one by hand, holds for a checker that shares no code with it."""
        self.write(self.by_hand(), "hand")
        for suffix, norms in {".pt": ("portable",), ".pt2": ("portable", "primitives", "fast"), ".onnx": ("portable", "standard")}.items():
            for norm in norms:
                out, certificate = f"certified_{norm}{suffix}", f"{norm}{suffix}.json"
                words = ("--norm", norm, "--inputs", self.folder / "ids.npz", "--certificate", self.folder / certificate)
                status, _, errors = engine("fold", self.folder / f"a{suffix}", "-o", self.folder / out, *words)
                self.assertEqual(status, 0, errors)
                result = self.checked(out, certificate)
                self.assertEqual(result.returncode, 0, (out, result.stdout))
                self.assertIn("4 norms hold", result.stdout)
                self.assertEqual("wiring not checked" in result.stdout, suffix == ".pt")
            words = ("--inputs", self.folder / "ids.npz", "--certificate", self.folder / "hand.json")
            engine("verify", self.folder / f"a{suffix}", self.folder / f"hand{suffix}", *words)
            self.assertEqual(self.checked(f"hand{suffix}", "hand.json").returncode, 0)

    def test_a_certificate_of_another_file_is_refused(self):
        words = ("--inputs", self.folder / "ids.npz", "--certificate", self.folder / "c.json")
        engine("fold", self.folder / "a.onnx", "-o", self.folder / "c.onnx", *words)
        certificate = json.loads((self.folder / "c.json").read_text())
        model = onnx.load(self.folder / "c.onnx")
        for tensor in model.graph.initializer:
            if tensor.name.endswith("downs.1.bias"):
                array = numpy_helper.to_array(tensor).copy()
                array[3] += 1e-3
                tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
        onnx.save(model, self.folder / "off.onnx")
        self.assertIn("refused", self.checked("off.onnx", "c.json").stdout)
        certificate.update(file="off.onnx", sha256=hashlib.sha256((self.folder / "off.onnx").read_bytes()).hexdigest())
        (self.folder / "off.json").write_text(json.dumps(certificate))
        result = self.checked("off.onnx", "off.json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("downs.1.bias is not centered", result.stdout)

    def test_a_certificate_takes_the_place_of_no_other_file(self):
        """However the path to it is written, and where it is a link that leads to nothing yet."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            large = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64))
            torch.onnx.export(large.eval(), (torch.randn(2, 64),), folder / "a.onnx", dynamo=False)
            model = onnx.load(folder / "a.onnx")
            onnx.save(model, folder / "a.onnx", save_as_external_data=True, location="a.data", size_threshold=0)
            self.assertEqual(engine("fold", folder / "a.onnx", "-o", folder / "b.onnx")[0], 0)
            held = {path.name: path.read_bytes() for path in folder.iterdir()}
            data = next(path for path in held if path.startswith("b.onnx."))
            (folder / "to_data").symlink_to(data)
            for path in (data, "to_data", "b.onnx", "a.data"):
                self.assertEqual(engine("verify", folder / "a.onnx", folder / "b.onnx", "--certificate", folder / path)[0], 2, path)
                self.assertEqual({name: (folder / name).read_bytes() for name in held}, held)
            (folder / "to_new").symlink_to("new.onnx")
            for path in (f"{folder}/../{folder.name}/new.onnx", folder / "to_new", folder / "new.onnx.data", folder / "none" / "c.json"):
                for option in ("--certificate", "--save-plan"):
                    self.assertIn(engine("fold", folder / "a.onnx", "-o", folder / "new.onnx", option, path)[0], (2, 3), path)
                    self.assertEqual(sorted(path.name for path in folder.glob("new*")), [], path)

    def test_a_half_type_excuses_no_mean(self):
        """Rounding to bfloat16 leaves means, but not those of weights that nobody centered."""
        class One(nn.Module):
            def __init__(self):
                super().__init__()
                self.stem, self.norm, self.head = nn.Linear(64, 768), nn.LayerNorm(768), nn.Linear(768, 8)

            def forward(self, x):
                return self.head(self.norm(self.stem(x)))

        torch.manual_seed(0)
        model, x = One().bfloat16().eval(), torch.randn(3, 64).bfloat16()
        torch.jit.trace(model, x).save(self.folder / "half.pt")
        status, _, errors = engine("fold", self.folder / "half.pt", "-o", self.folder / "half_folded.pt")
        self.assertEqual(status, 0, errors)
        model.norm = Norm(model.norm)
        torch.jit.trace(model, x).save(self.folder / "half_swapped.pt")
        for name, right in (("half_folded", True), ("half_swapped", False)):
            _, result, _ = engine("verify", self.folder / "half.pt", self.folder / f"{name}.pt")
            self.assertIs(result["right"], right, result)

    def test_a_half_type_excuses_no_other_scale(self):
        model = self.by_hand().half()
        self.write(self.model().half(), "a_half")
        self.write(model, "half")
        with torch.no_grad():
            model.norms[1].weight[3] *= 1.02
        self.write(model, "half_scaled")
        for suffix in (".pt", ".onnx"):
            self.assertTrue(self.verdicts(suffix, f"half{suffix}", "a_half")["right"])
            result = self.verdicts(suffix, f"half_scaled{suffix}", "a_half")
            self.assertIn("scale", result["norms"][1]["reason"], result)

    def test_other_sizes(self):
        """What is wrong at other lengths, or fails there, is no fold of a model that takes them."""
        path, folded = self.folder / "sizes.onnx", self.folder / "sizes_folded.onnx"
        axes = {"ids": {0: "batch", 1: "length"}}
        torch.onnx.export(self.model(), (self.ids,), path, input_names=["ids"], dynamic_axes=axes, opset_version=17, dynamo=False)
        status, _, errors = engine("fold", path, "-o", folded, "--inputs", self.folder / "ids.npz")
        self.assertEqual(status, 0, errors)
        self.assertTrue(self.verdicts(".onnx", folded.name, "sizes")["right"])
        for kind in ("differs", "fails"):
            model = onnx.load(folded)
            graph, node = model.graph, onnx.helper.make_node
            out = graph.output[0].name
            last = next(each for each in graph.node if out in each.output)
            last.output[list(last.output).index(out)] = "right"
            graph.initializer.append(numpy_helper.from_array(numpy.array([7]), "seven"))
            graph.initializer.append(numpy_helper.from_array(numpy.array([2, 7, -1]), "shape"))
            graph.node.extend({
                "differs": [node("Shape", ["ids"], ["size"], start=1, end=2), node("Equal", ["size", "seven"], ["same"]),
                            node("Neg", ["right"], ["wrong"]), node("Where", ["same", "right", "wrong"], [out])],
                "fails": [node("Reshape", ["right", "shape"], [out])],
            }[kind])
            onnx.save(model, self.folder / f"{kind}.onnx")
            result = self.verdicts(".onnx", f"{kind}.onnx", "sizes")
            self.assertFalse(result["right"], kind)
            self.assertEqual(result["refused"] is not None, kind == "fails", result)

    def test_nothing_folded(self):
        result = self.verdicts(".pt", "a.pt")
        self.assertFalse(result["right"])
        self.assertEqual({one["verdict"] for one in result["norms"]}, {"kept"})


if __name__ == "__main__":
    unittest.main()
