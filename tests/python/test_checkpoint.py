"""normlens.fold_folder: what is written, what of it is a stranger's, and that a folder is written completely or not at all.

    run_tests.py test_checkpoint.py ENGINE
"""

import contextlib
import io
import json
import os
import pathlib
import pickle
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile
from unittest import mock

from checkpoints import IDS, IMAGE, assert_equal_in_float64, assert_equal_within_rounding, loaded, model_of, rms_norms, saved

import normlens
import package
import timm
import torch
from safetensors.torch import load_file, save_file

from normlens.atlas.models import settled
from normlens.checkpoint import code
from normlens.checkpoint.__main__ import main

LM = "AutoModelForCausalLM"
WEIGHTS, INDEX, TIED = "model.safetensors", "model.safetensors.index.json", "lm_head.weight"


def gpt2(dtype=torch.float32):
    return model_of("GPT2LMHeadModel", dtype)


def tensors_of(folder):
    return {name: tensor for file in sorted(folder.glob("*.safetensors")) for name, tensor in load_file(file).items()}


def changed_json(path, **new):
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, **new}))


class Checkpoint(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.source, self.output = self.folder / "source", self.folder / "folded"

    def command(self, *words):
        """(exit code, stdout, stderr)"""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code_ = main([str(word) for word in words])
            except SystemExit as ended:
                code_ = ended.code
        return code_, out.getvalue(), err.getvalue()


class Command(Checkpoint):
    """The engine's verb hands a folder on to the package."""

    def engine(self, *words, **variables):
        environment = {**os.environ, "NORMLENS_PYTHON": sys.executable, **variables}
        done = subprocess.run([package.ENGINE, "fold", *map(str, words)], env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_fold(self):
        saved(gpt2(torch.float32), self.source)
        code_, out, err = self.engine(self.source, "-o", self.output, "--json")
        self.assertEqual((code_, len(json.loads(out)["folded"])), (0, 5), err)
        self.assertTrue((self.output / "modeling_normlens.py").exists())
        self.assertEqual(self.engine(self.source, "-o", self.output)[0], 3)  # it is there now

    def test_what_it_does_not_take(self):
        saved(gpt2(torch.float32), self.source)
        for words, variables, said, code_ in (
            (("--norm", "fast"), {}, "--norm is for files", 2),
            ((), {"NORMLENS_PYTHON": "/nonexistent"}, "cannot be started", 3),
            (("--policy", "paper"), {}, "invalid choice", 2),
        ):
            found, _, err = self.engine(self.source, "-o", self.output, *words, **variables)
            self.assertEqual(found, code_, err)
            self.assertIn(said, err)
            self.assertFalse(self.output.exists())


    def test_a_signal_leaves_nothing(self):
        saved(gpt2(torch.float32), self.source)
        environment = {**os.environ, "NORMLENS_PYTHON": sys.executable}
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            words = [package.ENGINE, "fold", str(self.source), "-o", str(self.output)]
            with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                while process.poll() is None and len(list(self.folder.iterdir())) == 1:
                    time.sleep(0.01)
                process.send_signal(number)
                errors = process.communicate(timeout=60)[1]
            self.assertEqual((process.returncode, "Traceback" in errors), (128 + number, False), errors)
            self.assertEqual([path.name for path in self.folder.iterdir()], ["source"])

    def test_waiting_threads_of_the_engine_sleep(self):
        saved(gpt2(torch.float32), self.source)
        script = self.source / "python"
        script.write_text('#!/bin/sh\necho "$GOMP_SPINCOUNT"\n', encoding="utf-8")
        script.chmod(0o755)
        for variables, turns in (({}, "3000"), ({"OMP_WAIT_POLICY": "active"}, ""), ({"GOMP_SPINCOUNT": "7"}, "7")):
            with mock.patch.dict(os.environ):
                for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
                    os.environ.pop(name, None)
                self.assertEqual(self.engine(self.source, "-o", self.output, NORMLENS_PYTHON=str(script), **variables)[1].strip(), turns)


class Written(Checkpoint):
    """What OUT_DIR holds."""

    def fold(self, auto=LM, inputs=IDS, dtype=torch.float32, compare=assert_equal_within_rounding, **options):
        report = normlens.fold_folder(self.source, self.output, **options)
        for trusted in (True, False):
            model = loaded(self, self.output, auto, dtype, trusted)
            self.assertEqual(len(rms_norms(model)), len(report.folded) if trusted else 0)
            compare(self, model, loaded(self, self.source, auto, dtype, False), inputs)
        return report

    def test_a_sharded_bfloat16_checkpoint_is_judged_and_written_as_such(self):
        saved(gpt2(torch.bfloat16), self.source, max_shard_size="20KB")
        report = self.fold(dtype=torch.bfloat16)
        before, after = (json.loads((each / INDEX).read_text())["weight_map"] for each in (self.source, self.output))
        self.assertGreater(len(set(before.values())), 2)
        self.assertEqual({name: file for name, file in after.items() if name != TIED}, before)
        self.assertIn(TIED, after)
        self.assertEqual({tensor.dtype for tensor in tensors_of(self.output).values()}, {torch.bfloat16})
        self.assertEqual({check.dtype for check in report.checks}, {"float64", "bfloat16"})
        moved, rounding = re.search(r"In bfloat16, outputs moved by (\S+) of the largest; .* by (\S+)\.$", report.notes[-1]).groups()
        self.assertTrue(1e-4 < float(moved) < 6 * float(rounding) < 0.3, report.notes)

    def test_a_tied_head_gets_a_tensor_of_its_own(self):
        saved(gpt2(), self.source)
        report = self.fold()
        self.assertEqual(len(report.untied), 1)
        before, after = tensors_of(self.source), tensors_of(self.output)
        self.assertEqual(after.keys() - before.keys(), {TIED})
        self.assertTrue(torch.equal(after[TIED], before["transformer.wte.weight"]))
        self.assertLess(after["transformer.wte.weight"].mean(-1).abs().max(), 1e-7)
        self.assertIs(json.loads((self.output / "config.json").read_text())["tie_word_embeddings"], False)

    def test_text_is_generated_as_before(self):
        saved(gpt2(torch.float64), self.source)
        normlens.fold_folder(self.source, self.output)
        given = {**IDS, "max_new_tokens": 8, "min_new_tokens": 8, "do_sample": False}
        expected = loaded(self, self.source, LM, torch.float64, False).generate(**given)
        for trusted in (True, False):
            self.assertTrue(torch.equal(loaded(self, self.output, LM, torch.float64, trusted).generate(**given), expected))

    def test_each_tensor_keeps_its_own_type(self):
        """Norms in float32, all else in bfloat16."""
        saved(gpt2(torch.bfloat16), self.source)
        mixed = {name: one.float() if "ln_" in name else one for name, one in tensors_of(self.source).items()}
        save_file(mixed, self.source / WEIGHTS, {"format": "pt"})
        self.fold(dtype=torch.bfloat16)
        after = tensors_of(self.output)
        self.assertEqual({name: one.dtype for name, one in after.items() if name != TIED}, {name: one.dtype for name, one in mixed.items()})

    def test_names_of_tensors_stay_as_they_are(self):
        """Without the prefix of the class, and with tensors that no class reads."""
        saved(gpt2(), self.source)
        held = {name.removeprefix("transformer."): one for name, one in tensors_of(self.source).items()}
        held["h.0.attn.bias"] = torch.ones(1, 1, 64, 64).tril()
        save_file(held, self.source / WEIGHTS, {"format": "pt"})
        self.fold()
        after = tensors_of(self.output)
        self.assertEqual(after.keys() - held.keys(), {TIED})
        self.assertTrue(torch.equal(after["h.0.attn.bias"], held["h.0.attn.bias"]))

    def test_a_pickle_of_tensors_becomes_safetensors(self):
        saved(gpt2(), self.source)
        torch.save(tensors_of(self.source), self.source / "pytorch_model.bin")
        (self.source / WEIGHTS).unlink()
        self.fold()
        self.assertEqual([path.name for path in self.output.glob("*model*") if path.suffix != ".py"], [WEIGHTS])
        self.assertEqual((self.output / WEIGHTS).stat().st_mode, (self.output / "config.json").stat().st_mode)

    def test_files_of_the_tokenizer_are_copied_and_no_others(self):
        saved(gpt2(), self.source)
        for name in ("tokenizer.json", "vocab.txt", "LICENSE", "evil.py", "optimizer.pt", ".hidden.json"):
            (self.source / name).write_text("{}")
        normlens.fold_folder(self.source, self.output)
        self.assertEqual(
            sorted(path.name for path in self.output.iterdir()),
            ["LICENSE", "config.json", "generation_config.json", WEIGHTS, "modeling_normlens.py", "tokenizer.json", "vocab.txt"],
        )

    def test_a_hub_snapshot_is_read_through_its_links(self):
        saved(gpt2(), self.folder / "plain")
        snapshot, blobs = self.folder / "cache" / "snapshots" / "abc", self.folder / "cache" / "blobs"
        snapshot.mkdir(parents=True), blobs.mkdir()
        for path in (self.folder / "plain").iterdir():
            shutil.move(path, blobs / f"blob-{path.name}")
            (snapshot / path.name).symlink_to(f"../../blobs/blob-{path.name}")
        self.assertEqual(len(normlens.fold_folder(snapshot, self.output).folded), 5)
        self.assertFalse(any(path.is_symlink() for path in self.output.iterdir()))

    def test_centerings_at_run_time_are_in_the_class(self):
        """The stream of BLOOM begins with a LayerNorm: the class centers its output, the unchanged class need not."""
        saved(model_of("BloomForCausalLM", torch.float64), self.source)
        report = self.fold(dtype=torch.float64, compare=assert_equal_in_float64, policy="all", max_growth=100)
        self.assertEqual(len(report.folded), 6)
        self.assertIn("CENTERED", (self.output / "modeling_normlens.py").read_text())

    def test_a_norm_that_computes_its_weight_keeps_its_place(self):
        """Nemotron's adds 1 to it: the numbers in the file are not those of an RMSNorm."""
        saved(model_of("NemotronForCausalLM", num_key_value_heads=4), self.source)
        report = normlens.fold_folder(self.source, self.output)
        self.assertIsNone(report.output)
        self.assertIn("computes its weight", next(iter(report.kept.values())))

    def test_numbers_that_the_class_computes_are_in_no_file(self):
        """XGLM's positions are sines, and made again where they are too few."""
        saved(model_of("XGLMForCausalLM", attention_heads=4), self.source)
        status, _, said = self.command(self.source, "-o", self.output)
        self.assertEqual((status, self.output.exists()), (3, False))
        self.assertIn("would center model.embed_positions.weights", said)

    def test_a_norm_without_parameters(self):
        saved(model_of("OlmoForCausalLM"), self.source)
        self.assertGreater(len(self.fold().folded), 0)

    def test_an_attention_that_is_not_installed_makes_no_difference(self):
        """The folder is judged with the plain one, and keeps its own setting."""
        saved(gpt2(), self.source)
        changed_json(self.source / "config.json", attn_implementation="flash_attention_2")
        with mock.patch("socket.socket.connect", side_effect=AssertionError("something was looked up")):
            self.assertEqual(len(normlens.fold_folder(self.source, self.output).folded), 5)
        self.assertEqual(json.loads((self.output / "config.json").read_text())["attn_implementation"], "flash_attention_2")

    def test_nothing_is_written_where_nothing_folds(self):
        saved(model_of("LlamaForCausalLM"), self.source)
        self.assertEqual(self.command(self.source, "-o", self.output)[0], 0)
        self.assertFalse(self.output.exists())

    def test_weights_of_norms_move_into_the_linear_layers(self):
        """LLaMA's class stays as it is; GPT-2's gets RMSNorms, and its last norm, behind which a tied head has no bias, keeps both."""
        for name, moved, has_code in (("LlamaForCausalLM", 5, False), ("GPT2LMHeadModel", 4, True)):
            with self.subTest(name), tempfile.TemporaryDirectory() as made:
                source, output = pathlib.Path(made) / "source", pathlib.Path(made) / "folded"
                original = model_of(name, torch.float64)
                saved(original, source)
                self.assertEqual(self.command(source, "-o", output, "--gamma", "fold", "--quiet")[0], 0)
                gammas = [tensor for tensor_name, tensor in tensors_of(output).items() if "ln_" in tensor_name or "norm" in tensor_name]
                gammas = [tensor for tensor in gammas if bool((tensor == 1).all())]
                self.assertEqual((len(gammas), (output / "modeling_normlens.py").exists()), (moved, has_code))
                self.assertEqual("auto_map" in json.loads((output / "config.json").read_text()), has_code)
                for code_ in {False, has_code}:
                    assert_equal_in_float64(self, loaded(self, output, LM, torch.float64, code_), original, IDS)

    def test_the_command_prints_the_report(self):
        saved(gpt2(), self.source)
        status, text, _ = self.command(self.source, "-o", self.output, "--json")
        told = json.loads(text)
        self.assertEqual((status, len(told["folded"]), told["output"]), (0, 5, str(self.output)))
        self.assertTrue(all(check["passed"] for check in told["checks"]))
        self.assertEqual(self.command(self.source)[0], 2)


    def test_an_index_of_one_shard(self):
        saved(gpt2(), self.source)
        held, only = tensors_of(self.source), "model-00001-of-00001.safetensors"
        (self.source / WEIGHTS).rename(self.source / only)
        (self.source / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": {name: only for name in held}}))
        self.fold()
        self.assertEqual([path.name for path in self.output.glob("model*.s*")], [WEIGHTS])

    def test_an_empty_folder_is_filled_and_stays_the_one_it_is(self):
        saved(gpt2(), self.source)
        self.output.mkdir(mode=0o700)
        before, here = self.output.stat(), os.getcwd()
        with mock.patch("normlens.checkpoint.folder.save_file", side_effect=OSError(28, "No space left on device")):
            self.assertEqual(self.command(self.source, "-o", self.output)[0], 3)
        self.assertEqual(list(self.output.iterdir()), [])
        os.chdir(self.output)
        self.addCleanup(os.chdir, here)
        self.assertEqual(self.command(self.source, "-o", ".", "--quiet")[0], 0)
        self.assertEqual((self.output.stat().st_ino, self.output.stat().st_mode), (before.st_ino, before.st_mode))
        self.assertEqual({path.name for path in self.output.iterdir()}, {"config.json", "generation_config.json", WEIGHTS, "modeling_normlens.py"})

    def test_a_folder_that_is_not_filled_is_empty(self):
        """What was moved is removed; config.json is moved last."""
        saved(gpt2(), self.source)
        self.output.mkdir()
        rename = pathlib.Path.rename

        def fails(path, to):
            return rename(path, to) if path.name != "config.json" else (_ for _ in ()).throw(OSError(5, "Input/output error"))

        with mock.patch.object(pathlib.Path, "rename", fails):
            self.assertIn("Input/output error", self.command(self.source, "-o", self.output)[2])
        self.assertEqual(list(self.output.iterdir()), [])

    def test_weights_of_zeros(self):
        saved(gpt2(), self.source)
        save_file({name: torch.zeros_like(one) for name, one in tensors_of(self.source).items()}, self.source / WEIGHTS, {"format": "pt"})
        self.assertIn("outputs moved by 0.0e+00", normlens.fold_folder(self.source, self.output).notes[-1])

    def test_a_name_of_250_letters(self):
        saved(gpt2(), self.source)
        self.assertEqual(self.command(self.source, "-o", self.folder / ("o" * 250), "--quiet")[0], 0)

    def test_what_a_tokenizer_has_is_copied_unread(self):
        saved(gpt2(), self.source)
        (self.source / "tokenizer.json").write_bytes(b"[" + b"[]," * 3_000_000)
        normlens.fold_folder(self.source, self.output)
        self.assertEqual((self.output / "tokenizer.json").stat().st_size, 9_000_001)


class Timm(Checkpoint):
    def test_a_model_of_timm(self):
        from timm.models import _hub

        sizes = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 2, "num_heads": 2, "init_values": 0.1}
        model = settled(timm.create_model("vit_tiny_patch16_224", num_classes=5, **sizes)).eval()
        _hub.save_for_hf(model, self.source, safe_serialization=True)
        report = normlens.fold_folder(self.source, self.output)
        self.assertEqual(len(report.folded), 5)
        self.assertEqual((self.output / "config.json").read_text().split(), (self.source / "config.json").read_text().split())
        x = IMAGE["pixel_values"].float()
        folded = timm.create_model(f"local-dir:{self.output}", pretrained=True).eval()
        self.assertLess((folded(x) - model(x)).abs().max().item(), 1e-5)
        snippet = re.search(r"```python\n(.*)```", (self.output / "README.md").read_text(), re.DOTALL).group(1)
        names = {}
        with mock.patch.object(sys, "path", [str(self.output), *sys.path]), mock.patch.object(sys, "dont_write_bytecode", True):
            exec(snippet.replace("FOLDER", str(self.output)), names)
        self.assertEqual(len(rms_norms(names["model"])), 5)
        self.assertLess((names["model"].eval()(x) - model(x)).abs().max().item(), 1e-5)

    def test_a_configuration_of_transformers_hands_timm_no_file(self):
        """Its wrapper gives model_args to timm, which would unpickle the file."""
        marker, other = self.folder / "it_ran", self.folder / "other.bin"
        torch.save({"a": Runs(marker)}, other)
        wrapper = {"model_type": "timm_wrapper", "architecture": "vit_tiny_patch16_224", "num_classes": 5}
        self.source.mkdir()
        save_file({"a": torch.ones(9_000_000)}, self.source / WEIGHTS)
        for said, config in (
            ("'checkpoint_path', which is no size", {"model_args": {"checkpoint_path": str(other)}}),
            ("'pretrained_cfg', which is no size", {"model_args": {"a": [{"pretrained_cfg": {"file": str(other)}}]}}),
            ("'model_args', which is no size", {"model_args": [str(other)]}),
            ("'checkpoint_path', which is no size", {"vision_config": {**wrapper, "model_args": {"checkpoint_path": str(other)}}}),
            ("'checkpoint_path', which is no size", {"backbone": "resnet18", "backbone_kwargs": {"checkpoint_path": str(other)}}),
            ("names a model elsewhere", {"architecture": f"local-dir:{self.folder}"}),
            ("names a model elsewhere", {"a": [{"use_timm_backbone": True, "use_pretrained_backbone": True, "backbone": str(self.folder)}]}),
        ):
            with self.subTest(config=config):
                named = {**wrapper, "architectures": ["TimmWrapperForImageClassification"], **config}
                (self.source / "config.json").write_text(json.dumps(named))
                status, _, errors = self.command(self.source, "-o", self.output)
                self.assertEqual((status, marker.exists()), (3, False), errors)
                self.assertIn(said, errors)
                with mock.patch("normlens.checkpoint.source._check_settings"):  # the second wall
                    status, _, errors = self.command(self.source, "-o", self.output)
                self.assertEqual((status, marker.exists()), (3, False), errors)
        (self.source / "config.json").write_text(json.dumps({**wrapper, "architectures": ["TimmWrapperModel"], "model_args": {"checkpoint_path": str(other)}}))
        with mock.patch("normlens.checkpoint.source._check_settings"):
            self.assertIn("makes its class read a file", self.command(self.source, "-o", self.output)[2])

    def test_a_wrapped_model_of_timm(self):
        sizes = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 2, "num_heads": 2}
        config = {"architecture": "vit_tiny_patch16_224", "model_args": sizes, "num_labels": 5, "image_size": 32, "backbone": None}
        saved(model_of("TimmWrapperForImageClassification", **config), self.source)
        self.assertEqual(len(normlens.fold_folder(self.source, self.output).folded), 5)

    def test_arguments_that_read_other_files_are_refused(self):
        self.source.mkdir()
        save_file({"a": torch.ones(1)}, self.source / WEIGHTS)
        for config in ({"model_args": {"checkpoint_path": "/x.pth"}}, {"model_args": {"pretrained": True}}, {"architecture": "hf-hub:a/b"}):
            (self.source / "config.json").write_text(json.dumps({"architecture": "vit_tiny_patch16_224", "num_classes": 5, **config}))
            with self.assertRaises(normlens.FolderRefused):
                normlens.fold_folder(self.source, self.output)


    def test_what_config_json_describes(self):
        self.source.mkdir()
        model = timm.create_model("vit_tiny_patch16_224", img_size=32, patch_size=8, embed_dim=24, depth=2, num_heads=2, num_classes=5)
        save_file(model.state_dict(), self.source / WEIGHTS)
        sizes = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 2, "num_heads": 2}
        for said, arguments, image in (
            ("describes a model of more than", {"embed_dim": 24000}, [3, 32, 32]),
            ("describes a model of more than", {"depth": 10**7}, [3, 32, 32]),
            ("which is too large to try", {}, [3, 200000, 200000]),
            ("which is not one of an image", {}, ["3", "a", "b"]),
            ("which is not one of an image", {}, 224),
        ):
            with self.subTest(arguments=arguments, image=image):
                config = {"architecture": "vit_tiny_patch16_224", "num_classes": 5, "model_args": {**sizes, **arguments}}
                config["pretrained_cfg"] = {"input_size": image}
                (self.source / "config.json").write_text(json.dumps(config))
                status, _, errors = self.command(self.source, "-o", self.output)
                self.assertEqual((status, self.output.exists()), (3, False), errors)
                self.assertIn(said, errors)


class Runs:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return pathlib.Path.touch, (self.marker,)


OWN = """
import pathlib
from transformers import GPT2Config, GPT2LMHeadModel
pathlib.Path({marker!r}).touch()
class OwnConfig(GPT2Config):
    model_type = "own"
class OwnModel(GPT2LMHeadModel):
    config_class = OwnConfig
"""


class Hostile(Checkpoint):
    """Each breaks a folder that folds, and names a part of what is said."""

    def setUp(self):
        super().setUp()
        self.marker = self.folder / "it_ran"
        saved(gpt2(), self.source, max_shard_size="20KB")
        self.shard = sorted(self.source.glob("*.safetensors"))[0]

    def map(self, **new):
        names = json.loads((self.source / INDEX).read_text())["weight_map"]
        changed_json(self.source / INDEX, weight_map={**names, **new})

    def config(self, **new):
        changed_json(self.source / "config.json", **new)

    def refused(self, said, *words):
        status, out, err = self.command(self.source, "-o", self.output, *words)
        self.assertEqual((status, out, err.count("\n")), (3, "", 1), err)
        self.assertRegex(err, said)
        self.assertFalse(self.marker.exists(), "code of the folder ran")
        self.assertEqual({path.name for path in self.folder.iterdir()} - {"elsewhere"}, {"source"}, "something was left")

    def test_names_in_the_index(self):
        name = "transformer.wte.weight"
        for file in ("../elsewhere.safetensors", "/etc/passwd", "a/b.safetensors", "..", "x.py", "\0.safetensors", ".hidden.bin"):
            with self.subTest(file):
                self.map(**{name: file})
                self.refused("is no weights file of the folder")
        self.map(**{name: "missing.safetensors"})
        self.refused("missing.safetensors is missing")
        self.map(**{name: 7})
        self.refused("has no weight_map")

    def test_an_index_that_does_not_fit(self):
        self.map(**{"invented.weight": self.shard.name})
        self.refused("has the tensor 'invented.weight', which it has not")

    def test_two_shards_of_one_name(self):
        held = {file.name: load_file(file) for file in sorted(self.source.glob("*.safetensors"))}
        names = json.loads((self.source / INDEX).read_text())["weight_map"]
        first, second = list(held)[:2]
        for one, other in (("a.bin", "a.safetensors"), ("pytorch_model.bin", second)):
            torch.save(held[first], self.source / one)
            save_file(held[second], self.source / other)
            new = {first: one, second: other}
            changed_json(self.source / INDEX, weight_map={name: new.get(file, file) for name, file in names.items()})
            self.refused("two of which would have one name")

    def test_a_tensor_in_two_files(self):
        other = sorted(self.source.glob("*.safetensors"))[1]
        save_file({**load_file(other), **load_file(self.shard)}, other)
        self.refused("is in two files of the folder")

    def test_links_out_of_the_folder(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "secret.json").write_text("{}")
        (self.source / "tokenizer.json").symlink_to(elsewhere / "secret.json")
        self.refused("is a link to a file outside the folder")
        (self.source / "tokenizer.json").unlink()
        shutil.move(self.shard, elsewhere / "weights")
        self.shard.symlink_to(elsewhere / "weights")
        self.refused("is a link to a file outside the folder")

    def test_links_that_lead_nowhere(self):
        for name in ("tokenizer.json", "config.json"):
            for to in ("nowhere", name, "/dev/null", "/"):
                with self.subTest(name=name, to=to):
                    (self.source / name).unlink(missing_ok=True)
                    (self.source / name).symlink_to(to)
                    self.refused(f"{name} is (missing, or a link that leads nowhere|a link to a file outside the folder)")
                    (self.source / name).unlink()

    def test_damaged_weights(self):
        whole = self.shard.read_bytes()
        for broken in (b"", whole[:5], whole[:-7], struct.pack("<Q", 1 << 62) + whole[8:], struct.pack("<Q", 1 << 26) + whole[8:]):
            self.shard.write_bytes(broken)
            self.refused("cannot be read")

    def test_a_pickle_with_code(self):
        for path in self.source.glob("model*"):
            path.unlink()
        (self.source / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Runs(self.marker)}))
        self.refused("was not run|cannot be read")
        torch.save({"a": Runs(self.marker)}, self.source / "pytorch_model.bin")
        self.refused("was not run|cannot be read")
        torch.save({"a": torch.nn.Parameter(torch.ones(2)).to_sparse()}, self.source / "pytorch_model.bin")
        self.refused("no plain tensor")

    def pickled(self, **tensors):
        """The folder's weights, and those, as a pickle."""
        held = tensors_of(self.source)
        for path in self.source.glob("model*"):
            path.unlink()
        torch.save({**held, **tensors}, self.source / "pytorch_model.bin")

    def test_a_pickle_that_would_take_the_memory(self):
        one = torch.zeros(1 << 20)
        self.pickled(**{f"alias{number}": one.view(-1) for number in range(40)})
        self.refused("the same numbers many names")
        self.pickled(other=torch.empty(1 << 40, device="meta"))
        self.refused("'other', which is no plain tensor")
        self.pickled(other=one)
        path = self.source / "pytorch_model.bin"
        records = {record.filename: archive.read(record) for archive in [zipfile.ZipFile(path)] for record in archive.infolist()}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in records.items():
                archive.writestr(name, content)
        self.refused("has compressed or shared records")

    def test_a_damaged_pickle(self):
        self.pickled()
        for content in (b"\x80\x02.", b"\x80\x020.", b"PK\3\4"):
            (self.source / "pytorch_model.bin").write_bytes(content)
            self.refused("was not run$|cannot be read: .")

    def test_weights_that_are_not_finite(self):
        held = load_file(self.shard)
        name = next(name for name, one in held.items() if one.is_floating_point())
        for number in ("inf", "nan"):
            save_file({**held, name: held[name] + float(number)}, self.shard)
            self.refused(f"{name} has infinite numbers, or some that are none")

    def test_json_that_would_take_the_memory(self):
        for name in ("config.json", "tokenizer_config.json"):
            for said, text in (("more than 4 MB", '"' + "a" * (5 << 20) + '"'), ("more than 262144 lists", "[" + "[]," * 300_000 + "[]]")):
                before = (self.source / name).read_text() if (self.source / name).exists() else "{}"
                (self.source / name).write_text(text)
                self.refused(said)
                (self.source / name).write_text(before)

    def test_code_without_the_flag(self):
        (self.source / "modeling_own.py").write_text(OWN.format(marker=str(self.marker)))
        own = {"AutoConfig": "modeling_own.OwnConfig", LM: "modeling_own.OwnModel"}
        self.config(auto_map=own, architectures=["OwnModel"], model_type="own")
        self.refused("--trust-remote-code")
        self.config(auto_map={LM: "someone/repo--modeling_own.OwnModel"})
        self.refused("another repository", "--trust-remote-code")
        self.config(auto_map=None, architectures=["GPT2LMHeadModel"], model_type="gpt2")
        (self.source / "tokenizer_config.json").write_text('{"a": [{"auto\\u005fmap": {"AutoTokenizer": "x.X"}}]}')
        self.refused("tokenizer_config.json names code of the folder")

    def test_code_with_the_flag(self):
        (self.source / "modeling_own.py").write_text(OWN.format(marker=str(self.marker)))
        own = {"AutoConfig": "modeling_own.OwnConfig", LM: "modeling_own.OwnModel"}
        self.config(auto_map=own, architectures=["OwnModel"], model_type="own")
        report = normlens.fold_folder(self.source, self.output, trust_remote_code=True)
        self.assertTrue(self.marker.exists())
        self.assertTrue((self.output / "modeling_own.py").exists())
        self.assertFalse((self.source / "__pycache__").exists() or (self.output / "__pycache__").exists())
        folded = loaded(self, self.output, LM, torch.float32, True)
        self.assertEqual(len(rms_norms(folded)), len(report.folded))
        assert_equal_within_rounding(self, folded, loaded(self, self.source, LM, torch.float32, True), IDS)

    def test_what_config_json_describes(self):
        told = {
            "is no model of transformers": [{"architectures": [name]} for name in ("NoSuchModel", "AutoModel", "pipeline", "__doc__", "a.b")],
            "does not name one class": [{"architectures": one} for one in ([], None, "GPT2LMHeadModel", ["A", "B"], [7])],
            "is not BertModel's": [{"architectures": ["BertModel"]}],
            "quantized": [{"quantization_config": {"quant_method": "gptq"}}],
            "names code of a repository": [{"attn_implementation": "someone/kernels"}, {"a": {"_attn_implementation": "x/y"}}],
            "describes a model of": [{"n_embd": 4096, "n_layer": 40}, {"n_layer": 10**6}, {"a": {"decoder_layers": 10**9}}],
            "cannot be made": [{"n_head": 7}, {"n_embd": -4}, {"n_layer": "many"}, {"activation_function": "os.system"}, {"n_inner": 50}],
        }
        for said, changes in told.items():
            for change in changes:
                with self.subTest(change):
                    before = (self.source / "config.json").read_text()
                    self.config(**change)
                    self.refused(said)
                    (self.source / "config.json").write_text(before)

    def test_names_that_are_no_text_are_kept(self):
        self.config(note="\ud800")
        normlens.fold_folder(self.source, self.output)
        self.assertEqual(json.loads((self.output / "config.json").read_text())["note"], "\ud800")

    def test_a_tensor_that_repeats_its_numbers(self):
        for path in self.source.glob("model*"):
            path.unlink()
        torch.save({"a": torch.zeros(1).expand(1 << 29)}, self.source / "pytorch_model.bin")
        self.refused("repeats the numbers")

    def test_a_fold_is_not_folded_with_its_code(self):
        (self.source / "modeling_normlens.py").write_text("")
        self.refused("is a fold already", "--trust-remote-code")

    def test_what_stops_it_leaves_nothing(self):
        slow = "import os, time; import normlens.checkpoint.folder as f; f._write = lambda *_: (open(os.path.join(str(_[0]), 'a'), 'w'), print('half', flush=True), time.sleep(60)); from normlens.checkpoint.__main__ import program; program()"
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            process = subprocess.Popen(
                [sys.executable, "-c", slow, self.source, "-o", self.output], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env={**os.environ, "PYTHONPATH": str(package.ROOT / "app" / "python")},
            )
            self.assertEqual(process.stdout.readline(), "half\n")
            process.send_signal(number)
            _, errors = process.communicate(timeout=30)
            self.assertEqual((process.returncode, errors), (128 + number, ""))
            self.assertEqual([path.name for path in self.output.parent.iterdir() if path.name.startswith(".")], [])

    def test_an_output_that_cannot_be_made_is_told_before_the_work(self):
        loop = self.folder / "elsewhere"
        loop.symlink_to(loop)
        with mock.patch("normlens.checkpoint.folder.read_source", side_effect=AssertionError("it worked")):
            for output in ("/proc/x", self.folder / ("o" * 300), loop, loop / "x", self.folder / "\udcff", "/dev/null/x"):
                with self.subTest(output=output), self.assertRaises(normlens.FolderRefused):
                    normlens.fold_folder(self.source, output)
            with mock.patch.object(pathlib.Path, "mkdir", side_effect=OSError(30, "Read-only file system")):
                with self.assertRaisesRegex(normlens.FolderRefused, "cannot be written: Read-only file system"):
                    normlens.fold_folder(self.source, self.output)

    def test_a_full_disk_is_a_sentence(self):
        with mock.patch("normlens.checkpoint.folder.save_file", side_effect=OSError(28, "No space left on device")):
            with self.assertRaisesRegex(normlens.FolderRefused, "cannot be written: No space left"):
                normlens.fold_folder(self.source, self.output)
        self.assertFalse(self.output.exists())

    def test_a_config_that_is_none(self):
        for text in ("", "[]", "{", "[" * 100000, '{"a": ' * 100000, "\xff"):
            (self.source / "config.json").write_bytes(text.encode("latin-1"))
            self.refused("is no JSON")
        (self.source / "config.json").unlink()
        self.refused("has no config.json")

    def test_a_head_without_weights(self):
        """Its numbers would be drawn at each load."""
        self.config(architectures=["GPT2ForSequenceClassification"])
        self.refused("score.weight is not among the weights")

    def test_an_adapter(self):
        (self.source / "adapter_config.json").write_text("{}")
        self.refused("is an adapter")

    def test_what_output_may_be(self):
        def refused(output):
            with self.assertRaises(normlens.FolderRefused):
                normlens.fold_folder(self.source, output)

        held = {path: path.read_bytes() for path in self.source.iterdir()}
        refused(self.source)
        refused(self.source / "inside")
        refused(self.folder)
        refused(self.folder / "none" / "folded")
        self.output.write_text("")
        refused(self.output)
        self.output.unlink()
        self.output.mkdir()
        (self.output / "kept").write_text("mine")
        refused(self.output)
        self.assertEqual([path.name for path in self.output.iterdir()], ["kept"])
        (self.output / "kept").unlink()
        self.assertEqual(normlens.fold_folder(self.source, self.output).output, self.output)
        self.assertEqual({path: path.read_bytes() for path in self.source.iterdir()}, held)

    def test_a_folder_that_is_not_equal_is_not_written(self):
        for old, new in (("+ self.bias", "- self.bias"), ("rms_norm(x,", "rms_norm(x + 0.01,")):
            with mock.patch.object(code, "NORM", code.NORM.replace(old, new)):
                status, _, said = self.command(self.source, "-o", self.output)
            self.assertEqual(status, 1)
            self.assertIn("nothing was written", said)
            self.assertEqual([path.name for path in self.folder.iterdir()], ["source"])
