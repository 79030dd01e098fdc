"""Places that do not take a file: one line and 3, nothing left, what was there before as it was."""

import os
import pathlib
import shutil
import subprocess
import time
import unittest

from engine import FaultCase, MODELS, cases, expand

OLDER = b"what was there before"
NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]
# A small file system over FOLDER, filled to its brim but for as many kilobytes as ROOM.
FILL = ('mount -t tmpfs -o size=6m none "$FOLDER" && printf "%s" "what was there before" > "$FOLDER/$NAME" && '
        'avail=$(df -k --output=avail "$FOLDER" | tail -1) && '
        'head -c $(( (avail - ROOM) * 1024 )) /dev/zero > "$FOLDER/filler" && exec "$@"')
LOOK = '"$@"; code=$?; ls -A "$FOLDER"; cat "$FOLDER/$NAME"; exit $code'


def can_mount():
    try:
        return subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def filling(folder, name, room=1024):
    return [*NAMESPACE, "env", f"FOLDER={folder}", f"NAME={name}", f"ROOM={room}", "sh", "-c", FILL, "sh"]


@expand
class FullDisk(FaultCase):
    def setUp(self):
        if not can_mount():
            self.skipTest("no small file system can be mounted here: user namespaces are not allowed")
        super().setUp()

    def check(self, name, words, room=1024):
        before = [*filling(self.out_folder, name, room), "sh", "-c", LOOK, "sh"]
        done = self.run_engine(*words, "--quiet", before=before)
        self.assertEqual(done.returncode, 3, done.stderr + done.stdout)
        self.one_line(done.stderr)
        self.assertIn(f"{self.out_folder}/{name.split('.')[0]}.", done.stderr)
        self.assertEqual(done.stdout.split("\n")[-3:], ["filler", name, OLDER.decode()])
        self.assertEqual(list(self.scratch.iterdir()), [])

    @cases(("fold_pt", "fold", "deep.pt"), ("fold_onnx", "fold", "deep.onnx"),
           ("fold_onnx_with_data", "fold", "data.onnx"), ("fuse_onnx", "fuse", "deep.onnx"),
           ("fuse_onnx_with_data", "fuse", "data.onnx"))
    def full(self, verb, model):
        name = "out" + MODELS[model].suffix
        self.check(name, [verb, MODELS[model], "-o", self.out_folder / name, "--no-verify"])

    @cases(("pt", "small.pt"), ("onnx", "small.onnx"))
    def not_a_byte(self, model):
        name = "out" + MODELS[model].suffix
        self.check(name, ["fold", MODELS[model], "-o", self.out_folder / name, "--no-verify"], room=0)

    def test_save_plan(self):
        out = self.folder / "elsewhere.pt"
        plan = self.out_folder / "plan.json"
        self.check("plan.json", ["fold", MODELS["small.pt"], "-o", out, "--no-verify", "--save-plan", plan], room=0)

    @cases(("pt", "deep.pt"), ("onnx", "deep.onnx"), ("onnx_with_data", "data.onnx"))
    def export(self, model):
        name = "out" + MODELS[model].suffix
        served = self.serve(*filling(self.out_folder, name)).begin()
        served.ask("open", {"path": str(MODELS[model])})
        served.ask("analyze")
        served.ask("fold", {"verify": False})
        for _ in range(2):
            served.refused("export", {"path": str(self.out_folder / name), "force": True})
        inside = pathlib.Path(f"/proc/{served.process.pid}/root{self.out_folder}")
        self.assertEqual(sorted(path.name for path in inside.iterdir()), ["filler", name])
        self.assertEqual((inside / name).read_bytes(), OLDER)
        (inside / "filler").unlink()
        small = self.folder / name
        served.ask("export", {"path": str(small), "force": True})  # where there is room
        self.loads(small)
        served.shutdown()


@expand
class Places(FaultCase):
    def fold(self, suffix, out, **options):
        return self.run_engine("fold", MODELS[f"small.{suffix}"], "-o", out, "--no-verify", "--quiet", **options)

    def refused(self, done):
        self.assertEqual(done.returncode, 3, done.stderr)
        self.one_line(done.stderr)

    @cases(("pt", "pt"), ("onnx", "onnx"))
    def no_permission(self, suffix):
        before = []
        if os.geteuid() == 0:
            if not shutil.which("setpriv"):
                self.skipTest("root may write everywhere, and setpriv is not installed")
            before = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
        out = self.out_folder / f"out.{suffix}"
        out.write_bytes(OLDER)
        self.out_folder.chmod(0o555)
        self.addCleanup(self.out_folder.chmod, 0o755)
        self.refused(self.fold(suffix, out, before=before))
        self.nothing_left(out.name)
        self.assertEqual(out.read_bytes(), OLDER)

    @cases(("pt", "pt", False), ("onnx", "onnx", False), ("pt_to_nothing", "pt", True), ("onnx_to_nothing", "onnx", True))
    def link(self, suffix, nothing):
        target, link = self.out_folder / f"target.{suffix}", self.out_folder / f"link.{suffix}"
        if not nothing:
            target.write_bytes(OLDER)
        link.symlink_to(target if nothing else target.name)
        done = self.fold(suffix, link)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(link.is_symlink())
        self.loads(target)
        self.nothing_left(link.name, target.name)

    @cases(("pt", "pt"), ("onnx", "onnx"))
    def link_to_itself(self, suffix):
        link = self.out_folder / f"link.{suffix}"
        link.symlink_to(link.name)
        self.refused(self.fold(suffix, link))
        self.nothing_left(link.name)

    @cases(("pt", "pt"), ("onnx", "onnx"))
    def folder(self, suffix):
        out = self.out_folder / f"out.{suffix}"
        out.mkdir()
        self.refused(self.fold(suffix, out))
        self.nothing_left(out.name)

    @cases(("pt", "pt"), ("onnx", "onnx"))
    def no_folder(self, suffix):
        self.refused(self.fold(suffix, self.out_folder / "none" / f"out.{suffix}"))
        self.nothing_left()

    @cases(("dev_full", "/dev/full"), ("dev_null", "/dev/null"))
    def device(self, path):
        done = self.fold("pt", path)
        self.assertGreater(done.returncode, 0)
        self.one_line(done.stderr)
        self.assertTrue(pathlib.Path(path).is_char_device())

    @cases(*((f"{suffix}_after_{int(delay * 1000)}_ms", suffix, delay) for suffix in ("pt", "onnx")
             for delay in (0.1, 0.3, 0.5)))
    def folder_that_vanishes(self, suffix, delay):
        place = self.out_folder / "place"
        place.mkdir()
        process = self.start("fold", MODELS[f"deep.{suffix}"], "-o", place / f"out.{suffix}", "--quiet")
        time.sleep(delay)
        shutil.rmtree(place, ignore_errors=True)
        _, errors = process.communicate(timeout=60)
        if process.returncode != 0:
            self.assertEqual(process.returncode, 3, errors)
            self.one_line(errors)
            self.nothing_left()
