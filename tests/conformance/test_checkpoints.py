"""Folds checkpoints, and runs what was written in the class as it is, and with RMSNorms in it as recipe.json says: in float64,
against the checkpoint as it was."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import checkpoint_files
import torch
from samples import ENGINE, engine
from torch import nn

# Relative to the largest output. The rounding of edited weights to their type is all that differs.
LIMITS = {"F64": 1e-12, "F32": 1e-5, "BF16": 5e-2}


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix = nn.Linear(width, width)
        self.fc, self.proj = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        x = x + self.mix(self.ln_1(x))
        return x + self.proj(torch.tanh(self.fc(self.ln_2(x))))


class Model(nn.Module):
    """Pre-norm, with a head that is tied to the embedding."""

    def __init__(self, width=24, words=41, tied=True):
        super().__init__()
        self.wte = nn.Embedding(words, width)
        self.h = nn.ModuleList(Block(width) for _ in range(2))
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, words, bias=False)
        if tied:
            self.lm_head.weight = self.wte.weight
        generator = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for name, weight in self.named_parameters():
                one = name.endswith("weight") and weight.ndim == 1
                weight.copy_(torch.randn(weight.shape, generator=generator) * 0.4 + (1 if one else 0))

    def forward(self, ids):
        x = self.wte(ids)
        for block in self.h:
            x = block(x)
        return self.lm_head(self.ln_f(x))


class RmsNorm(nn.Module):
    """What a row of the recipe's norms says."""

    def __init__(self, row, source):
        super().__init__()
        self.norm = nn.RMSNorm(row["normalized_shape"], eps=row["eps"], dtype=source.weight.dtype)
        self.norm.weight = nn.Parameter(source.weight.detach().clone())
        self.bias = nn.Parameter(source.bias.detach().clone()) if row["bias_is"] == "kept" else None
        if self.bias is None and source.bias is not None:
            assert not source.bias.any(), row

    def forward(self, x):
        y = self.norm(x)
        return y if self.bias is None else y + self.bias


def swap_norms(model, recipe, front=""):
    """-> how many"""
    rows = [row for row in recipe["norms"] if row["becomes"] == "RMSNorm"]
    for row in rows:
        path = row["module"].removeprefix(front)
        owner, _, name = path.rpartition(".")
        setattr(model.get_submodule(owner), name, RmsNorm(row, model.get_submodule(path)))
    return len(rows)


def distance(a, b):
    return ((a - b).abs().max() / a.abs().max()).item()


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.hf, self.out = self.folder / "hf", self.folder / "out"
        self.hf.mkdir()
        self.ids = torch.randint(0, 41, (2, 7), generator=torch.Generator().manual_seed(1))

    def save(self, kind="F32", model=None, sharded=False, drop=(), change=None):
        """A checkpoint of `kind` with a float32 model (float64 of float64) beside it, whose weights are the checkpoint's."""
        model = (model or Model()).eval()
        state = {name: tensor.to(checkpoint_files.TYPES[kind]) for name, tensor in model.state_dict().items()}
        model = model.to(torch.float64 if kind == "F64" else torch.float32)
        model.load_state_dict(state)
        torch.jit.trace(model, (self.ids,), check_trace=False).save(str(self.folder / "model.pt"))
        tied = model.lm_head.weight is model.wte.weight
        drop = (*drop, "lm_head.weight") if tied else drop
        state["position_ids"] = torch.arange(5)
        state["nothing"] = torch.empty(0, 3)
        if change:
            change(state)
        tensors = {n: ("I64" if n == "position_ids" else kind, t) for n, t in state.items() if n not in drop}
        if sharded:
            checkpoint_files.write_sharded(self.hf, tensors)
        else:
            checkpoint_files.write(self.hf / "model.safetensors", tensors, {"format": "pt", "by": "a test"})
        (self.hf / "config.json").write_text('{"model_type": "test", "eps": 1e-05}')
        return model

    def fold(self, *options):
        return engine("fold", self.folder / "model.pt", "--weights-of", self.hf, "--weights-out", self.out, *options)

    def need_fast_norms(self):
        """Their kernels may not have been built."""
        _, _, errors = engine("fold", self.folder / "model.pt", "-o", self.folder / "fast.pt", "--norm", "fast")
        if "is not available here" in errors:
            self.skipTest("libnormlens_ops.so was not built")

    def load(self, tensors, tied):
        model = Model(tied=tied).to(torch.float64).eval()
        wanted = {name: tensor.to(torch.float64) for name, tensor in tensors.items() if name in model.state_dict()}
        if tied:
            wanted["lm_head.weight"] = wanted["wte.weight"]
        model.load_state_dict(wanted)
        return model


class Checkpoints(Folder):
    def judge(self, kind, sharded=False, options=("--policy", "free")):
        self.save(kind, sharded=sharded)
        status, told, errors = self.fold(*options)
        self.assertEqual(status, 0, errors)
        recipe = json.loads((self.out / "recipe.json").read_text())
        self.assertEqual(recipe, told["checkpoint"]["recipe"])
        before, raw_before = checkpoint_files.read_folder(self.hf)
        after, raw_after = checkpoint_files.read_folder(self.out)
        edited = {row["name"] for row in recipe["tensors"]}
        self.assertEqual({name for name in raw_after if raw_after[name] != raw_before.get(name)}, edited)
        self.assertEqual(set(after) - set(before), {row["name"] for row in recipe["tensors"] if row["added"]})
        self.assertTrue(recipe["right_under_layer_norm"])
        with torch.no_grad():
            old = self.load(before, True)(self.ids)
            new = self.load(after, not recipe["untied"])
            self.assertLess(distance(old, new(self.ids)), LIMITS[kind])
            self.assertEqual(swap_norms(new, recipe), told["folded"])
            self.assertLess(distance(old, new(self.ids)), LIMITS[kind])
        return recipe

    def test_types(self):
        for kind in LIMITS:
            with self.subTest(kind):
                recipe = self.judge(kind)
                self.assertEqual({row["dtype"] for row in recipe["tensors"]}, {kind})
                self.assertTrue(recipe["untied"])
                self.assertIs(json.loads((self.out / "config.json").read_text())["tie_word_embeddings"], False)
                self.assertEqual(checkpoint_files.read(self.out / "model.safetensors")[2], {"format": "pt", "by": "a test"})
            shutil.rmtree(self.out)

    def test_sharded(self):
        self.judge("F32", sharded=True)
        index = json.loads((self.out / "model.safetensors.index.json").read_text())
        self.assertEqual(index["weight_map"]["lm_head.weight"], index["weight_map"]["wte.weight"])

    def test_beta_stays_with_fast_norms(self):
        self.save()
        self.need_fast_norms()
        recipe = self.judge("F32", options=("--policy", "free", "--norm", "fast"))
        self.assertEqual({row["bias_is"] for row in recipe["norms"]}, {"kept"})

    def test_norms_that_were_never_trained(self):
        """Scales of ones, biases of zeros: names tell them apart."""
        model = Model()
        for module in model.modules():
            if isinstance(module, nn.LayerNorm):
                nn.init.ones_(module.weight)
                nn.init.constant_(module.bias, 0.5)
            elif isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
        self.save("F64", model)
        status, told, errors = self.fold("--policy", "free")
        self.assertEqual(status, 0, errors)
        before, after = checkpoint_files.read_folder(self.hf)[0], checkpoint_files.read_folder(self.out)[0]
        with torch.no_grad():
            old = self.load(before, True)(self.ids)
            new = self.load(after, False)
            self.assertLess(distance(old, new(self.ids)), LIMITS["F64"])
            swap_norms(new, told["checkpoint"]["recipe"])
            self.assertLess(distance(old, new(self.ids)), LIMITS["F64"])

    def test_links_of_the_cache(self):
        self.save()
        snapshot = self.folder / "models--x" / "snapshots" / "1"
        blobs = self.folder / "models--x" / "blobs"
        snapshot.mkdir(parents=True), blobs.mkdir()
        for i, file in enumerate(sorted(self.hf.iterdir())):
            file.rename(blobs / str(i))
            (snapshot / file.name).symlink_to(f"../../blobs/{i}")
        self.hf = snapshot
        self.assertEqual(self.fold()[0], 0)
        self.assertFalse(any(file.is_symlink() for file in self.out.iterdir()))


class Refused(Folder):
    def refuse(self, what, status=1, *options):
        found, told, errors = self.fold(*options)
        self.assertEqual(found, status, errors)
        self.assertIn(what, errors + ((told or {}).get("reason") or ""))
        self.assertFalse(self.out.exists() and any(self.out.iterdir()))
        self.assertEqual([p.name for p in self.folder.iterdir() if ".normlens" in p.name], [])

    def test_one_number_differs(self):
        def change(state):
            state["h.1.proj.weight"] = state["h.1.proj.weight"].clone()
            state["h.1.proj.weight"][3, 5] += 0.01

        self.save(change=change)
        self.refuse("'h.1.proj.weight' is nearest, which differs in 1 of 1152 numbers")

    def test_missing_bias(self):
        self.save(drop=["h.0.fc.bias"])
        self.refuse("has to go into 'h.0.fc.bias'")
        self.refuse("--norm fast")
        self.need_fast_norms()
        self.assertEqual(self.fold("--norm", "fast", "--policy", "free")[0], 0)

    def test_missing_shard(self):
        self.save(sharded=True)
        (self.hf / "model-00002-of-00002.safetensors").unlink()
        self.refuse("'model-00002-of-00002.safetensors', which it names, is missing", 3)

    def test_folders(self):
        self.save()
        self.out = self.hf
        found, _, errors = self.fold()
        self.assertEqual(found, 2)
        self.assertIn("is the checkpoint's own", errors)
        self.out = self.folder / "out"
        self.out.mkdir()
        (self.out / "mine").write_text("mine")
        self.assertEqual(self.fold()[0], 3)
        self.assertEqual([p.name for p in self.out.iterdir()], ["mine"])
        (self.out / "mine").unlink()
        self.assertEqual(self.fold()[0], 0)

    def test_links_that_lead_out(self):
        self.save()
        secret = self.folder / "secret"
        secret.write_text("secret")
        (self.hf / "tokenizer.json").symlink_to(secret)
        self.refuse("leads out of its folder", 3)

    def test_what_is_no_file_is_not_left_out_silently(self):
        self.save()
        inside = self.hf / "again"
        inside.symlink_to(self.hf)
        self.refuse("no regular file", 3)
        inside.unlink()
        os.mkfifo(self.hf / "vocab.txt")
        self.refuse("no regular file", 3)

    def test_broken_files(self):
        self.save()
        whole = (self.hf / "model.safetensors").read_bytes()
        for name, raw in {
            "short": whole[:-1],
            "long": whole + b"x",
            "length": b"\xff" * 8 + whole[8:],
            "empty": b"",
            "depth": (100_000).to_bytes(8, "little") + b'{"a":' + b"[" * 99_995,
        }.items():
            with self.subTest(name):
                (self.hf / "model.safetensors").write_bytes(raw)
                self.refuse("model.safetensors cannot be used", 3)

    def test_killed(self):
        """At any moment: nothing, or all of it."""
        self.save(model=Model(width=256, words=4001))
        self.ids.clamp_(max=40)
        words = [ENGINE, "fold", self.folder / "model.pt", "--no-verify"]
        words += ["--weights-of", self.hf, "--weights-out", self.out]
        for wait in (0.02, 0.1, 0.2, 0.4, 0.8):
            done = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(wait)
            os.kill(done.pid, signal.SIGKILL)
            done.wait()
            if self.out.exists():
                self.assertIn("recipe.json", os.listdir(self.out))
                shutil.rmtree(self.out)
        self.assertEqual(self.fold("--no-verify")[0], 0)
        self.assertEqual([p.name for p in self.folder.iterdir() if ".normlens" in p.name], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
