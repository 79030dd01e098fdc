"""Packages of torch.export with several models: each is opened by its name, and what is folded is that one alone."""

import pathlib
import tempfile
import unittest

import torch
from torch import nn
from torch.export import export
from torch.export.pt2_archive._package import load_pt2, package_pt2

from exported import WIDTH, Exported, records, settled
from samples import ran


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.last = nn.LayerNorm(WIDTH)


class Encode(nn.Module):
    def __init__(self, shared):
        super().__init__()
        self.shared = shared

    def forward(self, ids):
        x = self.shared.embed(ids)
        return self.shared.last(x + self.shared.out(self.shared.norm(x)))


class Decode(Encode):
    def forward(self, ids):
        return self.shared.out(self.shared.norm(self.shared.embed(ids))) @ self.shared.embed.weight.T


class Several(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.path = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        torch.manual_seed(0)
        shared = settled(Shared())
        cls.models = {"encode": Encode(shared), "decode": Decode(shared)}
        cls.ids = torch.randint(0, 11, (2, 5))
        programs = {name: export(model, (cls.ids,)) for name, model in cls.models.items()}
        cls.package = cls.path / "package.pt2"
        package_pt2(str(cls.package), exported_programs=programs)
        cls.single = cls.path / "single.pt2"
        torch.export.save(programs["encode"], cls.single)

    def test_each_is_analysed_by_its_name(self):
        for name, norms in {"encode": ["shared.norm", "shared.last"], "decode": ["shared.norm"]}.items():
            result = ran(self, "analyze", self.package, "--model", name)
            self.assertEqual([norm["name"] for norm in result["layer_norms"]], norms)
        ran(self, "check", self.package, "--model", "encode")

    def test_a_name_that_is_not_there_is_told_those_that_are(self):
        for verb in ("analyze", "check", "probe", "bench"):
            result = ran(self, verb, self.package, "--model", "encoder", expected=2)
            message = result["error"]["message"] if "error" in result else result["stages"][-1]["error"]
            self.assertIn("holds no model 'encoder' but decode, encode", message)
        ran(self, "analyze", self.single, "--model", "encode", expected=2)
        script = self.path / "script.pt"
        torch.jit.trace(self.models["encode"], self.ids, check_trace=False).save(str(script))
        result = ran(self, "analyze", script, "--model", "encode", expected=2)
        self.assertIn("holds one model, which has no name", result["error"]["message"])

    def test_the_chosen_one_is_folded_and_the_other_stays(self):
        before = records(self.package)
        for name, other in (("encode", "decode"), ("decode", "encode")):
            with self.subTest(name):
                out = self.path / f"{name}.pt2"
                result = ran(self, "fold", self.package, "-o", out, "--policy", "all", "--model", name)
                self.assertGreater(result["folded"], 0)
                self.assertIs(result["verify"]["exact"], True, result["verify"])
                after = records(out)
                changed = {record for record in before if before[record] != after.get(record)}
                self.assertEqual(changed, {f"models/{name}.json", f"data/weights/{name}_weights_config.json"})
                loaded = load_pt2(str(out)).exported_programs
                self.assertEqual(set(loaded), set(self.models))
                self.assertLess(Exported.gap(self, self.models[name], loaded[name].module(), self.ids), 2e-5)
                unfolded = load_pt2(str(self.package)).exported_programs[other]
                self.assertEqual(Exported.gap(self, unfolded.module(), loaded[other].module(), self.ids), 0)
                targets = [str(node.target) for node in loaded[name].graph.nodes]
                self.assertNotIn("aten.layer_norm.default", targets)
                ran(self, "diff", self.package, out, "--model", name, "--fail-above", "1e-4")
                # A file that holds one model is that one, whatever it is called.
                alone = self.path / f"{name}.pt"
                ran(self, "fold", self.package, "-o", alone, "--policy", "all", "--model", name)
                ran(self, "diff", self.package, alone, "--model", name, "--fail-above", "1e-4")

    def test_a_second_fold_keeps_the_first(self):
        first, second = self.path / "first.pt2", self.path / "second.pt2"
        ran(self, "fold", self.package, "-o", first, "--policy", "all", "--model", "encode")
        ran(self, "fold", first, "-o", second, "--policy", "all", "--model", "decode")
        loaded = load_pt2(str(second)).exported_programs
        for name, model in self.models.items():
            self.assertNotIn("aten.layer_norm.default", [str(node.target) for node in loaded[name].graph.nodes])
            self.assertLess(Exported.gap(self, model, loaded[name].module(), self.ids), 2e-5)

    def test_a_plan_is_of_one_model(self):
        plan, out = self.path / "plan.json", self.path / "planned.pt2"
        ran(self, "fold", self.package, "-o", out, "--model", "encode", "--policy", "all", "--save-plan", plan)
        ran(self, "fold", self.package, "-o", out, "--model", "encode", "--plan", plan)
        result = ran(self, "fold", self.package, "-o", out, "--model", "decode", "--plan", plan, expected=3)
        self.assertIn("made for another model", result["error"]["message"])
