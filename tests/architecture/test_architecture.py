"""The sources keep the layering, and the check that says so finds planted violations.

    test_architecture.py [PROGRAM...]     the built normlens, normlens-engine and normlens-window: which libraries each needs
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import check_includes
import check_lesson_links
import check_rooms
import check_words

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
        self.assertIn("core/full/1.h: 701 lines, 700 are the most", found)
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


class Words(unittest.TestCase):
    def test_no_word_that_is_out_is_shown(self):
        self.assertEqual(list(check_words.violations(ROOT)), [])

    def test_something_was_read(self):
        self.assertGreater(len(list(check_words.shown(ROOT))), 1500)

    def test_planted(self):
        code = (
            "// Somebody told nonsense in a comment.\n"
            'label(tr("Somebody "\n         "reads it"), "beside", \'"\');\n'
            'label(tr("Run %1: %2 %"), R"(told)", 1\'000, tr("Analyse"), "goes on?");\n'
        )
        page = '# Title\n<!-- {"name": "vertex", "list": "A colour"} -->\n`told` [here](lesson:told/beside)\n'
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"ui/a.cpp": code, "app/clean.cpp": 'f("told");', "resources/words/1.md": page}.items():
                file = pathlib.Path(folder, name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            found = list(check_words.violations(folder))
        self.assertEqual(
            [line.split("'")[0] + line.split("'")[1] for line in found],
            ["ui/a.cpp:2: Somebody", "ui/a.cpp:4: %2 %", "ui/a.cpp:4: Analyse", "ui/a.cpp:4: goes on",
             "resources/words/1.md: colour"],
        )


class Programs(unittest.TestCase):
    built = {}

    def libraries(self, name):
        if name not in self.built:
            self.skipTest(f"{name} was not built")
        return subprocess.run(["ldd", self.built[name]], capture_output=True, text=True, check=True).stdout

    def assertNone(self, names, libraries):
        for name in names:
            self.assertNotIn(f"lib{name}", libraries)

    def test_the_window_needs_no_framework(self):
        libraries = self.libraries("normlens-window")
        self.assertIn("libQt6Widgets", libraries)
        self.assertNone(("torch", "c10", "onnx", "protobuf", "cuda"), libraries)

    def test_a_verb_needs_no_display_and_no_runtime(self):
        for name in ("normlens", "normlens-engine"):
            libraries = self.libraries(name)
            self.assertIn("libc.so", libraries)
            self.assertNone(("Qt", "X11", "xcb", "wayland", "GL", "EGL", "torch", "c10", "onnxruntime"), libraries)

    def test_the_version_is_spelled_in_one_way(self):
        if len(self.built) < 3:
            self.skipTest("the window was not built")
        said = {name: subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
                for name, path in self.built.items()}
        self.assertRegex(said["normlens"], r"^NormLens \d+\.\d+\.\d+\n$")
        self.assertEqual(len(set(said.values())), 1, said)


class Planted(unittest.TestCase):
    """Each tree holds one mistake; the clean one holds none."""

    READMES = {
        "core/base": "the standard library.",
        "core/graph": "base.",
        "core/fold": "base, graph, nets (the names alone). Never `formats`.",
        "core/analysis": "base.",
        "core/analysis/norms": "base.",
        "core/nets": "base,\ngraph.",
        "core/formats": "base, graph, formats/torchscript.",
        "core/formats/onnx": "formats, onnx.",
        "core/formats/torchscript": "formats, LibTorch.",
        "core/formats/torchscript/run": "as torchscript, `graph/graph.h`.",
        "ui": "Qt.",
    }

    def found(self, files):
        with tempfile.TemporaryDirectory() as folder:
            readmes = {f"{room}/README.md": f"# Room\n\nMay include: {line}\n" for room, line in self.READMES.items()}
            for name, text in {**readmes, **files}.items():
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
                    "core/formats/model.h": "",
                    "core/formats/formats.cpp": '#include "core/formats/torchscript/door.h"\n',
                    "core/formats/torchscript/door.h": '#include "core/formats/model.h"\n',
                    "core/formats/torchscript/run/read.cpp": "#include <torch/script.h>\n"
                    '#include "core/formats/model.h"\n#include "core/graph/graph.h"\n',
                    "ui/main_window.cpp": "#include <QMainWindow>\n#include <QtCharts/QChart>\n",
                    "core/fold/queue.h": '#include <queue>\n#include <Quantity.h>\n#include "core/nets/net.h"\n',
                    "core/nets/net.h": '#include "core/graph/graph.h"\n',
                }
            ),
            [],
        )

    def test_qt_in_core(self):
        self.expect("may not see Qt", {"core/graph/graph.h": "#include <QString>\n"})

    def test_torch_in_the_method(self):
        self.expect("may not see LibTorch", {"core/analysis/plan.cpp": '#  include "ATen/ATen.h"\n'})

    def test_torch_through_a_header_of_ours(self):
        self.expect(
            "formats.cpp: may not see LibTorch (core/formats/formats.cpp -> core/formats/torchscript/program.h -> <torch/script.h>)",
            {
                "core/formats/torchscript/program.h": "#include <torch/script.h>\n",
                "core/formats/formats.cpp": '#include "core/formats/torchscript/program.h"\n',
            },
        )

    def test_window_reaching_for_the_engine(self):
        self.expect("README does not allow core/service/service.h", {"ui/a.cpp": '#include "core/service/service.h"\n'})

    def test_a_room_beyond_its_readme(self):
        rooms = {"ui/words/README.md": "May include: base.\n", "ui/models/README.md": "May include: ui/words.\n"}
        self.assertEqual(self.found(rooms | {"ui/models/a.h": '#include "ui/words/a.h"\n'}), [])
        self.expect("README does not allow ui/models/a.h", rooms | {"ui/words/a.h": '#include "ui/models/a.h"\n'})

    def test_lower_layer_reaching_up(self):
        self.expect("not allow core/analysis/norms/norms.h", {"core/fold/a.h": '#include "core/analysis/norms/norms.h"\n'})

    def test_a_folder_around_stands_for_its_own_files(self):
        self.expect("not allow core/formats/onnx/a.h", {"core/formats/torchscript/a.h": '#include "core/formats/onnx/a.h"\n'})

    def test_what_stands_behind_the_list(self):
        self.expect("not allow core/formats/model.h", {"core/fold/a.h": '#include "core/formats/model.h"\n'})

    def test_torch_and_onnx_in_one_file(self):
        found = self.found({"core/formats/onnx/a.cpp": "#include <onnx/checker.h>\n#include <c10/util/Half.h>\n"})
        self.assertTrue(any("cannot be compiled together" in line for line in found), found)

    def test_a_ring(self):
        readmes = {f"core/formats/onnx/{room}/README.md": "May include: onnx/run, onnx/read." for room in ("read", "run")}
        self.expect(
            "core/formats/onnx: a ring of includes, core/formats/onnx/read -> core/formats/onnx/run -> core/formats/onnx/read",
            {
                **readmes,
                "core/formats/onnx/read/model.h": '#include "core/formats/onnx/run/input.h"\n',
                "core/formats/onnx/run/run.h": '#include "core/formats/onnx/read/scopes.h"\n',
            },
        )

    def test_folder_without_a_line(self):
        self.expect("core/extras: no README here says", {"core/extras/a.h": "", "core/extras/b.h": ""})

    def test_a_line_that_names_nothing(self):
        self.expect("names 'the rest'", {"core/extras/README.md": "May include: base, the rest.", "core/extras/a.h": ""})


if __name__ == "__main__":
    Programs.built = {pathlib.Path(path).name: path for path in sys.argv[1:]}
    del sys.argv[1:]
    unittest.main()
