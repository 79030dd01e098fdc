"""Checks that the sources include only what the layering allows, directly and through their own headers.

    check_includes.py ROOT     prints each violation as "file: what is wrong", exits 1 if there is one
"""

import pathlib
import re
import sys

# Folder -> our own folders, or single headers, it may include. The longest matching folder counts; a folder without a
# rule is a violation. analysis/norms.h is the list of a graph's norms, which a plan's edits index, whole_norm.h the same with
# gamma and beta: data, not method.
NORMS = ["core/analysis/norms/norms.h", "core/analysis/norms/whole_norm.h"]
LOWER = ["core/base", "core/graph", "core/ops", "core/fold", *NORMS, "core/formats", "kernels"]
TORCH_ROOMS = ["library", "program", "lower", "inputs", "run", "edit", "save"]
PT2_ROOMS = ["translate", "model", "write"]
TORCH_MEASURES = [f"core/formats/torchscript/run/{name}.h" for name in ("cuda/cuda_library", "pass_timer", "peak_memory")]
LAB_VALUES = ["core/lab/run_settings.h", "core/lab/run_record.h"]
OWN = {
    "core/base": ["core/base"],
    # Numbers alone: what the engine measures and the lessons draw.
    "core/base/geometry": ["core/base/geometry"],
    "core/graph": ["core/base", "core/graph"],
    "core/ops": ["core/base", "core/graph", "core/ops"],
    "core/fold": ["core/base", "core/graph", "core/ops", "core/fold"],
    "core/analysis": ["core/base", "core/graph", "core/ops", "core/fold", "core/analysis"],
    "core/analysis/norms": ["core/base", "core/graph", "core/ops", "core/fold", "core/analysis/norms"],
    "core/analysis/claims": ["core/base", "core/graph", "core/ops", "core/fold", "core/analysis/norms", "core/analysis/claims"],
    "core/formats/file": ["core/base", "core/formats/file"],
    "core/formats/archive": ["core/base", "core/graph", "core/formats/file", "core/formats/archive"],
    "core/formats/pt2/file": ["core/base", "core/graph", "core/formats/file", "core/formats/archive", "core/formats/pt2/file"],
    "core/formats/torchscript/file": ["core/base", "core/graph", "core/formats/file", "core/formats/archive", "core/formats/torchscript/file"],
    "core/formats": ["core/base", "core/graph", "core/ops", "core/fold", *NORMS, "core/formats"],
    # What a stranger's model is kept from: it hands over files, and looks at what kind they are.
    "core/confine": ["core/base", "core/formats/file/file_kind.h", "core/confine"],
    "core/run": LOWER + ["core/run"],
    # What a run is and what it tells: values, and the JSON of structs. Its rooms train.
    "core/lab": ["core/base", "core/protocol", "core/lab"],
    "core/lab/data": ["core/base", "core/graph", "core/formats/model.h", "core/run/inputs", *LAB_VALUES, "core/lab/data"],
    "core/lab/findings": ["core/base", *LAB_VALUES, "core/lab/findings"],
    "core/lab/keep": ["core/base", "core/protocol", "core/formats/file", *LAB_VALUES, "core/lab/run_files.h", "core/lab/keep"],
    "core/lab/nets": ["core/base", *LAB_VALUES, "core/lab/nets"],
    "core/lab/export": ["core/base", "core/formats/archive", "core/formats/pt2/file", *LAB_VALUES, "core/lab/nets", "core/lab/export"],
    "core/lab/training": ["core/base", "core/formats/file", *TORCH_MEASURES, "core/run/measure", "core/lab"],
    "core/protocol": ["core/base", "core/protocol", *LAB_VALUES],
    "core/service": ["core", "kernels"],
    "kernels": ["kernels"],
    "kernels/cpu": ["kernels/norm_rows.h", "kernels/cpu"],
    "kernels/cuda": ["kernels/norm_rows.h", "kernels/cuda"],
    "kernels/reference": ["kernels/norm_rows.h", "kernels/reference"],
    "ui": ["core/base", "core/protocol", *LAB_VALUES, "ui"],
    # What runs beside the window: Graphviz and nothing of it.
    "ui/layout/dot": ["core/base", "ui/layout/dot"],
    "app/layout": ["core/base", "ui/layout/dot", "app/layout"],
    "app/normlens": ["core/base", "core/protocol", "ui", "app/normlens"],
    # bench and diff hold two models, the service one: these verbs call run themselves.
    "app/engine": ["core/base", "core/confine", "core/protocol", "core/service", "core/run", "core/lab/train.h", *LAB_VALUES, "core/analysis/norms/norms.h", "app/engine"],
}

# Framework -> what its headers look like, and the folders that may see them.
FRAMEWORKS = {
    "Qt": (r"^Q[A-Z]\w*$|^Qt[A-Z]\w*/", ["ui", "app/layout", "app/normlens"]),
    "Graphviz": (r"^graphviz/|^(gvc|cgraph)\.h$", ["ui/layout/dot"]),
    "LibTorch": (
        r"^(torch|c10|ATen|caffe2)/",
        [
            *(f"core/formats/torchscript/{room}" for room in TORCH_ROOMS),
            *(f"core/formats/pt2/{room}" for room in PT2_ROOMS),
            *(f"core/lab/{room}" for room in ("nets", "training", "export")),
            "kernels/ops",
        ],
    ),
    "onnx": (r"^(onnx|google/protobuf)/", ["core/formats/onnx"]),
    "ONNX Runtime": (r"^onnxruntime", ["core/run", "core/formats/onnx"]),
    "CUDA": (r"^cuda|^cooperative_groups", ["kernels", "core/run"]),
}

# Never in one file: LibTorch's folder carries a protobuf of its own.
APART = [("LibTorch", "onnx")]

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}


def within(path, folders):
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def rule_for(path):
    matches = [folder for folder in OWN if within(path, [folder])]
    return max(matches, key=len) if matches else None


class Sources:
    def __init__(self, root):
        self.includes = {}
        for top in ("app", "core", "kernels", "ui"):
            for file in sorted((root / top).rglob("*")):
                if file.suffix in SUFFIXES:
                    text = file.read_text(encoding="utf-8")
                    self.includes[file.relative_to(root).as_posix()] = INCLUDE.findall(text)

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
                for framework, (pattern, _) in FRAMEWORKS.items():
                    if re.search(pattern, name):
                        found.setdefault(framework, chain + [f"<{name}>"])
        return found


def violations(root):
    sources = Sources(pathlib.Path(root))
    for path, names in sources.includes.items():
        rule = rule_for(path)
        if rule is None:
            yield f"{path}: its folder has no rule in tests/architecture/check_includes.py"
            continue
        for name in names:
            if within(name, ("app", "core", "kernels", "ui", "tests")) and not within(name, OWN[rule]):
                yield f"{path}: {rule} may not include {name}"
        seen = sources.frameworks(path)
        for framework, chain in seen.items():
            if not within(path, FRAMEWORKS[framework][1]):
                yield f"{path}: may not see {framework} ({' -> '.join(chain)})"
        for one, other in APART:
            if one in seen and other in seen:
                yield f"{path}: sees {one} and {other}, which cannot be compiled together"


def main():
    found = list(violations(sys.argv[1]))
    print("\n".join(found) if found else "the layering holds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
