"""Stands in for the build tools of onnx's source archive when packaging/setup_onnx fetches it.

pip hands an archive over only after the build backend that it names (PEP 517) has told its metadata. The archive brings
them along, so neither the real backend nor what that needs has to be fetched or run.
"""

import email.parser
import pathlib
import shutil


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    about = email.parser.HeaderParser().parsestr(pathlib.Path("PKG-INFO").read_text(encoding="utf-8"))
    folder = pathlib.Path(metadata_directory, f"{about['Name']}-{about['Version']}.dist-info")
    folder.mkdir()
    shutil.copy("PKG-INFO", folder / "METADATA")
    return folder.name
