"""What run.sh makes of its steps, with tools of its own in place of cmake, nvcc, torch and a GPU.

Call: test_run.py. One step fails here (no such torch runs the tests on a GPU), the measurement is made up.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(__file__).with_name("run.sh")
TORCH = """
__version__ = "2.11.0"
class version: cuda = "13.0"
class cuda:
    class get_device_properties:
        name, multi_processor_count, total_memory, major, minor = "GPU", 132, 1, 9, 0
        def __init__(self, device): pass
    get_device_capability = staticmethod(lambda: (9, 0))
"""
# "cmake --build FOLDER" makes the program that measures; "cmake -S ..." configures.
CMAKE = """#!/bin/bash
[[ $1 == --build ]] || exit 0
mkdir -p "$2/bin"
cp "$(dirname "$0")/bench" "$2/bin/normlens-bench"
"""
BENCH = """#!/bin/bash
echo measuring
while (($#)) && [[ $1 != --json ]]; do shift; done
launch=${NORMLENS_LAUNCH+, \\"launch\\": \\"$NORMLENS_LAUNCH\\"}
echo "{\\"points\\": [{\\"op\\": \\"copy\\"}]$launch}" > "$2"
exec sleep "${BENCH_SECONDS:-0}"
"""
# No graph is captured here.
ENGINE = """#!/bin/bash
for word; do [[ $word != --cuda-graphs ]] || exit 3; done
printf -v words '"%s",' "$@"
echo "{\\"words\\": [${words%,}]}"
"""


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "torch").mkdir()
        (self.folder / "torch" / "__init__.py").write_text(TORCH)
        for name, text in {"cmake": CMAKE, "bench": BENCH, "nvcc": "#!/bin/sh\n", "ninja": "#!/bin/sh\n"}.items():
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
        self.result = self.folder / "new" / "gpu.json"

    def start(self, *words, **more):
        variables = {
            **os.environ,
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "PYTHON": sys.executable,
            "PYTHONPATH": str(self.folder),
            "BUILD": str(self.folder / "build"),
            "PREBUILT": str(self.folder / "prebuilt"),
            **more,
        }
        return subprocess.Popen(
            [SCRIPT, *words, self.result], env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def finish(self, process):
        output, _ = process.communicate(timeout=60)
        self.assertTrue(self.result.exists(), output)
        self.output = output
        return process.returncode, json.loads(self.result.read_text())

    def test_a_step_that_fails_says_why_and_the_others_go_on(self):
        code, report = self.finish(self.start())
        self.assertEqual(code, 1)
        self.assertEqual(report["gpu"]["compute_capability"], "9.0")
        self.assertEqual(report["steps"]["build"], "passed")
        self.assertEqual(report["steps"]["measurement"], "passed")
        self.assertEqual(report["steps"]["grid against float64"], "failed with 1")
        self.assertIn("Error", report["said"]["grid against float64"])
        self.assertNotIn("measurement", report["said"])
        self.assertEqual(report["measured"], {"kernels": {"points": [{"op": "copy"}]}})

    def prebuild(self, library="#!/bin/sh\n"):
        programs = {"bin/normlens-bench": BENCH, "bin/normlens-engine": ENGINE}
        for name, text in {**programs, "lib/libnormlens_ops.so": library}.items():
            file = self.folder / "prebuilt" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(0o755)
        ldd = self.folder / "ldd"
        ldd.write_text('#!/bin/sh\ngrep "not found" "$1"\ntrue\n')
        ldd.chmod(0o755)

    def test_what_was_built_elsewhere_is_taken(self):
        self.prebuild()
        _, report = self.finish(self.start())
        self.assertEqual(report["steps"]["prebuilt"], "used")
        self.assertNotIn("build", report["steps"])
        self.assertEqual(report["steps"]["measurement"], "passed")

    def test_what_does_not_load_here_is_built_again(self):
        self.prebuild("libisal.so.2 => not found\n")
        _, report = self.finish(self.start())
        self.assertEqual(report["steps"]["build"], "passed")
        self.assertIn("built for another machine", self.output)

    def test_the_engine_is_asked_for_each_model(self):
        self.prebuild()
        models = self.folder / "models"
        code, report = self.finish(self.start("engine", MODELS=str(models)))
        self.assertEqual(code, 1)
        self.assertEqual(report["steps"]["ViT"], "passed")
        self.assertEqual(report["steps"]["GPT-2, graphs"], "failed with 3")
        self.assertEqual(report["measured"]["ViT"]["words"][:4], ["bench", str(models / "vit.pt"), "--device", "cuda"])
        self.assertNotIn("GPT-2, graphs", report["measured"])
        self.assertIn("GPT-2, graphs: failed with 3", self.output.splitlines()[-20:])

    def test_every_choice_is_measured_beside_what_is_taken_without_it(self):
        self.prebuild()
        code, report = self.finish(self.start("tuning"))
        self.assertEqual(code, 0, self.output)
        self.assertEqual(report["measured"]["few,few-rows=0"]["launch"], "few-rows=0")
        self.assertEqual(report["measured"]["few,as-it-is"]["launch"], "")
        self.assertIn("wide,cluster-blocks=8", report["measured"])
        self.assertIn("narrow,persistent-blocks=2", report["measured"])

    def test_a_run_that_is_stopped_tells_what_it_has(self):
        process = self.start(BENCH_SECONDS="50")
        log = self.result.with_name("gpu.json.log")
        for _ in range(600):
            time.sleep(0.1)
            if log.exists() and "\nmeasuring" in log.read_text():
                break
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        code, report = self.finish(process)
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(code, 130)
        self.assertEqual(report["steps"]["measurement"], "interrupted")
        self.assertEqual(report["measured"], {"kernels": {"points": [{"op": "copy"}]}})

    def test_all_steps_together_have_a_limit(self):
        code, report = self.finish(self.start(BENCH_SECONDS="50", SECONDS_AT_MOST="12"))
        self.assertEqual(code, 1)
        self.assertRegex(report["steps"]["measurement"], "ran past [0-9]+ s")
        self.assertRegex(report["steps"]["ops on the CPU"], "left out")
        self.assertEqual(report["measured"], {"kernels": {"points": [{"op": "copy"}]}})


if __name__ == "__main__":
    unittest.main()
