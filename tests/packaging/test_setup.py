"""What packaging/run fetches, configures and builds, and which tests packaging/test chooses, with tools of its own in
place of apt, pip, cmake and ctest.

Call: run_tests.py test_setup.py. The scripts lie in a clone of their own, with a deps folder of their own.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PACKAGING = pathlib.Path(__file__).parents[2] / "packaging"
SOURCES = ("CMakeLists.txt", "CMakePresets.json", "cmake", "app", "core", "kernels", "ui", "resources")
REAL = "awk bash cat chmod cp cut dirname du env find flock grep head mkdir mv nproc readlink rm sed sha256sum touch tr"
TOOLS = {
    # Debian's, on a machine that has all packages but those in MISSING, and knows only Debian 12's names.
    "dpkg-query": """
        shift 3
        for name; do [[ " ${MISSING:-} " == *" $name "* ]] || echo "$name installed"; done""",
    "dpkg": "",
    "apt-get": 'echo "apt-get $*" >> "$LOG"',
    "apt-cache": '[[ $2 != qt6-charts-dev && $2 != qt6-svg-dev ]]',
    "id": "echo 1000",
    "df": "echo Filesystem; echo disk 99999999 0 99999999",
    "python3": """
        [[ $1 == -m ]] || exit 0
        echo "python3 $*" >> "$LOG"
        rm -rf "$4" && mkdir -p "$4/bin" "$4/lib/python3.13"
        cp "$STAND_INS/venv/"* "$4/bin"
        echo 3.13 > "$4/version" """,
}
VENV = {
    # A Python that sees what lies in the folder of its version.
    "python": """
        venv=$(readlink -f "$(dirname "$0")/..")
        version=$(cat "$venv/version")
        packages=$venv/lib/python$version
        case "$*" in
          -ISc*) echo "$version" ;;
          "-m pip --version") [[ -e $packages ]] ;;
          "-m pip "*) echo "pip ${*:3}" >> "$LOG"; [[ $3 == download ]] || mkdir -p "$packages/site-packages/cmake" ;;
          *count_tests.py*) echo "1 passed, 0 failed" ;;
          -\\ *) cat > /dev/null; [[ -e $packages/site-packages/cmake ]] || echo "cmake==4.4.4  # 30 MB" ;;
        esac""",
    "ctest": """
        echo "ctest $*" >> "$LOG"
        while [[ $1 != --output-junit ]]; do shift; done
        : > "$2" """,
    "cmake": """
        echo "cmake $*" >> "$LOG"
        if [[ $1 == --build ]]; then
          [[ ! ${BUILD_FAILS:-} ]] || exit 1
          mkdir -p "$2/bin"
          printf '#!/bin/sh\\necho started\\n' > "$2/bin/normlens"
          chmod +x "$2/bin/normlens"
        else
          touch build/release/build.ninja
        fi""",
}


def write_tool(path, text):
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


def write_tools(folder, tools):
    folder.mkdir(parents=True)
    for name, text in tools.items():
        write_tool(folder / name, text)


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.deps = self.folder / "deps"
        self.log = self.folder / "log"
        write_tools(self.folder / "tools", TOOLS)
        write_tools(self.folder / "tools" / "venv", VENV)
        for name in REAL.split():
            (self.folder / "tools" / name).symlink_to(shutil.which(name))
        self.clone = self.make_clone("clone")
        self.make_deps()

    def make_clone(self, name):
        clone = self.folder / name
        (clone / "packaging").mkdir(parents=True)
        for script in ("run", "test", "setup", "setup_onnx", "apt-packages.txt", "requirements.txt"):
            shutil.copy(PACKAGING / script, clone / "packaging")
        write_tool(clone / "packaging" / "gpu-torch", 'echo gpu-torch >> "$LOG"')
        for source in SOURCES:
            (clone / source).touch()
        return clone

    def make_deps(self):
        write_tools(self.deps / "venv" / "bin", VENV)
        (self.deps / "venv" / "version").write_text("3.11\n")
        (self.deps / "venv" / "lib" / "python3.11" / "site-packages" / "cmake").mkdir(parents=True)
        self.run_shell(
            'source packaging/setup; mkdir "$NORMLENS_DEPS/onnx"; '
            'touch "$(requirementsStamp)" "$NORMLENS_DEPS/onnx/.complete-$(onnxVersion)"'
        )
        (self.deps / "onnxruntime").mkdir()
        (self.deps / "onnxruntime" / ".complete").touch()

    def run_shell(self, script, folder=None, **more):
        """Returns the exit code, what was printed and what the tools were told."""
        self.log.write_text("")
        variables = {"PATH": str(self.folder / "tools"), "HOME": str(self.folder), "NORMLENS_DEPS": str(self.deps)}
        own = {"LOG": str(self.log), "STAND_INS": str(self.folder / "tools")}
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=folder or self.clone,
            env=variables | own | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout, self.log.read_text()

    def start(self, clone=None, fails=False, **more):
        """Runs packaging/run with a verb; returns what the tools were told."""
        code, output, told = self.run_shell("packaging/run analyze", clone, **more)
        self.assertEqual(code != 0, fails, output)
        if not fails:
            self.assertTrue(output.endswith("started\n"), output)
        return told

    def assertConfigures(self, told):
        self.assertIn("--preset release", told)
        self.assertIn("cmake --build", told)

    def test_a_second_run_neither_configures_nor_builds(self):
        self.assertConfigures(self.start())
        self.assertEqual(self.start(), "")

    def test_an_edit_is_built_and_not_configured(self):
        self.start()
        os.utime(self.clone / "core", (2**31, 2**31))
        told = self.start()
        self.assertIn("cmake --build", told)
        self.assertNotIn("--preset", told)

    @unittest.skipIf(pathlib.Path("/usr/include/onnxruntime").exists(), "the system has headers of ONNX Runtime")
    def test_headers_of_onnx_runtime_that_come_later_are_built_with(self):
        stamp = self.deps / "onnxruntime" / ".complete"
        stamp.unlink()
        self.start()
        stamp.touch()
        self.assertConfigures(self.start())
        self.assertEqual(self.start(), "")

    def test_a_release_of_onnx_runtime_that_is_named_is_built_with(self):
        self.start()
        (self.clone / "ort").mkdir()
        told = self.start(ONNXRUNTIME_ROOT="ort")
        self.assertConfigures(told)
        self.assertIn(f"-DONNXRUNTIME_ROOT={self.clone}/ort\n", told)
        self.assertEqual(self.start(ONNXRUNTIME_ROOT="ort"), "")
        self.assertTrue(self.start().startswith("cmake --preset"), "and without it once it is not named")

    def test_other_packages_are_built_with(self):
        self.start()
        with open(self.clone / "packaging" / "requirements.txt", "a", encoding="utf-8") as requirements:
            requirements.write("# another torch\n")
        told = self.start()
        self.assertConfigures(told)
        self.assertNotIn("--fresh", told)
        self.assertEqual(self.start(), "")

    def test_a_clone_that_moved_is_configured_from_the_beginning(self):
        self.start()
        moved = self.clone.rename(self.folder / "elsewhere")
        told = self.start(moved)
        self.assertConfigures(told)
        self.assertIn("--fresh", told)
        self.assertEqual(self.start(moved), "")

    def test_a_build_folder_of_an_older_version_is_configured_from_the_beginning(self):
        self.start()
        (self.clone / "build" / "release" / ".configured").write_text(f"{self.deps} onnx\n")
        self.assertIn("--fresh", self.start())

    def test_programs_of_before_a_configuring_are_not_started(self):
        self.start()
        (self.clone / "ort").mkdir()
        self.assertConfigures(self.start(ONNXRUNTIME_ROOT="ort", BUILD_FAILS="1", fails=True))
        self.assertIn("cmake --build", self.start(ONNXRUNTIME_ROOT="ort"))

    def test_a_relative_deps_folder_is_one_of_where_the_command_was_given(self):
        code, output, told = self.run_shell("clone/packaging/run analyze", self.folder, NORMLENS_DEPS="deps")
        self.assertEqual(code, 0, output)
        self.assertIn(f"-DNORMLENS_DEPS={self.deps} ", told)

    def test_an_environment_whose_python_is_gone_is_made_anew(self):
        self.start()
        (self.deps / "venv" / "bin" / "python").unlink()
        told = self.start()
        self.assertIn(f"python3 -m venv --clear {self.deps}/venv\n", told)
        self.assertConfigures(told)
        self.assertEqual(self.start(), "")

    def test_an_environment_of_an_older_python_is_made_anew(self):
        self.start()
        (self.deps / "venv" / "version").write_text("3.13\n")
        told = self.start()
        self.assertIn("python3 -m venv --clear", told)
        self.assertConfigures(told)

    def chosen(self, words):
        """Returns the words of ctest behind those that packaging/test always gives, and what was called before it."""
        code, output, told = self.run_shell(f"packaging/test {words}")
        self.assertEqual(code, 0, output)
        self.assertEqual(output.splitlines()[-1], "1 passed, 0 failed")
        before, _, ctest = told.partition("ctest ")
        return ctest.partition("test-results.xml ")[2].strip(), before

    def test_the_long_tests_run_only_when_they_are_named(self):
        words, before = self.chosen("-R fold")
        self.assertEqual(words, "-R fold -LE ^long$")
        self.assertNotIn("gpu-torch", before)
        words, before = self.chosen("--long -R portable")
        self.assertEqual(words, "-R portable -L ^long$")
        self.assertIn("gpu-torch", before)

    def test_labels_that_are_left_out_join_the_long_one(self):
        self.assertEqual(self.chosen("-LE window --label-exclude onnx")[0], "-LE ^long$|window|onnx")
        self.assertEqual(self.chosen("-LE window --long")[0], "-L ^long$ -LE window")

    def test_pip_keeps_no_second_copy(self):
        (self.deps / "venv" / "bin" / "python").unlink()
        pip = [line for line in self.start().splitlines() if line.startswith("pip ")]
        self.assertEqual([line.split()[1] for line in pip], ["download", "install"])
        for line in pip:
            self.assertIn("--no-cache-dir", line)

    def test_the_command_that_is_told_without_sudo_can_be_given(self):
        code, output, told = self.run_shell(
            "packaging/run analyze", MISSING="g++ qt6-charts-dev libqt6charts6-dev qt6-svg-dev libqt6svg6-dev"
        )
        self.assertEqual((code, told), (1, ""))
        self.assertTrue(output.endswith("apt-get install g++ libqt6charts6-dev libqt6svg6-dev\n"), output)
