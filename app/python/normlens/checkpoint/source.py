"""A checkpoint's folder as a stranger's: JSON, weights and links are checked before anything is made of them. No code runs."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pathlib
import re
import warnings
import zipfile
from typing import Any, Dict, Iterator, List, Mapping, Tuple

import torch
from safetensors import SafetensorError, safe_open

from normlens.engine.session import Json
from normlens.errors import FolderRefused

LARGEST_SETTINGS, LARGEST_INDEX = 1 << 22, 1 << 26  # bytes
MOST_LISTS = 1 << 18  # or tables, of a JSON file: each takes memory many times its two bytes
MOST_NAMES = 4  # of one tensor in a pickle: T5 ties its head and three embeddings
KEPT = (".json", ".txt", ".model", ".jinja", ".tiktoken")  # files of tokenizers and processors
INDICES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
WHOLE = ("model.safetensors", "pytorch_model.bin")
ARGUMENTS = ("model_args", "backbone_kwargs")  # settings that transformers hands on to timm
ELSEWHERE = ("architecture", "backbone")  # settings that name a model of timm, or of the hub, or a folder
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\.(safetensors|bin)")


@dataclasses.dataclass(frozen=True)
class Source:
    """config: of config.json. tensors: by their names in the files, in the types that they are stored in. shards: file that
    is to be written -> names of its tensors. copied: files that are copied as they are. code: its Python files, of a
    trusted folder only."""

    root: pathlib.Path
    config: Json
    tensors: Mapping[str, torch.Tensor]
    shards: Mapping[str, Tuple[str, ...]]
    copied: Tuple[pathlib.Path, ...]
    code: Tuple[pathlib.Path, ...]

    def widest(self) -> torch.dtype:
        """A type that holds the numbers of all its floating-point types."""
        return functools.reduce(torch.promote_types, self._counted())

    def stored(self) -> torch.dtype:
        """The floating-point type that most numbers are stored in."""
        return max(self._counted(), key=self._counted().__getitem__)

    def _counted(self) -> Dict[torch.dtype, int]:
        found: Dict[torch.dtype, int] = {}
        for tensor in self.tensors.values():
            if tensor.is_floating_point():
                found[tensor.dtype] = found.get(tensor.dtype, 0) + tensor.numel()
        return found


def read_source(folder: pathlib.Path, trusted: bool = False) -> Source:
    """Raises FolderRefused."""
    if not os.path.lexists(folder / "config.json"):
        raise FolderRefused(f"{folder} is no checkpoint's folder: it has no config.json")
    config = read_json(inside(folder, "config.json"), LARGEST_SETTINGS)
    if not isinstance(config, dict):
        raise FolderRefused(f"{folder / 'config.json'} is no JSON object")
    if (folder / "adapter_config.json").exists():
        raise FolderRefused(f"{folder} is an adapter (adapter_config.json); merge it into its model first")
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith(".") and (path.is_symlink() or not path.is_dir()))
    copied = [inside(folder, name) for name in names if name.endswith(KEPT) and name not in (*INDICES, "config.json")]
    for path, content in [(folder / "config.json", config), *((one, _content(one)) for one in copied)]:
        _check_settings(path, content, trusted)
    licenses = [inside(folder, name) for name in names if name.startswith(("LICENSE", "NOTICE")) and not name.endswith(KEPT)]
    code = tuple(inside(folder, name) for name in names if name.endswith(".py")) if trusted else ()
    tensors, shards = _weights(folder)
    if not any(tensor.is_floating_point() for tensor in tensors.values()):
        raise FolderRefused(f"{folder} has no weights that are floating-point numbers")
    return Source(folder, config, tensors, shards, (*copied, *licenses), code)


def inside(folder: pathlib.Path, name: str) -> pathlib.Path:
    """The path of that file; a link may lead to a file of the folder, or of the hub's cache that the folder is a snapshot of."""
    path = folder / name
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise FolderRefused(f"{path} is missing, or a link that leads nowhere") from None
    root = folder.resolve()
    roots = [root, root.parent.parent / "blobs"] if root.parent.name == "snapshots" else [root]
    if target.parent not in roots or not target.is_file():
        raise FolderRefused(f"{path} is a link to a file outside the folder, or no file; put a copy of the file there")
    return path


def read_json(path: pathlib.Path, largest: int) -> Any:
    if path.stat().st_size > largest:
        raise FolderRefused(f"{path} has more than {largest >> 20} MB, which no such file has")
    try:
        text = path.read_text(encoding="utf-8")
        if text.count("[") + text.count("{") > MOST_LISTS:
            raise FolderRefused(f"{path} has more than {MOST_LISTS} lists, which no such file has")
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FolderRefused(f"{path} is no JSON file: {str(error).splitlines()[0]}") from None


def _content(path: pathlib.Path) -> Any:
    """Of settings; what else a tokenizer has is copied unread."""
    return read_json(path, LARGEST_SETTINGS) if path.name.endswith("config.json") else None


def _check_settings(path: pathlib.Path, content: Any, trusted: bool) -> None:
    for key, value in entries(content):
        if key == "auto_map" and value and not trusted:
            raise FolderRefused(f"{path} names code of the folder (auto_map); --trust-remote-code runs it")
        if key == "auto_map" and any("--" in str(one) for one in _leaves(value)):
            raise FolderRefused(f"{path} names code of another repository (auto_map); put the code into the folder")
        if key in ELSEWHERE and any(mark in str(one) for one in _leaves(value) for mark in ":/\\"):
            raise FolderRefused(f"{path} names a model elsewhere ({key}: {str(value)[:60]!r}), and nothing is looked up")
        if key in ARGUMENTS and value:
            _check_arguments(path, key, value)
        if key.endswith("_implementation") and "/" in str(value):
            raise FolderRefused(f"{path} names code of a repository ({key}); write \"eager\" there")
        if key == "quantization_config" and value:
            raise FolderRefused(f"{path} describes quantized weights (quantization_config), which are not folded")


def _check_arguments(path: pathlib.Path, key: str, value: Any) -> None:
    """They go to timm, which would read the files that some of them name, and unpickle them."""
    given = [name for name, _ in entries(value)] if isinstance(value, dict) else [key]
    refused = [name for name in given if name.startswith(("pretrained", "checkpoint")) or name in ("cache_dir", *ARGUMENTS)]
    if refused:
        raise FolderRefused(f"{path} has {key} with {refused[0]!r}, which is no size of a model")


def entries(content: Any) -> Iterator[Tuple[str, Any]]:
    """All keys with their values, however deep."""
    waiting: List[Any] = [content]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield from one.items()
        waiting.extend(one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())


def _leaves(value: Any) -> List[Any]:
    return [value, *(one for _, one in entries(value))]


def _weights(folder: pathlib.Path) -> Tuple[Dict[str, torch.Tensor], Dict[str, Tuple[str, ...]]]:
    for whole, index in zip(WHOLE, INDICES):
        if (folder / whole).exists():
            return _joined({whole: _read_tensors(inside(folder, whole))})
        if (folder / index).exists():
            return _joined(_indexed(folder, index))
    raise FolderRefused(f"{folder} has no weights that are read: {', '.join((*WHOLE, *INDICES))}")


def _indexed(folder: pathlib.Path, index: str) -> Dict[str, Dict[str, torch.Tensor]]:
    content = read_json(inside(folder, index), LARGEST_INDEX)
    names = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(names, dict) or not names or not all(isinstance(file, str) for file in names.values()):
        raise FolderRefused(f"{folder / index} has no weight_map from tensors to files")
    for file in set(names.values()):
        if not PLAIN_NAME.fullmatch(file):
            raise FolderRefused(f"{folder / index} names {file!r}, which is no weights file of the folder")
    parts = {file: _read_tensors(inside(folder, file)) for file in sorted(set(names.values()))}
    for name, file in names.items():
        if name not in parts[file]:
            raise FolderRefused(f"{folder / index} says that {file} has the tensor {name!r}, which it has not")
    return parts


def _joined(parts: Mapping[str, Mapping[str, torch.Tensor]]) -> Tuple[Dict[str, torch.Tensor], Dict[str, Tuple[str, ...]]]:
    tensors: Dict[str, torch.Tensor] = {}
    for file, held in parts.items():
        twice = tensors.keys() & held.keys()
        if twice:
            raise FolderRefused(f"the tensor {sorted(twice)[0]!r} is in two files of the folder, {file} is one of them")
        tensors.update(held)
    if len(parts) == 1:
        return tensors, {WHOLE[0]: tuple(tensors)}
    shards = {_as_safetensors(file): tuple(held) for file, held in parts.items()}
    if len(shards) < len(parts) or WHOLE[0] in shards:
        raise FolderRefused(f"the index names {', '.join(parts)}, two of which would have one name as safetensors")
    return tensors, shards


def _as_safetensors(file: str) -> str:
    return file.replace("pytorch_model", "model").removesuffix(".bin").removesuffix(".safetensors") + ".safetensors"


def _read_tensors(path: pathlib.Path) -> Dict[str, torch.Tensor]:
    try:
        if path.suffix == ".safetensors":
            with safe_open(path, "pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}
        else:
            _check_archive(path)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what is read is a stranger's, and so is its protocol
                tensors = torch.load(path, map_location="cpu", weights_only=True)
    except FolderRefused:
        raise
    except (SafetensorError, OSError, RuntimeError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise FolderRefused(f"{path} cannot be read: {_line(error)}") from None
    except Exception:  # an unpickler may raise anything, and torch's own sentence says how to run it
        raise FolderRefused(f"{path} holds more than tensors, or is damaged, and was not run") from None
    if not isinstance(tensors, dict) or not all(isinstance(name, str) for name in tensors):
        raise FolderRefused(f"{path} is no table of tensors by name")
    for name, tensor in tensors.items():
        small = isinstance(tensor, torch.Tensor) and tensor.is_floating_point() and tensor.element_size() < 2
        plain = isinstance(tensor, torch.Tensor) and tensor.layout is torch.strided and tensor.device.type == "cpu"
        if not plain or tensor.is_quantized or small:
            raise FolderRefused(f"{path} has {name!r}, which is no plain tensor of 16 bits or more")
        if tensor.nbytes > tensor.untyped_storage().nbytes():
            raise FolderRefused(f"{path} has {name!r}, which repeats the numbers that it holds")
    if sum(tensor.nbytes for tensor in tensors.values()) > MOST_NAMES * (path.stat().st_size + (1 << 20)):
        raise FolderRefused(f"{path} gives the same numbers many names, which would take many times its size")
    return dict(tensors)


def _check_archive(path: pathlib.Path) -> None:
    """Records of torch are stored as they are; compressed or shared ones would take memory many times the file's size."""
    with path.open("rb") as file:
        if file.read(4) != b"PK\3\4":
            return
    with zipfile.ZipFile(path) as archive:
        records = archive.infolist()
    if any(one.compress_type != zipfile.ZIP_STORED for one in records) or sum(one.file_size for one in records) > path.stat().st_size:
        raise FolderRefused(f"{path} has compressed or shared records, which torch does not write; save it anew with torch.save")


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200].rstrip(".")
