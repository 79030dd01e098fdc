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
echo '{"points": [{"op": "copy"}]}' > "$2"
exec sleep "${BENCH_SECONDS:-0}"
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

    def start(self, **more):
        variables = {
            **os.environ,
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "PYTHON": sys.executable,
            "PYTHONPATH": str(self.folder),
            "BUILD": str(self.folder / "build"),
            **more,
        }
        return subprocess.Popen(
            [SCRIPT, self.result], env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def finish(self, process):
        output, _ = process.communicate(timeout=60)
        self.assertTrue(self.result.exists(), output)
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
        self.assertEqual(report["kernels"], {"points": [{"op": "copy"}]})

    def test_a_run_that_is_stopped_tells_what_it_has(self):
        process = self.start(BENCH_SECONDS="50")
        for line in process.stdout:
            if "measuring" in line:
                break
        time.sleep(0.5)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        code, report = self.finish(process)
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(code, 130)
        self.assertEqual(report["steps"]["measurement"], "interrupted")
        self.assertEqual(report["kernels"], {"points": [{"op": "copy"}]})

    def test_all_steps_together_have_a_limit(self):
        code, report = self.finish(self.start(BENCH_SECONDS="50", SECONDS_AT_MOST="12"))
        self.assertEqual(code, 1)
        self.assertRegex(report["steps"]["measurement"], "ran past [0-9]+ s")
        self.assertRegex(report["steps"]["ops on the CPU"], "left out")
        self.assertEqual(report["kernels"], {"points": [{"op": "copy"}]})


if __name__ == "__main__":
    unittest.main()
