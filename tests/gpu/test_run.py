"""In which order run.sh does what, and what it makes of steps that fail, with tools of its own in place of a GPU.

Call: run_tests.py test_run.py. Python, the engine, the benchmark, compilers and NVIDIA's tools are stand-ins that write down how they
are called; summary.py is the real one.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(__file__).with_name("run.sh")
LOGGED = '#!/bin/bash\necho "${0##*/} $*" >> "$LOG"\n'
POINT = '{"sizes": {"%s": %s}, "dtype": "bfloat16", "a": {"median_ms": 2}, "b": {"median_ms": 1}, "warmed_up": true}'
FAILED = '{"sizes": {"%s": %s}, "dtype": "bfloat16", "a": null, "error": "device-side assert"}'
TOOLS = {
    "python": f"""
        [[ ! ${{LD_LIBRARY_PATH:-}} ]] || exit 5
        case "$*" in
          *summary.py*) exec {sys.executable} "$@" ;;
          *torch.__path__*) echo "${{CAPABILITY:-90}} $STAND_INS/torch" ;;
          *make_models.py*)
            folder=$2
            for name in "${{@:3}}"; do [[ $name == "${{NO_MODEL:-}}" ]] || touch "$folder/$name.pt"; done ;;
          *test_grid.py*--calls) [[ ! ${{CALLS_HANG:-}} ]] || {{ trap '' TERM; sleep 60; }} ;;
          *test_grid.py*--small) exit "${{GRID_STATUS:-0}}" ;;
        esac""",
    # Says what is missing if the file it is given has a line about that.
    "ldd": '[[ -e $1 ]] || echo "No such file"; grep "not found" "$1"; true',
    "ldconfig": 'echo "libcuda.so.1 (libc6,x86-64) => $STAND_INS/libcuda.so.1"',
    "gcc": 'while [[ $# -gt 0 && $1 != -o ]]; do shift; done; touch "${2:-/dev/null}"',
    "cmake": """
        [[ $1 == --build ]] || exit 0
        mkdir -p "$2/bin" "$2/lib"
        cp "$STAND_INS/normlens-engine" "$STAND_INS/normlens-bench" "$2/bin" """,
    "nvcc": "",
    "ninja": "",
    "nvidia-smi": "",
    "compute-sanitizer": "",
    "normlens-bench": """
        [[ $LD_LIBRARY_PATH == *"/lib:$STAND_INS/torch/lib" ]] || exit 5
        while [[ $1 != --json ]]; do shift; done
        echo '{"goals": [{"goal": "92% of a copy", "op": "center", "met": false}]}' > "$2"
        echo "measuring $3"
        exec sleep "${BENCH_SECONDS:-0}" """,
    "normlens-engine": f"""
        [[ $LD_LIBRARY_PATH == *"/lib:$STAND_INS/torch/lib" ]] || exit 5
        case $1 in
          bench)
            [[ ! ${{NEEDS:-}} || ${{LD_PRELOAD:-}} == *"$NEEDS"* ]] || {{ echo "no CUDA here" >&2; exit 3; }}
            words=" $* "
            [[ $words == *--sweep* ]] || {{ echo '{{"dtype": "float32", "a": {{"median_ms": 1}}}}'; exit; }}
            sweep=${{words##*--sweep }} && sweep=${{sweep%% *}}
            points= dead=
            IFS=, read -ra values <<<"${{sweep#*=}}"
            for value in "${{values[@]}}"; do
              [[ $value != "${{KILLS:-}}" ]] || dead=1
              form='{POINT}'
              [[ ! $dead ]] || form='{FAILED}'
              points+=${{points:+, }}$(printf "$form" "${{sweep%%=*}}" "$value")
            done
            echo "{{\\"points\\": [$points]}}" ;;
        esac""",
}


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.log = self.folder / "log"
        self.log.touch()
        self.out = self.folder / "out"
        for name, text in TOOLS.items():
            (self.folder / name).write_text(f"{LOGGED}{text}\n")
            (self.folder / name).chmod(0o755)
        (self.folder / "libcuda.so.1").touch()
        (self.folder / "tmp").mkdir()
        self.prebuild()

    def prebuild(self, library=""):
        for part, names in {"bin": ("normlens-engine", "normlens-bench"), "lib": ("libnormlens_ops.so",)}.items():
            (self.folder / "prebuilt" / part).mkdir(parents=True, exist_ok=True)
            for name in names:
                if part == "bin":
                    shutil.copy(self.folder / name, self.folder / "prebuilt" / part)
                else:
                    (self.folder / "prebuilt" / part / name).write_text(library)

    def start(self, **more):
        variables = {
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder / "tmp"),
            "PYTHON": str(self.folder / "python"),
            "PREBUILT": str(self.folder / "prebuilt"),
            "PORTABLE": str(self.folder / "portable"),
            "OUT": str(self.out),
            "LOG": str(self.log),
            "STAND_INS": str(self.folder),
        }
        return subprocess.Popen(
            ["bash", SCRIPT], env=variables | more, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def finish(self, process, code):
        """Keeps what was printed, the tools' calls, and the outcome of each step by its name, in order."""
        self.output, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, code, self.output)
        self.calls = self.log.read_text().splitlines()
        with tarfile.open(self.out / "results.tgz") as archive:
            self.names = archive.getnames()
            archive.extractall(self.folder / "unpacked", filter="data")
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])
        steps = (self.folder / "unpacked" / "results" / "steps.txt").read_text()
        self.steps = dict(line.split(": ", 1) for line in steps.splitlines())
        return list(self.steps)

    def calls_of(self, *words):
        return [call for call in self.calls if all(word in call for word in words)]

    def test_the_most_valuable_comes_first_and_all_comes_back_in_one_archive(self):
        order = self.finish(self.start(), 0)
        expected = [
            "prebuilt", "calls", "grid-small", "doctor-as-it-is", "bench-light-as-it-is", "engine", "bench-gpt2-eager",
            "bench-gpt2-portable", "bench-gpt2-fast", "fuse", "bench-gpt2-fuse-alone", "fold", "bench-gpt2-fold-alone",
            "bench-gpt2-float32", "bench-opt-125m", "bench-bert", "bench-vit", "bench-gpt2-medium", "kernels",
            "tuning-few-as-it-is", "tuning-few-few-rows-0", "tuning-few-few-rows-2",
            "tuning-few-few-rows-8", "tuning-wide-as-it-is", "tuning-wide-wide-row-bytes-262144",
            "tuning-wide-cluster-blocks-8", "tuning-narrow-as-it-is", "tuning-narrow-persistent-blocks-2",
            "tuning-narrow-persistent-blocks-3", "memcheck", "racecheck",
            "ops-on-the-gpu", "grid-few-rows-0", "grid-cluster-blocks-8", "grid-persistent-blocks-3", "grid", "lab",
        ]  # fmt: skip
        self.assertEqual(order, expected)
        self.assertEqual(self.steps["engine"], "runs as-it-is")
        for name in self.names:
            self.assertRegex(name, r"^results(/[A-Za-z0-9.-]+)?$")
        self.assertIn("results/bench-gpt2-fast.json", self.names)
        self.assertEqual(sorted(path.name for path in self.out.iterdir()), ["results.tgz", "summary.txt"])
        fast = self.calls_of("normlens-engine bench", "gpt2.pt --fold --norm fast --dtype bfloat16")
        self.assertEqual(len(fast), 1)
        for words in ("--sweep seq=64,256,1024,4096,16384", "--device cuda", "--cuda-graphs"):
            self.assertIn(words, fast[0])
        self.assertEqual(len(self.calls_of("compute-sanitizer --tool racecheck", "test_grid.py", "--calls")), 1)

    def test_the_summary_is_printed_last_and_is_short(self):
        self.finish(self.start(), 0)
        summary = (self.out / "summary.txt").read_text()
        self.assertTrue(self.output.endswith(summary))
        self.assertLess(len(summary), 12000)
        self.assertIn("gpt2-fast seq=16384 bfloat16: 2 ms -> 1 ms, norms", summary)
        self.assertIn("met at 0 of 1 points: center, 92% of a copy", summary)
        self.assertIn("results/summary-all.txt", self.names)

    def test_a_step_that_fails_is_told_first_and_stops_none(self):
        order = self.finish(self.start(GRID_STATUS="3"), 1)
        self.assertEqual(order[-1], "lab")
        self.assertRegex(self.steps["grid-small"], "^FAILED with 3, ")
        self.assertRegex((self.out / "summary.txt").read_text(), "^== steps\nprebuilt: used\ngrid-small: FAILED with 3")

    def test_a_step_that_hangs_is_ended(self):
        began = time.monotonic()
        self.finish(self.start(CALLS_HANG="1", ONLY="right engine", TOTAL="45"), 1)
        self.assertRegex(self.steps["calls"], "^RAN PAST [67] s")
        self.assertRegex(self.steps["bench-gpt2-fast"], "^passed")
        self.assertLess(time.monotonic() - began, 30)

    def test_all_steps_together_end_in_time(self):
        began = time.monotonic()
        self.finish(self.start(BENCH_SECONDS="50", TOTAL="16", ONLY="kernels tuning"), 1)
        self.assertLess(time.monotonic() - began, 25)
        self.assertRegex(self.steps["kernels"], "^RAN PAST [0-9]+ s")
        self.assertIn("LEFT OUT, no time", self.steps.values())

    def test_without_a_gpu_nothing_is_measured(self):
        order = self.finish(self.start(CAPABILITY="none"), 2)
        self.assertEqual(order, ["GPU"])
        self.assertIn("results/facts.txt", self.names)

    def test_what_does_not_load_is_built_there_and_all_else_goes_on(self):
        self.prebuild("libisal.so.2 => not found\n")
        order = self.finish(self.start(), 0)
        self.assertEqual(order[:3], ["prebuilt", "build", "calls"])
        self.assertEqual(self.steps["prebuilt"], "NOT USABLE: libnormlens_ops.so: libisal.so.2 => not found")
        portable = f"-DCMAKE_PREFIX_PATH={self.folder}/portable"
        self.assertEqual(len(self.calls_of("cmake -S", portable, "UNITY=ON", "ARCHITECTURES=90")), 1)
        self.assertEqual(self.calls_of(f"test_grid.py {self.folder}/prebuilt"), [])
        self.assertEqual(order[-1], "lab")

    def test_without_anything_prebuilt_all_is_built_there(self):
        shutil.rmtree(self.folder / "prebuilt")
        self.finish(self.start(), 0)
        self.assertRegex(self.steps["prebuilt"], "^NOT USABLE: .*No such file")
        self.assertRegex(self.steps["build"], "^passed")

    def test_where_the_walls_are_in_the_way_the_folders_are_named(self):
        self.finish(self.start(NEEDS="libc10.so:"), 1)
        self.assertRegex(self.steps["bench-light-as-it-is"], "^FAILED with 3, .* s: no CUDA here")
        self.assertEqual(self.steps["engine"], "runs with-folders-named")
        self.assertNotIn("no-walls", self.steps)
        self.assertRegex(self.steps["bench-gpt2-fast"], "^passed")

    def test_where_that_does_not_help_our_own_models_run_without_walls(self):
        self.finish(self.start(NEEDS="no_walls.so"), 1)
        self.assertRegex(self.steps["bench-light-with-folders-named"], "^FAILED")
        self.assertEqual(self.steps["engine"], "runs without-walls")
        self.assertRegex(self.steps["bench-gpt2-fast"], "^passed")

    def test_where_the_engine_does_not_run_the_kernels_are_measured(self):
        order = self.finish(self.start(NEEDS="nothing"), 1)
        self.assertEqual([name for name in order if name.startswith("bench-gpt2")], [])
        self.assertRegex(self.steps["kernels"], "^passed")
        self.assertNotIn("lab", order)

    def test_a_point_that_kills_the_context_takes_no_other_along(self):
        order = self.finish(self.start(KILLS="1024", ONLY="engine"), 1)
        again = [name for name in order if name.startswith("bench-gpt2-fast")]
        self.assertEqual(again, ["bench-gpt2-fast", "bench-gpt2-fast-4096", "bench-gpt2-fast-16384"])
        summary = (self.out / "summary.txt").read_text()
        self.assertIn("gpt2-fast seq=1024 bfloat16: failed: device-side assert", summary)
        self.assertIn("gpt2-fast-16384 seq=16384 bfloat16: 2 ms -> 1 ms", summary)

    def test_a_model_that_was_not_made_is_left_out(self):
        order = self.finish(self.start(NO_MODEL="opt-125m", ONLY="engine"), 1)
        self.assertRegex(self.steps["opt-125m"], "^NOT MADE")
        self.assertIn("bench-bert", order)

    def test_a_dry_run_is_of_the_engine_on_the_cpu(self):
        order = self.finish(self.start(DRY="1", CAPABILITY="none"), 0)
        self.assertEqual(order[:3], ["prebuilt", "bench-light-as-it-is", "engine"])
        self.assertEqual(order[-1], "lab")
        for words in ("--device cuda", "--cuda-graphs", "test_grid.py"):
            self.assertEqual(self.calls_of(words), [])
        self.assertEqual(len(self.calls_of("make_models.py", "--small gpt2")), 1)

    def test_what_is_named_runs_alone(self):
        order = self.finish(self.start(ONLY="sound", TOTAL="200"), 0)
        self.assertEqual(order[:3], ["prebuilt", "memcheck", "racecheck"])

    def test_a_run_that_is_stopped_packs_what_it_has(self):
        process = self.start(BENCH_SECONDS="50", ONLY="kernels")
        until = time.monotonic() + 60
        while "\nnormlens-bench " not in self.log.read_text() and time.monotonic() < until:
            time.sleep(0.1)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        self.finish(process, 130)
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(self.steps["kernels"], "INTERRUPTED")
        self.assertIn("results/kernels.json", self.names)
        self.assertTrue(self.output.endswith((self.out / "summary.txt").read_text()))
