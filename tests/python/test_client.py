"""The package without torch: the protocol's client against the real engine, files analysed and folded, and what is said
where the engine is missing, dies or refuses.

    run_tests.py test_client.py ENGINE
"""

import io
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import xml.dom.minidom

from package import ENGINE, MODELS, ROOT

import normlens
from normlens.engine.client import Client
from normlens.engine.frames import read_frame, write_frame
from normlens.engine.program import find_engine
from normlens.engine.session import Session

MODEL = MODELS / "gpt2.pt"


class Frames(unittest.TestCase):
    def test_there_and_back(self):
        stream = io.BytesIO()
        for message in ({"a": "γ"}, [], {"id": 2}):
            write_frame(stream, message)
        stream.seek(0)
        self.assertEqual([read_frame(stream) for _ in range(4)], [{"a": "γ"}, [], {"id": 2}, None])

    def test_a_stream_that_ends_within_a_frame(self):
        whole = b'Content-Length: 8\r\n\r\n{"a": 1}'
        for end in range(len(whole)):
            self.assertIsNone(read_frame(io.BytesIO(whole[:end])), end)

    def test_what_is_no_frame(self):
        for text in (b"hello\r\n\r\n", b"Content-Length: many\r\n\r\n", b"Content-Length: 2000000000\r\n\r\n"):
            with self.assertRaises(ValueError):
                read_frame(io.BytesIO(text))


class Programs(unittest.TestCase):
    """Which engine is taken."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.program = self.folder / "normlens-engine"
        self.program.write_text("#!/bin/sh\nexit 7\n")
        self.program.chmod(0o755)

    def environment(self, **variables):
        clean = {"PATH": "/nowhere"} | variables
        return unittest.mock.patch.dict(os.environ, clean, clear=True)

    def test_the_argument_goes_before_the_variable_and_the_variable_before_the_path(self):
        with self.environment(NORMLENS_ENGINE=ENGINE, PATH=str(self.folder)):
            self.assertEqual(find_engine(self.program), str(self.program))
            self.assertEqual(find_engine(), ENGINE)
        with self.environment(PATH=str(self.folder)):
            self.assertEqual(find_engine(), str(self.program))

    def test_the_checkout_s_own(self):
        if not list(ROOT.glob("build/*/bin/normlens-engine")):
            self.skipTest("no build folder of this checkout has an engine")
        with self.environment():
            self.assertTrue(find_engine().startswith(str(ROOT / "build")))

    def test_none(self):
        with self.environment(), unittest.mock.patch("normlens.engine.program.checkout", return_value=None):
            with self.assertRaisesRegex(normlens.EngineNotFound, "neither on PATH nor in a build folder.*NORMLENS_ENGINE"):
                normlens.analyze(MODEL)

    def test_a_named_one_that_is_missing_is_not_replaced(self):
        with self.environment(NORMLENS_ENGINE="/nowhere/engine", PATH=str(self.folder)):
            with self.assertRaisesRegex(normlens.EngineNotFound, "variable NORMLENS_ENGINE names /nowhere/engine"):
                find_engine()
        with self.assertRaisesRegex(normlens.EngineNotFound, "argument engine names /nowhere/engine"):
            normlens.analyze(MODEL, engine="/nowhere/engine")

    def test_a_program_that_is_no_engine(self):
        with self.assertRaisesRegex(normlens.EngineDied, "ended with code 7 while it was asked to initialize"):
            Client(self.program)

    def test_one_that_gets_ready_is_not_waited_for(self):
        self.program.write_text('#!/bin/sh\ntest "$1 $2" = "serve --torch-first" && read line && exit 7\n')
        with Client(self.program, torch_first=True) as client:
            with self.assertRaisesRegex(normlens.EngineDied, "ended with code 7 while it was asked to initialize"):
                client.info

    def test_what_it_said_last_is_told(self):
        self.program.write_text("#!/bin/sh\necho one >&2; echo two >&2\nexit 7\n")
        with self.assertRaisesRegex(normlens.EngineDied, "it said: two$"):
            Client(self.program)

    def test_one_that_answers_with_something_else(self):
        self.program.write_text("#!/bin/sh\necho hello; echo; sleep 0.1\n")
        with self.assertRaises(normlens.EngineDied):
            Client(self.program)


class Requests(unittest.TestCase):
    def test_an_engine_that_is_killed(self):
        with Client() as client:
            os.kill(client.pid, signal.SIGKILL)
            with self.assertRaisesRegex(normlens.EngineDied, "was ended by signal 9 while it was asked to ping"):
                client.request("ping")
            with self.assertRaises(normlens.EngineDied):
                client.request("ping")

    def test_one_that_is_killed_while_it_works(self):
        def kill(stage, fraction):
            os.kill(session._client.pid, signal.SIGKILL)

        with Session(MODEL) as session:
            session._client._progress = kill
            with self.assertRaisesRegex(normlens.EngineDied, "while it was asked to"):
                session.analyze()
                session.fold({"policy": "all"}, "portable")

    def test_the_process_ends_with_the_client(self):
        with Client() as client:
            pid = client.pid
            self.assertIsNone(client.request("ping"))
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)

    def test_what_the_engine_refuses(self):
        with Client() as client:
            with self.assertRaises(normlens.EngineError) as refused:
                client.request("analyze")
            self.assertTrue(refused.exception.code)
            with self.assertRaises(normlens.EngineError):
                client.request("no_such_method")
            self.assertIsNone(client.request("ping"), "and it goes on")

    def test_progress_is_told(self):
        stages = []
        normlens.analyze(MODEL, progress=lambda stage, fraction: stages.append(stage))
        self.assertTrue(stages)


class Files(unittest.TestCase):
    def test_verdicts_are_the_command_line_s(self):
        for model in sorted(MODELS.glob("*.pt"))[:4]:
            with self.subTest(model.name):
                done = subprocess.run([ENGINE, "analyze", model, "--json"], capture_output=True, text=True, check=True)
                expected = re.findall(r'"verdict":"(\w+)"', done.stdout)
                report = normlens.analyze(model)
                self.assertEqual(sorted(norm.verdict for norm in report), sorted(expected))
                self.assertEqual(len(report), len(expected))

    def test_what_is_no_model(self):
        with self.assertRaisesRegex(normlens.EngineError, "CMakeLists.txt"):
            normlens.analyze(ROOT / "CMakeLists.txt")
        with self.assertRaisesRegex(normlens.EngineError, "nowhere.pt"):
            normlens.analyze("/nowhere.pt")
        with self.assertRaises(TypeError):
            normlens.analyze(7)

    def test_a_report_reads_well(self):
        report = normlens.analyze(MODEL)
        lines = repr(report).splitlines()
        self.assertRegex(lines[0], r"gpt2\.pt: \d+ LayerNorms, \d+ free, \d+ with centering, \d+ blocked$")
        for norm in report:
            self.assertTrue(any(line.startswith(f"  {norm.name} ") for line in lines), norm.name)
            self.assertIn(f"<code>{norm.name}</code>", report._repr_html_())
        self.assertIs(report[report.norms[1].name], report[1])
        with self.assertRaisesRegex(KeyError, "no LayerNorm 'nothing'"):
            report["nothing"]

    def test_pictures_are_drawings_of_the_zero_mean_graph(self):
        report = normlens.analyze(MODEL)
        for norm in report:
            drawing = xml.dom.minidom.parseString(report.picture(norm.name, most=500).svg)
            boxes = len(drawing.getElementsByTagName("g"))
            self.assertEqual(boxes, len(report.regions[norm.index]["vertices"]))
        last = report.norms[-1]
        few = xml.dom.minidom.parseString(report.picture(last.index, most=5).svg)
        self.assertEqual(len(few.getElementsByTagName("g")), 5)
        self.assertIn("more are not drawn", report.picture(last.index, most=5).svg)

    def test_a_file_is_folded_to_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "folded.pt")
            path, report = normlens.fold(MODEL, policy="all", output=out)
            self.assertEqual(path, out)
            self.assertTrue(out.exists())
            self.assertEqual(len(report.folded), len(report))
            self.assertTrue(all(check.passed for check in report.checks))
            self.assertEqual({check.dtype for check in report.checks}, {"float64", "float32"})
            self.assertEqual(len(normlens.analyze(out)), 0, "no LayerNorm is left")
            self.assertIn(f"written to {out}", repr(report))

    def test_options_that_do_not_go_together(self):
        for options in ({}, {"output": "x.pt", "inplace": True}):
            with self.assertRaises(ValueError):
                normlens.fold(MODEL, **options)

    def test_arrays_are_handed_over(self):
        import numpy

        report = normlens.analyze(MODEL, {"in_0": numpy.zeros((1, 3), dtype=numpy.int64)})
        self.assertIn("[1, 3]", report.inputs[0])

    def test_a_path_needs_no_torch(self):
        code = f"import sys, normlens; normlens.analyze({str(MODEL)!r}); sys.exit('torch' in sys.modules)"
        environment = dict(os.environ, PYTHONPATH=str(ROOT / "app" / "python"))
        self.assertEqual(subprocess.run([sys.executable, "-B", "-c", code], env=environment, check=False).returncode, 0)
