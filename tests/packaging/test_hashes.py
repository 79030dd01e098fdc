"""What packaging/setup installs only by hash, with the real pip and an index that is a folder; and the lists of hashes.

Call: run_tests.py test_hashes.py. Nothing is fetched: the packages are made here.
"""

import hashlib
import importlib.util
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

PACKAGING = pathlib.Path(__file__).parents[2] / "packaging"
REFUSED = "was not installed: its file is not one that packaging/requirements.txt names by hash"
# The last moment before pip unpacks: the real function, with a change of the folder before it.
WRAP_INSTALL = 'eval "real$(declare -f installWheels)"; installWheels() {{ {change}; realinstallWheels "$@"; }}'


def about(name):
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"


def make_wheel(folder, name, content):
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", content)
        wheel.writestr(f"{name}-1.0.dist-info/METADATA", about(name))
        wheel.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return path


def make_source(folder, content):
    """As onnx's archive: its build tools are not in the index, and building it tells on itself."""
    path = folder / "onnx-1.0.tar.gz"
    build = '[build-system]\nrequires = ["scikit-build-core"]\nbuild-backend = "scikit_build_core.build"\n'
    with tarfile.open(path, "w:gz") as archive:
        for name, text in {"PKG-INFO": about("onnx"), "pyproject.toml": build, "CMakeLists.txt": content}.items():
            member = tarfile.TarInfo(f"onnx-1.0/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


def line_of(path):
    return f"{path.name.split('-')[0]}==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}  # 5 MB\n"


class SetUpByHash(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.venv = pathlib.Path(folder.name) / "venv"
        subprocess.run([sys.executable, "-m", "venv", cls.venv], check=True)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.index = self.folder / "index"
        self.index.mkdir()
        self.deps = self.folder / "deps"
        shutil.copytree(self.venv, self.deps / "venv", symlinks=True)
        shutil.copytree(PACKAGING, self.folder / "clone" / "packaging")
        self.requirements = self.folder / "clone" / "packaging" / "requirements.txt"

    def run_setup(self, script):
        """Returns the exit code and what was printed."""
        own = {"NORMLENS_DEPS": str(self.deps), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.index)}
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
        done = subprocess.run(
            ["bash", "-c", f"source packaging/setup; {script}"],
            cwd=self.folder / "clone",
            env=plain | own | {"PIP_CONFIG_FILE": os.devnull},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, done.stdout

    def installed(self):
        return {path.parent.name for path in self.deps.glob("venv/lib/python3*/site-packages/*/__init__.py")} & {
            "cmake", "torch"
        }

    def list_wheels(self):
        wheels = [make_wheel(self.index, name, "") for name in ("cmake", "torch")]
        self.requirements.write_text("".join(line_of(wheel) for wheel in wheels))

    def test_what_the_list_names_is_installed_once(self):
        self.list_wheels()
        code, output = self.run_setup("ensureVenv")
        self.assertEqual(code, 0, output)
        self.assertIn("5 of 10 MB are there; next: torch==1.0, 5 MB", output)
        self.assertEqual(self.installed(), {"cmake", "torch"})
        shutil.rmtree(self.index)
        with open(self.requirements, "a", encoding="utf-8") as requirements:
            requirements.write("# written anew\n")
        self.assertEqual(self.run_setup('ensureVenv; ls "$(requirementsStamp)" >/dev/null'), (0, ""))

    def test_the_program_needs_its_own_packages_only_and_the_rest_comes_later(self):
        wheels = [make_wheel(self.index, name, "") for name in ("cmake", "torch")]
        lines = [line_of(wheel) for wheel in wheels]
        self.requirements.write_text(lines[0].replace("# 5 MB", "# 5 MB, program") + lines[1])
        code, output = self.run_setup("normlens_set=program; setSize; ensureVenv; ensureVenv")
        self.assertEqual(code, 0, output)
        self.assertEqual(output.splitlines()[0], "5")
        self.assertEqual(output.count("packages to fetch"), 1, output)
        self.assertEqual(self.installed(), {"cmake"})
        code, output = self.run_setup("setSize; ensureVenv; normlens_set=program; ensureVenv")
        self.assertEqual(code, 0, output)
        self.assertEqual(output.splitlines()[0], "10")
        self.assertIn("1 packages, 5 MB", output)
        self.assertEqual(self.installed(), {"cmake", "torch"})

    def test_what_only_tests_import_is_fetched_for_them_alone(self):
        wheels = [make_wheel(self.index, name, "") for name in ("cmake", "torch")]
        lines = [line_of(wheel) for wheel in wheels]
        self.requirements.write_text(lines[0] + lines[1].replace("# 5 MB", "# 5 MB, tests"))
        code, output = self.run_setup("setSize; ensureVenv; ensureVenv; normlens_set=program; ensureVenv")
        self.assertEqual(code, 0, output)
        self.assertEqual(output.splitlines()[0], "5")
        self.assertEqual(output.count("packages to fetch"), 1, output)
        self.assertEqual(self.installed(), {"cmake"})
        script = "normlens_set=tests; setSize; ensureVenv; for normlens_set in program all tests; do ensureVenv; done"
        code, output = self.run_setup(script)
        self.assertEqual(code, 0, output)
        self.assertEqual(output.splitlines()[0], "10")
        self.assertEqual(output.count("packages to fetch"), 1, output)
        self.assertEqual(self.installed(), {"cmake", "torch"})

    def test_a_wheel_of_other_content_is_refused_and_nothing_is_installed(self):
        self.list_wheels()
        make_wheel(self.index, "torch", "import evil")
        code, output = self.run_setup("ensureVenv; echo went on")
        self.assertEqual(code, 1, output)
        self.assertIn(f"normlens: torch==1.0 {REFUSED}", output.splitlines()[-1])
        self.assertEqual(self.installed(), set())
        make_wheel(self.index, "torch", "")
        self.requirements.write_text("".join(line_of(wheel) for wheel in sorted(self.index.iterdir())))
        code, output = self.run_setup("ensureVenv")
        self.assertEqual(code, 0, output)
        self.assertEqual(self.installed(), {"cmake", "torch"})

    def test_a_wheel_that_was_changed_after_it_was_fetched_is_refused(self):
        self.list_wheels()
        change = f'cp {make_wheel(self.folder, "torch", "import evil")} "$NORMLENS_DEPS/wheels"'
        code, output = self.run_setup(f"{WRAP_INSTALL.format(change=change)}; ensureVenv")
        self.assertEqual(code, 1, output)
        self.assertIn(f"a package that pip names above {REFUSED}", output)
        self.assertEqual(self.installed(), set())

    def test_a_line_without_a_hash_is_refused(self):
        make_wheel(self.index, "cmake", "")
        self.requirements.write_text("cmake==1.0\n")
        code, output = self.run_setup("ensureVenv")
        self.assertEqual(code, 1, output)
        self.assertEqual(self.installed(), set())

    def test_the_source_of_onnx_comes_by_hash_and_without_its_build_tools(self):
        source = make_source(self.index, "project(onnx)")
        self.requirements.write_text(line_of(source))
        fetched = self.deps / "onnx-build" / source.name
        code, output = self.run_setup('fetchOnnxSource "$NORMLENS_DEPS/onnx-build"')
        self.assertEqual((code, output), (0, "normlens: fetching the source of onnx 1.0, 6 MB\n"))
        self.assertEqual(fetched.read_bytes(), source.read_bytes())
        fetched.write_bytes(source.read_bytes()[:100])  # what an interruption may leave
        code, output = self.run_setup('fetchOnnxSource "$NORMLENS_DEPS/onnx-build"')
        self.assertEqual(code, 0, output)
        self.assertEqual(fetched.read_bytes(), source.read_bytes())

    def test_torch_of_gpu_machines_comes_by_hash_into_a_folder_of_its_own(self):
        self.list_wheels()
        listed = self.requirements.with_name("requirements-gpu.txt")
        listed.write_text(line_of(make_wheel(self.index, "torch", "import evil")))
        make_wheel(self.index, "torch", "")
        code, output = self.run_setup("packaging/gpu-torch")
        self.assertEqual(code, 1, output)
        self.assertIn(REFUSED.replace("requirements", "requirements-gpu"), output.splitlines()[-1])
        self.assertFalse((self.deps / "torch-1.0").exists())
        listed.write_text(line_of(self.index / "torch-1.0-py3-none-any.whl"))
        folder = self.deps / "torch-1.0" / "torch"
        code, output = self.run_setup("packaging/gpu-torch")
        self.assertEqual((code, output.splitlines()[-1]), (0, str(folder)))
        self.assertTrue((folder / "__init__.py").exists())
        self.assertNotIn("torch", self.installed())
        shutil.rmtree(self.index)
        self.assertEqual(self.run_setup("packaging/gpu-torch"), (0, f"{folder}\n"))

    def test_a_source_of_other_content_is_refused(self):
        self.requirements.write_text(line_of(make_source(self.index, "project(onnx)")))
        make_source(self.index, "project(evil)")
        code, output = self.run_setup('fetchOnnxSource "$NORMLENS_DEPS/onnx-build"; echo went on')
        self.assertEqual(code, 1, output)
        self.assertIn(f"normlens: onnx==1.0 {REFUSED}", output.splitlines()[-1])
        self.assertEqual(list((self.deps / "onnx-build").iterdir()), [])


def load_writer():
    spec = importlib.util.spec_from_file_location("write_requirements", PACKAGING / "write_requirements.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page(*names):
    """Files as an index lists them; the hash of each is its place."""
    return [
        {"filename": name, "hashes": {"sha256": f"{place}"}, "size": 6_000_000 - place, "yanked": False}
        for place, name in enumerate(names)
    ]


class Lists(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, wanted, files):
        (self.folder / "requirements.in").write_text(f"# a comment\n{wanted}\n")
        missing = load_writer().write_requirements(self.folder, lambda name: files)
        listed = self.folder / "requirements.txt"
        lines = listed.read_text().splitlines() if listed.exists() else []
        return missing, [line for line in lines if not line.startswith("#")]

    def test_each_package_of_the_list_has_hashes_and_the_version_that_is_asked_for(self):
        lists = sorted(PACKAGING.glob("requirements*.in"))
        self.assertEqual([path.stem for path in lists], ["requirements-gpu", "requirements-notebooks", "requirements-torch", "requirements-wheel", "requirements"])
        every_line = []
        for path in lists:
            wanted = re.findall(r"^([^#\s]+)", path.read_text(), re.MULTILINE)
            listed = re.findall(r"^[^#\n].*", path.with_suffix(".txt").read_text(), re.MULTILINE)
            self.assertEqual([line.split()[0] for line in listed], wanted)
            every_line += listed
        for line in every_line:
            self.assertRegex(line, r"^[\w-]+==[\d.]+( --hash=sha256:[0-9a-f]{64})+(  # (\d+ MB|program|tests|\d+ MB, (program|tests)))?$")

    def test_wheels_of_machines_and_pythons_that_can_be_served_are_listed(self):
        served = (
            "a_b-1.0-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
            "a_b-1.0-cp312-abi3-manylinux2014_aarch64.whl",
            "a_b-1.0-py2.py3-none-any.whl",
        )
        others = (
            "a_b-1.0-cp310-cp310-manylinux_2_28_x86_64.whl",
            "a_b-1.0-cp313-cp313t-manylinux_2_28_x86_64.whl",
            "a_b-1.0-cp313-cp313-musllinux_1_2_x86_64.whl",
            "a_b-1.0-cp313-cp313-win_amd64.whl",
            "a_b-1.0-pp311-pypy311_pp73-manylinux_2_28_x86_64.whl",
            "a_b-1.0.1-py3-none-any.whl",
            "a_b-1.0.tar.gz",
        )
        files = page(*served, *others) + [dict(page(served[2])[0], yanked=True, hashes={"sha256": "9"})]
        expected = ([], ["A.b==1.0 --hash=sha256:0 --hash=sha256:1 --hash=sha256:2  # 6 MB"])
        self.assertEqual(self.write("A.b==1.0", files), expected)
        self.assertEqual(self.write("A.b==1.0", files[::-1]), expected, "the order of the index does not matter")

    def test_the_source_of_what_is_built_is_listed_too(self):
        files = page("onnx-1.0-py3-none-any.whl", "onnx-1.0.tar.gz")
        self.assertEqual(self.write("onnx==1.0", files)[1], ["onnx==1.0 --hash=sha256:0 --hash=sha256:1  # 6 MB"])
        self.assertEqual(self.write("onnx==1.0", files[:1])[0], ["onnx 1.0"])

    def test_a_remark_stands_behind_the_size(self):
        files = page("a-1.0-py3-none-any.whl")
        self.assertEqual(self.write("a==1.0  # program", files)[1], ["a==1.0 --hash=sha256:0  # 6 MB, program"])
        files[0]["size"] = 1
        self.assertEqual(self.write("a==1.0  # program", files)[1], ["a==1.0 --hash=sha256:0  # program"])

    def test_a_package_that_a_machine_lacks_leaves_the_list_as_it_is(self):
        (self.folder / "requirements.txt").write_text("as it was")
        files = page("a-1.0-cp311-cp311-manylinux_2_28_x86_64.whl")
        self.assertEqual(self.write("a==1.0", files), (["a 1.0"], ["as it was"]))
