#!/usr/bin/env python3
"""Writes packaging/requirements.txt and requirements-gpu.txt: each package of the list of the same name that ends in .in,
with the hashes of the files that may be installed.

Call: packaging/write_requirements.py, with a Python that has pip (that of the venv does). It asks the package index that
pip is configured for; nothing is fetched but the index's pages. Read what changes before you commit it: these hashes are
what every later set-up trusts.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
HEAD = """\
# Written by packaging/write_requirements.py from requirements.in; change nothing here by hand. Each package has the
# sha256 of its wheels for Linux (x86_64 and aarch64, CPython 3.11 and newer), onnx that of its source too; pip refuses any
# other file. The size of the x86_64 wheel stands behind each package of 5 MB and more, 'program' and 'tests' as in requirements.in.
# Debian's packages, pip among them, are not listed by hash: apt checks the signatures of Debian.
"""
BUILT_FROM_SOURCE = ("onnx",)  # packaging/setup_onnx
WHEEL = re.compile(r"[^-]+-[^-]+(?:-\d[^-]*)?-([^-]+)-([^-]+)-([^-]+)\.whl")


def open_index():
    """A function from a package's name to the list of its files, as the index's JSON pages have them (PEP 691, 700)."""
    from pip._internal.commands import create_command  # pip has no public way to its index, certificates and proxies

    command = create_command("download")
    options, _ = command.parse_args([])
    session = command._build_session(options)

    def files_of(name):
        url = f"{options.index_url.rstrip('/')}/{re.sub('[-_.]+', '-', name).lower()}/"
        page = session.get(url, headers={"Accept": "application/vnd.pypi.simple.v1+json"})
        page.raise_for_status()
        return page.json()["files"]

    return files_of


def is_source(filename):
    return filename.endswith(".tar.gz")


def version_of(filename):
    if is_source(filename):
        return filename.removesuffix(".tar.gz").rpartition("-")[2]
    return filename.partition("-")[2].partition("-")[0]


def is_ours(filename, architecture):
    """Whether a Debian on that architecture with CPython 3.11 or newer can install the wheel."""
    wheel = WHEEL.fullmatch(filename)
    if not wheel:
        return False
    pythons, abi, platforms = wheel[1].split("."), wheel[2], wheel[3].split(".")
    if abi == "none":
        runs = "py3" in pythons
    else:
        runs = abi == "abi3" or any(p == abi and re.fullmatch(r"cp3(1[1-9]|[2-9]\d)", p) for p in pythons)
    return runs and any(p == "any" or (p.startswith("manylinux") and p.endswith(architecture)) for p in platforms)


def requirement(name, version, remark, files):
    """The line of requirements.txt; None where a machine of ours could not be served."""
    files = [file for file in files if version_of(file["filename"]) == version and not file.get("yanked")]
    wheels = {
        architecture: [file for file in files if is_ours(file["filename"], architecture)]
        for architecture in ("x86_64", "aarch64")
    }
    sources = [file for file in files if is_source(file["filename"]) and name in BUILT_FROM_SOURCE]
    if not all(wheels.values()) or (name in BUILT_FROM_SOURCE and not sources):
        return None
    kept = {file["filename"]: file["hashes"]["sha256"] for file in sum(wheels.values(), sources)}
    megabytes = round(max(file["size"] for file in wheels["x86_64"]) / 1e6)
    line = " ".join([f"{name}=={version}"] + [f"--hash=sha256:{kept[filename]}" for filename in sorted(kept)])
    remarks = ", ".join([f"{megabytes} MB"] * (megabytes >= 5) + [remark] * bool(remark))
    return line + (f"  # {remarks}" if remarks else "")


def write_requirements(folder, files_of):
    """Returns what is missing; then the files stay as they were."""
    texts, missing = {}, []
    for wanted in folder.glob("requirements*.in"):
        lines = []
        for package, _, remark in (line.partition("#") for line in wanted.read_text(encoding="utf-8").splitlines()):
            name, _, version = package.strip().partition("==")
            if name:
                line = requirement(name, version, remark.strip(), files_of(name))
                (lines if line else missing).append(line or f"{name} {version}")
        texts[wanted.with_suffix(".txt")] = HEAD.replace("requirements.in", wanted.name) + "\n".join(lines) + "\n"
    if not missing:
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
    return missing


if __name__ == "__main__":
    lacking = write_requirements(HERE, open_index())
    if lacking:
        sys.exit(f"The index lacks wheels for x86_64 or aarch64, or the source, of {', '.join(lacking)}: "
                 "name another version in the list of packaging that has it. The lists with hashes are as they were.")
