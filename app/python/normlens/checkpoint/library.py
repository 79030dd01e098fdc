"""The class that config.json names, of transformers or timm, made from tensors."""

from __future__ import annotations

import contextlib
import copy
import importlib
import pathlib
import secrets
import sys
import types
from typing import Any, Collection, Dict, Iterator, List, Mapping

import numpy
import safetensors.torch
import torch
from torch import nn

from normlens.checkpoint.code import MODULE
from normlens.checkpoint.examples import MOST_NUMBERS, example_of, need_small
from normlens.checkpoint.source import Source, entries
from normlens.engine.session import Json
from normlens.errors import FolderRefused
from normlens.module.inputs import Inputs
from normlens.module.modes import quiet

Tensors = Mapping[str, torch.Tensor]
READERS = ((torch, "load"), (torch.jit, "load"), (safetensors.torch, "safe_open"), (safetensors.torch, "load"), (numpy, "load"))
MOST_LAYERS = 1000  # may be described where the weights are fewer


@contextlib.contextmanager
def imported(folder: pathlib.Path, module: str) -> Iterator[Any]:
    """A Python file of the folder, which may import the others there, while the context lasts."""
    package, before = types.ModuleType(f"normlens_checkpoint_{secrets.token_hex(4)}"), sys.dont_write_bytecode
    package.__path__ = [str(folder)]
    sys.modules[package.__name__], sys.dont_write_bytecode = package, True
    importlib.invalidate_caches()
    try:
        try:
            found = importlib.import_module(f"{package.__name__}.{module}")
        except Exception as error:  # the file may do anything
            raise FolderRefused(f"{folder / module}.py cannot be imported: {type(error).__name__}: {error}") from error
        yield found
    finally:
        sys.dont_write_bytecode = before
        for name in [name for name in sys.modules if name.partition(".")[0] == package.__name__]:
            del sys.modules[name]


@contextlib.contextmanager
def offline() -> Iterator[None]:
    """While a class is made: some look up a part of themselves by a name in their configuration."""
    from huggingface_hub import constants

    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _no_file(*_: Any, **__: Any) -> None:
    raise FolderRefused("config.json makes its class read a file, and a class is made of config.json and the weights alone")


@contextlib.contextmanager
def unread() -> Iterator[None]:
    """While a class is made: nothing in this process reads weights of another file, whatever configuration led there."""
    with contextlib.ExitStack() as patched:
        for module, name in READERS:
            patched.callback(setattr, module, name, getattr(module, name))
            setattr(module, name, _no_file)
        yield


@contextlib.contextmanager
def _no_larger_than(tensors: Tensors) -> Iterator[None]:
    """Ends the making of a class that has many times the parts of the files, before memory, or time, is taken for them."""
    from torch.nn.modules import module as hooks

    held, parts, numbers = sum(one.numel() for one in tensors.values()), 0, 0

    def count(_: nn.Module, name: str, part: Any) -> None:
        nonlocal parts, numbers
        parts, numbers = parts + 1, numbers + (part.numel() if isinstance(part, nn.Parameter) else 0)
        if numbers > 4 * held or parts > 16 * len(tensors) + 4 * MOST_LAYERS:
            raise FolderRefused(f"config.json describes a model of more than {numbers} numbers in {parts} parts, and the weights are {held}")

    handles = [
        hooks.register_module_parameter_registration_hook(count),
        hooks.register_module_module_registration_hook(count),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def _making(name: str) -> Iterator[None]:
    try:
        with quiet(), offline(), unread():
            yield
    except FolderRefused:
        raise
    except Exception as error:  # of a config.json that no class can be made of
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:300].rstrip(".")
        raise FolderRefused(f"{name} cannot be made of config.json and the weights: {reason}") from error


class Transformers:
    """name: of the class. base: how a Python file that runs `imports` calls it."""

    def __init__(self, source: Source, code: contextlib.ExitStack) -> None:
        """code: keeps the folder's own Python files imported, where it is trusted. Raises FolderRefused."""
        try:
            import transformers
            from transformers.core_model_loading import revert_weight_conversion
        except ImportError:
            raise FolderRefused(f"{source.root} needs transformers 5 or newer") from None
        self._reverted = revert_weight_conversion
        given = source.config.get("auto_map") if source.code else None
        self.name, self._map = _class_name(source), given if isinstance(given, dict) else {}
        own = {auto: str(place).split(".") for auto, place in self._map.items()}
        self._autos = [auto for auto, place in own.items() if len(place) == 2 and place[-1] == self.name]
        modules = {place[0]: code.enter_context(imported(source.root, place[0])) for place in own.values() if len(place) == 2}
        if self._autos:
            module = own[self._autos[0]][0]
            self.kind = getattr(modules[module], self.name, None)
            self.base, self.imports = "Original", f"from .{module} import {self.name} as Original"
        else:
            self.kind = getattr(transformers, self.name, None) if self.name.isidentifier() else None
            self.base, self.imports = f"transformers.{self.name}", "import transformers"
        if not (isinstance(self.kind, type) and issubclass(self.kind, transformers.PreTrainedModel)):
            raise FolderRefused(f"{source.root / 'config.json'} names {self.name!r}, which is no model of transformers")
        self._config = self.kind.config_class
        kind = source.config.get("model_type")
        if self._config is None or self._config.model_type not in ("", kind):
            raise FolderRefused(f"{source.root / 'config.json'} has the model_type {kind!r}, which is not {self.name}'s")
        self._autos = self._autos or _autos_of(self.kind)

    def make(self, config: Json, tensors: Tensors, dtype: torch.dtype, code: Any = None) -> nn.Module:
        """In that type, in evaluation mode, of config.json's content. code: the imported file of the fold, whose class it is
        then. Raises FolderRefused."""
        kind = getattr(code, self.name) if code is not None else self.kind
        with _making(self.name):
            self._check_size(config, tensors)
            settings, state = self._settings(config), dict(tensors)
            model, loaded = kind.from_pretrained(None, config=settings, state_dict=state, dtype=dtype, output_loading_info=True)
        if loaded["missing_keys"]:
            name = sorted(loaded["missing_keys"])[0]
            raise FolderRefused(f"config.json names {self.name}, whose {name} is not among the weights")
        return model.eval()

    def _settings(self, config: Json) -> Any:
        settings = self._config.from_dict(copy.deepcopy(config))
        settings._attn_implementation = "eager"  # the one that runs and is exported everywhere
        return settings

    def _check_size(self, config: Json, tensors: Tensors) -> None:
        for key, one in entries(config):
            if "layer" in key and isinstance(one, int) and one > max(len(tensors), MOST_LAYERS):
                raise FolderRefused(f"config.json describes a model of {one} layers ({key}), and the weights are {len(tensors)}")
        with torch.device("meta"), _no_larger_than(tensors):
            self.kind(self._settings(config))

    def example(self, model: Any) -> Inputs:
        return example_of(model, model.config)

    def file_names(self, model: Any, state: Tensors, held: Collection[str]) -> Dict[str, torch.Tensor]:
        """The state dict by the names that its tensors have in the folder's files, which are those of held."""
        prefix, found = f"{model.base_model_prefix}.", {}
        for name, tensor in self._reverted(model, dict(state)).items():
            # The files may be those of the base model, without the prefix, or of a model with a head.
            other = name.removeprefix(prefix) if name.startswith(prefix) else prefix + name
            found[other if name not in held and other in held else name] = tensor
        return found

    def settings(self, folded: Any, config: Json, has_code: bool) -> Json:
        """config.json of the folded checkpoint: the original's, with ties as they are now, and the class of the fold."""
        new = {name: value for name, value in config.items() if name != "transformers_weights"}
        before = self._settings(config)
        for path in ("", *type(before).sub_configs):
            one, now = (getattr(each, path) if path else each for each in (before, folded.config))
            if getattr(one, "tie_word_embeddings", False) and not getattr(now, "tie_word_embeddings", True):
                untied = {"tie_word_embeddings": False}
                new.update({path: {**(config.get(path) or {}), **untied}} if path else untied)
        if not has_code:
            return new
        return {**new, "auto_map": {**self._map, **{auto: f"{MODULE}.{self.name}" for auto in self._autos}}}


def _class_name(source: Source) -> str:
    names = source.config.get("architectures")
    if not isinstance(names, list) or len(names) != 1 or not isinstance(names[0], str):
        raise FolderRefused(f"{source.root / 'config.json'} does not name one class (architectures)")
    return names[0]


def _autos_of(kind: Any) -> List[str]:
    """Auto classes that make it of its configuration."""
    from transformers.models.auto import modeling_auto

    found = []
    for name, auto in vars(modeling_auto).items():
        mapping = getattr(auto, "_model_mapping", None)
        if name.startswith("AutoModel") and mapping is not None and kind.config_class in mapping:
            made = mapping[kind.config_class]
            found += [name] if kind in (made if isinstance(made, tuple) else (made,)) else []
    return found or ["AutoModel"]


class Timm:
    """As Transformers, of a folder that timm wrote."""

    base, imports = "", ""

    def __init__(self, source: Source) -> None:
        try:
            import timm
        except ImportError:
            raise FolderRefused(f"{source.root} is a model of timm, which is not installed") from None
        self.name = str(source.config["architecture"])
        if not timm.is_model(self.name):
            raise FolderRefused(f"{source.root / 'config.json'} names {self.name!r}, which is no model of timm")
        self._arguments = {**(source.config.get("model_args") or {}), "num_classes": source.config.get("num_classes")}
        described = source.config.get("pretrained_cfg")
        self._size = described.get("input_size") if isinstance(described, dict) else None
        sides = self._size or [1, 1, 1]
        if not (isinstance(sides, list) and len(sides) == 3 and all(type(one) is int and 0 < one <= MOST_NUMBERS for one in sides)):
            raise FolderRefused(f"{source.root / 'config.json'} has the input_size {str(sides)[:60]}, which is not one of an image")

    def make(self, config: Json, tensors: Tensors, dtype: torch.dtype, code: Any = None) -> nn.Module:
        import timm

        with _making(self.name), _no_larger_than(tensors):
            model = timm.create_model(self.name, pretrained=False, **self._arguments).to(dtype).eval()
            model.load_state_dict(dict(tensors))
        return code.with_rms_norms(model) if code is not None else model

    def example(self, model: Any) -> Inputs:
        shape = (2, *(self._size or model.pretrained_cfg["input_size"]))
        dtype = next(model.parameters()).dtype
        need_small(shape)
        return Inputs((torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(dtype),))

    def file_names(self, model: nn.Module, state: Tensors, held: Collection[str]) -> Dict[str, torch.Tensor]:
        return dict(state)

    def settings(self, folded: nn.Module, config: Json, has_code: bool) -> Json:
        return config


def library_of(source: Source, code: contextlib.ExitStack) -> Any:
    return Timm(source) if "architecture" in source.config and "model_type" not in source.config else Transformers(source, code)
