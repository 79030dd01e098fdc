"""Writes the single-operator models of the onnx package's backend tests, and its small whole ones, into a folder."""

import pathlib
import shutil
import sys

import onnx.backend.test
from onnx.backend.test.case.node import collect_testcases


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for case in collect_testcases(None):
        if case.model is not None:
            (folder / f"{case.name}.onnx").write_bytes(case.model.SerializeToString())
    data = pathlib.Path(onnx.backend.test.__file__).parent / "data"
    for path in data.rglob("*.onnx"):
        shutil.copyfile(path, folder / f"{path.parent.parent.name}.{path.parent.name}.{path.name}")


main(pathlib.Path(sys.argv[1]))
