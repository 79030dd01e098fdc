"""Checks that each folder's sources include what its README allows, directly and through their own headers.

    check_includes.py ROOT     prints each violation as "file: what is wrong", exits 1 if there is one

A README says it in one line, "May include: formats/file, program, LibTorch. Never ...": names with commas between them
up to the first full stop; what stands in brackets explains. A name is a folder or header of ours, sought in the
folder, then in each folder around it, then in core; a framework of FRAMEWORKS; or one of WORDS. A folder stands for all
that lies in it, but a folder around the room only for the files that lie directly in it ("all of core": for all). "as
X": what the README of X allows. Its own files, and those of the rooms in it, a folder may always include.
"""

import functools
import pathlib
import re
import sys

# Framework -> what its headers look like.
FRAMEWORKS = {
    "Qt": r"^Q[A-Z]\w*$|^Qt[A-Z]\w*/",
    "Graphviz": r"^graphviz/|^(gvc|cgraph)\.h$",
    "LibTorch": r"^(torch|c10|ATen|caffe2)/",
    "onnx": r"^(onnx|google/protobuf)/",
    "ONNX Runtime": r"^onnxruntime",
    "CUDA": r"^cuda|^cooperative_groups",
}
WORDS = {"the standard library", "nothing of ours", "Boost Graph"}

# Never in one file: LibTorch's folder carries a protobuf of its own.
APART = [("LibTorch", "onnx")]

TOPS = ("app", "core", "kernels", "ui")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
LINE = re.compile(r"^May include:(.*?)(?:\.\s|\.?\Z|\n\n)", re.MULTILINE | re.DOTALL)
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}


def within(path, folder):
    return path == folder or path.startswith(folder + "/")


def folder_of(path):
    return path.rpartition("/")[0]


class Sources:
    def __init__(self, root):
        self.root = root
        self.includes = {}
        for top in TOPS:
            for file in sorted((root / top).rglob("*")):
                if file.suffix in SUFFIXES:
                    text = file.read_text(encoding="utf-8")
                    self.includes[file.relative_to(root).as_posix()] = INCLUDE.findall(text)

    def ours(self, path):
        return [name for name in self.includes[path] if within(name, "tests") or name.split("/")[0] in TOPS]

    def frameworks(self, path):
        """Framework -> the chain of our own files by which `path` sees it, shortest first."""
        found, seen, queue = {}, {path}, [[path]]
        for chain in queue:
            for name in self.includes.get(chain[-1], []):
                if name in self.includes:
                    if name not in seen:
                        seen.add(name)
                        queue.append(chain + [name])
                    continue
                for framework, pattern in FRAMEWORKS.items():
                    if re.search(pattern, name):
                        found.setdefault(framework, chain + [f"<{name}>"])
        return found

    @functools.cache
    def names(self, room):
        """The names in the line of a folder's README. Raises ValueError: it has none."""
        readme = self.root / room / "README.md"
        line = LINE.search(readme.read_text(encoding="utf-8")) if readme.exists() else None
        if line is None:
            raise ValueError("no README here says what it may include")
        words = " ".join(re.sub(r"\([^)]*\)|`", "", line.group(1)).split())
        return [name.strip() for name in words.split(",")]

    def place(self, room, name):
        """The folder or header of ours that a README means. Raises ValueError: there is none."""
        around = [room]
        while around[-1]:
            around.append(folder_of(around[-1]))
        for folder in (*around, "core"):
            path = f"{folder}/{name}".lstrip("/")
            if (self.root / path).exists():
                return path
        raise ValueError(f"its README names '{name}', which is no folder, header or framework")

    @functools.cache
    def allowed(self, room):
        """What the files of a folder may include: whole folders and headers, folders of single files, frameworks."""
        whole, around, frameworks = {room}, set(), set()
        for name in self.names(room):
            if name in FRAMEWORKS:
                frameworks.add(name)
            elif name.startswith("as "):
                other = self.allowed(self.place(room, name[3:]))
                whole, around, frameworks = whole | other[0], around | other[1], frameworks | other[2]
            elif name.startswith("all of "):
                whole.add(self.place(room, name[7:]))
            elif name not in WORDS:
                path = self.place(room, name)
                (around if within(room, path) else whole).add(path)
        return whole, around, frameworks


def beyond_readme(sources):
    unread = set()
    for path in sources.includes:
        room = folder_of(path)
        try:
            whole, around, frameworks = sources.allowed(room)
        except ValueError as wrong:
            if room not in unread:
                yield f"{room}: {wrong}"
            unread.add(room)
            continue
        for name in sources.ours(path):
            if folder_of(name) not in around and not any(within(name, each) for each in whole):
                yield f"{path}: its folder's README does not allow {name}"
        seen = sources.frameworks(path)
        for framework, chain in seen.items():
            if framework not in frameworks:
                yield f"{path}: may not see {framework} ({' -> '.join(chain)})"
        for one, other in APART:
            if one in seen and other in seen:
                yield f"{path}: sees {one} and {other}, which cannot be compiled together"


def ring_from(arrows, start):
    """The shortest way along the arrows from `start` back to it."""
    ways = {start: [start]}
    for at in (queue := [start]):
        for to in sorted(arrows.get(at, ())):
            if to == start:
                return ways[at] + [start]
            if to not in ways:
                ways[to] = ways[at] + [to]
                queue.append(to)
    return None


def rings(sources):
    """In each folder its files and the rooms in it, each room as one, include each other in one direction."""
    arrows = {}
    for path in sources.includes:
        for name in sources.ours(path):
            parts, others = path.split("/"), name.split("/")
            depth = next((i for i, (one, other) in enumerate(zip(parts, others)) if one != other), None)
            folder = "/".join(parts[:depth])
            if depth is not None:
                at, to = ("/".join(each[: depth + 1]) for each in (parts, others))
                arrows.setdefault(folder, {}).setdefault(at, set()).add(to)
    for folder, inside in sorted(arrows.items()):
        reported = set()
        for start in sorted(inside):
            ring = None if start in reported else ring_from(inside, start)
            if ring:
                reported.update(ring)
                yield f"{folder or 'the sources'}: a ring of includes, {' -> '.join(ring)}"


def violations(root):
    sources = Sources(pathlib.Path(root))
    yield from beyond_readme(sources)
    yield from rings(sources)


def main():
    found = list(violations(sys.argv[1]))
    print("\n".join(found) if found else "the layering holds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
