"""The sources keep the layering, and the check that says so finds planted violations.

    test_architecture.py [WINDOW]     WINDOW: the built window program, which must not link a framework
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import check_includes
import check_lesson_links
import check_rooms

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Layering(unittest.TestCase):
    def test_sources(self):
        self.assertEqual(list(check_includes.violations(ROOT)), [])

    def test_something_was_read(self):
        self.assertGreater(len(check_includes.Sources(ROOT).includes), 30)


class Rooms(unittest.TestCase):
    def test_sources(self):
        self.assertEqual(list(check_rooms.violations(ROOT)), [])

    def test_planted(self):
        with tempfile.TemporaryDirectory() as folder:
            room = pathlib.Path(folder, "core", "full")
            room.mkdir(parents=True)
            (room.parent / "README.md").write_text("# Core\n", encoding="utf-8")
            for number in range(check_rooms.MOST_FILES + 1):
                (room / f"{number}.h").write_text("\n" * (number and check_rooms.LONGEST_FILE + 1), encoding="utf-8")
            found = list(check_rooms.violations(folder))
        self.assertIn("core/full: no README says what lives here", found)
        self.assertIn("core/full: 33 files, 32 are the most", found)
        self.assertIn("core/full/1.h: 601 lines, 600 are the most", found)
        self.assertNotIn("core/full/0.h", " ".join(found))


class LessonLinks(unittest.TestCase):
    def test_all_lead_somewhere(self):
        self.assertEqual(list(check_lesson_links.violations(ROOT)), [])

    def test_planted(self):
        step = '# Title\n\n## A step\n<!-- {"name": "one", "figure": "f"} -->\nWords.\n'
        code = 'linkLesson(this, "nowhere");\nexplain(\n    box, tr("What it is; \\"more\\"."),\n    "right");\n'
        files = {
            "resources/lessons/01_first.md": step,
            "resources/words/01_right.md": "[a](lesson:first/one) [b](lesson:first)",
            "resources/words/02_wrong.md": "[c](lesson:first/two) [d](lesson:second)",
            "resources/words/03_silent.md": "# No link",
            "ui/a.cpp": code,
        }
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                file = pathlib.Path(folder, name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            found = list(check_lesson_links.violations(folder))
        self.assertEqual(
            sorted(found),
            [
                "docs/learn: the lesson 'first' has no page",
                "resources/words/02_wrong.md: the lesson 'first' has no step 'two'",
                "resources/words/02_wrong.md: there is no lesson 'second'",
                "resources/words/03_silent.md: no link leads on to a lesson",
                "ui/a.cpp: there is no page of words 'nowhere'",
            ],
        )


class Window(unittest.TestCase):
    program = None

    def test_links_no_framework(self):
        if self.program is None:
            self.skipTest("the window was not built")
        libraries = subprocess.run(["ldd", self.program], capture_output=True, text=True, check=True).stdout
        self.assertIn("libQt6Widgets", libraries)
        for name in ("torch", "c10", "onnx", "protobuf", "cuda"):
            self.assertNotIn(f"lib{name}", libraries)


class Planted(unittest.TestCase):
    """Each tree holds one mistake; the clean one holds none."""

    def found(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return list(check_includes.violations(folder))

    def expect(self, words, files):
        found = self.found(files)
        self.assertEqual(len(found), 1, found)
        self.assertIn(words, found[0])

    def test_clean(self):
        self.assertEqual(
            self.found(
                {
                    "core/graph/graph.h": '#include <vector>\n#include "core/base/result.h"\n',
                    "core/base/result.h": "#include <string>\n",
                    "core/formats/torchscript/program/read.cpp": '#include <torch/script.h>\n#include "core/graph/graph.h"\n',
                    "ui/window/main_window.cpp": "#include <QMainWindow>\n#include <QtCharts/QChart>\n",
                    "core/fold/queue.h": "#include <queue>\n#include <Quantity.h>\n",
                }
            ),
            [],
        )

    def test_qt_in_core(self):
        self.expect("may not see Qt", {"core/graph/graph.h": "#include <QString>\n"})

    def test_torch_in_the_method(self):
        self.expect("may not see LibTorch", {"core/analysis/plan.cpp": '#  include "ATen/ATen.h"\n'})

    def test_torch_through_a_header_of_ours(self):
        found = self.found(
            {
                "core/formats/torchscript/program/program.h": "#include <torch/script.h>\n",
                "core/formats/formats.cpp": '#include "core/formats/torchscript/program/program.h"\n',
            }
        )
        self.assertEqual(len(found), 1, found)
        self.assertIn("formats.cpp -> core/formats/torchscript/program/program.h -> <torch/script.h>", found[0])

    def test_window_reaching_for_the_engine(self):
        self.expect("ui may not include core/service/service.h", {"ui/a.cpp": '#include "core/service/service.h"\n'})

    def test_lower_layer_reaching_up(self):
        self.expect("may not include core/analysis/norms/norms.h", {"core/fold/a.h": '#include "core/analysis/norms/norms.h"\n'})

    def test_torch_and_onnx_in_one_file(self):
        found = self.found({"core/formats/onnx/a.cpp": "#include <onnx/checker.h>\n#include <c10/util/Half.h>\n"})
        self.assertTrue(any("cannot be compiled together" in line for line in found), found)

    def test_folder_without_a_rule(self):
        self.expect("has no rule", {"core/extras/a.h": "#include <vector>\n"})


if __name__ == "__main__":
    Window.program = sys.argv.pop(1) if len(sys.argv) > 1 else None
    unittest.main()
