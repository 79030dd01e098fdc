"""Puts the programs, with every library that a bare Debian lacks, into the pure wheel of the Python package.

    make_wheel.py PURE_WHEEL BUILD FOLDER [OTHER_BUILDS]     packaging/wheel calls it; auditwheel and patchelf are there

Prints the path of the wheel. The programs lie in normlens/bin, libraries in normlens/lib, Qt's plugins in
normlens/plugins, models and fonts in normlens/share/normlens; nothing refers to a folder of this machine.
"""

import base64
import contextlib
import hashlib
import importlib.metadata
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

PROGRAMS = ("normlens", "normlens-engine", "normlens-layout", "normlens-window")
PLUGINS = (
    "iconengines/libqsvgicon.so",
    "imageformats/libqjpeg.so",
    "imageformats/libqsvg.so",
    "platforminputcontexts/libcomposeplatforminputcontextplugin.so",
    "platforminputcontexts/libibusplatforminputcontextplugin.so",
    "platforms/libqoffscreen.so",
    "platforms/libqwayland-generic.so",
    "platforms/libqxcb.so",
    "wayland-decoration-client/libbradient.so",
    "wayland-shell-integration/libxdg-shell.so",
)
COMPILED_IN = ("fonts-inter", "libboost-dev", "libcli11-dev", "libexpected-dev", "libxxhash-dev", "nlohmann-json3-dev")
COMPILED_IN_OF_PYPI = ("onnx", "onnxruntime", "torch")  # onnx whole, of the others what their headers define
FONTS = ("Inter-Regular.otf", "Inter-Medium.otf", "Inter-SemiBold.otf", "Inter-Bold.otf", "Inter-Italic.otf")
# The system's own: a copy beside another's would not do, or each system that Python runs on has it.
SYSTEM = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv|gcc_s|stdc\+\+))\.so")
TORCH = ("libc10.so", "libtorch.so", "libtorch_cpu.so", "libtorch_cuda.so", "libc10_cuda.so")  # comes with torch
# Debian's Qt Core wants ICU, whose data is 31 MB: time zones, old encodings and the order of words in each language, none
# of which the window asks for. A table of contents without an entry, as ICU's own stub of its data has it.
ICU_DATA = (
    "const unsigned char {name}[64] __attribute__((aligned(16))) = "
    "{{32, 0, 0xda, 0x27, 20, 0, 0, 0, 0, 0, 2, 0, 'T', 'o', 'C', 'P', 1}};"
)


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True, **options).stdout


def needed(file):
    """Name -> path of the libraries that a file itself names: what LibTorch's libraries want is not the wheel's matter."""
    direct, found = run("patchelf", "--print-needed", file).split(), {}
    for line in run("ldd", file).splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if arrow and name in direct:
            found[name] = rest.partition(" (")[0]
    return found


def is_binary(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


class Tree:
    """The package's folder as it will lie among Python's packages."""

    def __init__(self, folder, build):
        self.root, self.build = folder / "normlens", build
        self.packages = {*COMPILED_IN, *COMPILED_IN_OF_PYPI}  # of which something is in the wheel

    def copy(self, source, folder):
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        target = self.root / folder / pathlib.Path(source).name
        shutil.copy(source, target)
        return target

    def fill(self, other_builds):
        for program in PROGRAMS:
            self.copy(self.build / "bin" / program, "bin")
        (self.root / "bin/qt.conf").write_text("[Paths]\nPrefix = ..\nPlugins = plugins\n")
        for build in (*other_builds, self.build):
            for library in build.glob("lib/libnormlens_*.so"):
                if "fork_server" not in library.name:
                    self.copy(library, "lib")
        plugins = pathlib.Path(run("qmake6", "-query", "QT_INSTALL_PLUGINS").strip())
        for plugin in PLUGINS:
            self.note(plugins / plugin)
            self.copy(plugins / plugin, pathlib.Path("plugins") / plugin.partition("/")[0])
        for font in FONTS:
            self.copy(pathlib.Path("/usr/share/fonts/opentype/inter") / font, "share/normlens/fonts")
        shutil.copytree(self.build / "bin/models", self.root / "share/normlens/models")
        self.copy_libraries()
        self.tidy()

    def copy_libraries(self):
        waiting = self.binaries()
        while waiting:
            file = waiting.pop()
            for name, path in needed(file).items():
                if SYSTEM.match(name) or name in TORCH or name.startswith("libnormlens_"):
                    continue
                if path == "not found":
                    raise SystemExit(f"{file.name} needs {name}, which is not on this machine.")
                if not (self.root / "lib" / name).exists():
                    self.note(path)
                    source = pathlib.Path(os.path.realpath(path))
                    if name.startswith("libicudata.so."):
                        self.make_icu_data(name)
                    else:
                        shutil.copy(source, self.root / "lib" / name)
                        waiting.append(source)

    def make_icu_data(self, name):
        code = ICU_DATA.format(name=f"icudt{name.rpartition('.')[2]}_dat")
        target = self.root / "lib" / name
        run("cc", "-shared", "-fPIC", "-nostdlib", f"-Wl,-soname,{name}", "-o", target, "-x", "c", "-", input=code)

    def binaries(self):
        return sorted(path for path in self.root.rglob("*") if path.is_file() and not path.is_symlink() and is_binary(path))

    def tidy(self):
        for file in self.binaries():
            file.chmod(0o755)
            up = os.path.relpath(self.root / "lib", file.parent)
            run("strip", "--strip-unneeded", file)
            run("patchelf", "--set-rpath", "$ORIGIN" if up == "." else f"$ORIGIN/{up}", file)

    def note(self, path):
        """Remembers the Debian package of a file."""
        for name in {str(path), os.path.realpath(path), os.path.realpath(path).removeprefix("/usr")}:
            with contextlib.suppress(subprocess.CalledProcessError):
                self.packages.add(run("dpkg-query", "-S", name).partition(":")[0])
                return
        raise SystemExit(f"{path} is of no Debian package, so its license is not known.")


def glibc_of(files):
    """The newest version of glibc's symbols that any of the files wants."""
    symbols = set()
    for file in files:
        symbols |= {tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", run("objdump", "-T", file))}
    return max(symbols)


def debian_package(name):
    """Its version and its copyright file."""
    version = run("dpkg-query", "-W", "-f", "${Version}\n", name).splitlines()[0]
    return version, pathlib.Path(f"/usr/share/doc/{name}/copyright").read_text(encoding="utf-8", errors="replace")


def pypi_package(name):
    """Its version and its own license, with its notice."""
    package = importlib.metadata.distribution(name)
    files = [file for file in package.files if file.name in ("LICENSE", "NOTICE") and "third_party" not in file.parts]
    if not files:
        raise SystemExit(f"{name} has no license file.")
    return package.version, "\n".join(file.locate().read_text(encoding="utf-8") for file in sorted(files))


def write_licenses(info, packages):
    """The license of each package, and a list of the packages (CycloneDX, as PEP 770 wants it)."""
    components = []
    (info / "licenses/third_party").mkdir(parents=True)
    for package in sorted(packages):
        of_pypi = package in COMPILED_IN_OF_PYPI
        version, text = pypi_package(package) if of_pypi else debian_package(package)
        (info / f"licenses/third_party/{package}.txt").write_text(text, encoding="utf-8")
        purl = f"pkg:{'pypi' if of_pypi else 'deb/debian'}/{package}@{version}"
        components.append({"type": "library", "name": package, "version": version, "purl": purl})
    (info / "sboms").mkdir()
    bom = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": components}
    (info / "sboms/normlens.cdx.json").write_text(json.dumps(bom, indent=1) + "\n")


def torch_versions(libraries):
    """The requirement that the versions of torch meet which the wheel is built for: "torch>=2.11,<2.16,!=2.12.*"."""
    minors = {int(path.stem.rpartition("-2.")[2]) for path in libraries.glob("libnormlens_torchscript-2.*.so")}
    others = "".join(f",!=2.{minor}.*" for minor in range(min(minors), max(minors)) if minor not in minors)
    return f"torch>=2.{min(minors)},<2.{max(minors) + 1}{others}"


def write_metadata(info, tag, packages, torch):
    metadata = (info / "METADATA").read_text(encoding="utf-8")
    metadata, extras = re.subn(r"(Requires-Dist: )torch\S*(; extra == )", rf"\1{torch}\2", metadata)
    if extras != 2:
        raise SystemExit("The extras torch and checkpoint want torch, and the metadata has it in another place.")
    lines = "".join(f"License-File: third_party/{package}.txt\n" for package in sorted(packages))
    head, blank, body = metadata.partition("\n\n")
    (info / "METADATA").write_text(head + "\n" + lines.rstrip("\n") + blank + body, encoding="utf-8")
    wheel = (info / "WHEEL").read_text()
    wheel = re.sub(r"Root-Is-Purelib: .*", "Root-Is-Purelib: false", re.sub(r"Tag: .*", f"Tag: {tag}", wheel))
    (info / "WHEEL").write_text(wheel)


def pack(folder, info, wheel):
    """Writes the wheel, with the same bytes each time: files by name, all of one date."""
    date = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    record = io.StringIO()
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != info / "RECORD")
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:

        def add(name, data, mode):
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)

        for path in files:
            name, data = path.relative_to(folder).as_posix(), path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.write(f"{name},sha256={digest},{len(data)}\n")
            add(name, data, 0o755 if is_binary(path) else 0o644)
        name = f"{info.name}/RECORD"
        add(name, record.getvalue() + f"{name},,\n", 0o644)


def audited(wheel):
    """What auditwheel finds the wheel to be: the oldest system that it serves."""
    excluded = [word for name in TORCH for word in ("--exclude", name)]
    with tempfile.TemporaryDirectory() as folder:
        said = subprocess.run(
            [sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", *excluded, "-w", folder, wheel],
            capture_output=True, text=True, check=False,
        )
        made = [path.name for path in pathlib.Path(folder).glob("*.whl")]
        if said.returncode or not made:
            raise SystemExit(f"auditwheel does not take {wheel}:\n{said.stderr}")
        grafted = [name for name in zipfile.ZipFile(pathlib.Path(folder, made[0])).namelist() if "normlens.libs/" in name]
        if grafted:
            raise SystemExit(f"auditwheel finds libraries that are missing in the wheel: {grafted}")
    return made[0]


def main(pure, build, folder, others=""):
    build, folder = pathlib.Path(build), pathlib.Path(folder)
    with tempfile.TemporaryDirectory() as work:
        root = pathlib.Path(work)
        zipfile.ZipFile(pure).extractall(root)
        info = next(root.glob("*.dist-info"))
        tree = Tree(root, build)
        tree.fill([pathlib.Path(name) for name in others.split(":") if name])
        machine = os.uname().machine
        tag = "py3-none-manylinux_{}_{}_{}".format(*glibc_of(tree.binaries()), machine)
        write_licenses(info, tree.packages)
        write_metadata(info, tag, tree.packages, torch_versions(tree.root / "lib"))
        wheel = folder / f"{info.name.removesuffix('.dist-info')}-{tag}.whl"
        pack(root, info, wheel)
        found = audited(wheel)
        if found != wheel.name:
            raise SystemExit(f"auditwheel calls it {found}, and it is {wheel.name}.")
    print(wheel)


if __name__ == "__main__":
    main(*sys.argv[1:])
