"""Which submodule holds, and which one reads, each tensor of the exported graph."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Set, Tuple

import torch
from torch import nn

from normlens.module.edits import NoCounterpart


class Owner(NamedTuple):
    """An attribute that holds a parameter or buffer: module path ("" is the model itself) and attribute."""

    module: str
    attribute: str

    def __str__(self) -> str:
        return f"{self.module}.{self.attribute}" if self.module else self.attribute


Tensors = Dict[Owner, torch.Tensor]


def tensors_of(module: nn.Module) -> Tensors:
    """All parameters and buffers, one that has several owners under each. A module of several names has its first."""
    found: Tensors = {}
    for path, part in module.named_modules():
        for name, tensor in [*part._parameters.items(), *part._buffers.items()]:
            if tensor is not None:
                found[Owner(path, name)] = tensor
    return found


def first_names(module: nn.Module) -> Dict[str, str]:
    """Path of each submodule -> the first path of that module: one that is registered twice is one."""
    first: Dict[int, str] = {}
    return {path: first.setdefault(id(part), path) for path, part in module.named_modules(remove_duplicate=False)}


class Graph:
    """The engine's graph of an exported module, and who owns what in it."""

    def __init__(self, document: Mapping[str, Any], module: nn.Module) -> None:
        self.nodes: Dict[int, Mapping[str, Any]] = {node["id"]: node for node in document["nodes"]}
        self._paths = {scope["id"]: scope["path"] for scope in document["scopes"]}
        self._constants: Dict[str, Set[int]] = {}
        for value in document["values"]:
            if value["constant"]:
                self._constants.setdefault(value["name"], set()).add(value["id"])
        self._names = {value["id"]: value["name"] for value in document["values"]}
        self._is_constant = {value["id"] for value in document["values"] if value["constant"]}
        self._shapes = {value["id"]: value["shape"] if value["has_shape"] else None for value in document["values"]}
        self._first = first_names(module)
        self._owners = _sharing(tensors_of(module))

    def one(self, path: str) -> str:
        """The first path of the module of that path."""
        return self._first.get(path, path)

    def scope(self, node: int) -> str:
        """Path of the module that the node runs in, as its caller names it."""
        return self._paths[self.nodes[node]["scope"]]

    def constant(self, value: int) -> str:
        """Its name. NoCounterpart for what is computed."""
        if value not in self._is_constant:
            raise NoCounterpart(f"{self._names[value] or 'a value'} is computed in the graph")
        return self._names[value]

    def made(self, value: str) -> "Tuple[int, int]":
        """(id, node) of the value of that name that a node computes. NoCounterpart for an input of the model."""
        for node in self.nodes.values():
            for output in node["outputs"]:
                if self._names[output] == value and node["role"] != "I":
                    return output, node["id"]
        raise NoCounterpart(f"{value} is an input of the model")

    def readers_of_value(self, value: int) -> List[int]:
        return [node["id"] for node in self.nodes.values() if value in node["inputs"]]

    def readers(self, tensor: str) -> List[int]:
        """Nodes that read the tensor of that name."""
        values = self._constants.get(tensor, set())
        return [node["id"] for node in self.nodes.values() if values.intersection(node["inputs"])]

    def _owner(self, tensor: str) -> Owner:
        path, _, attribute = tensor.rpartition(".")
        return Owner(self.one(path), attribute)

    def owners(self, tensor: str) -> Tuple[Owner, ...]:
        """All that hold it. NoCounterpart where it is no parameter or buffer, or a part of one."""
        found = self._owners.get(self._owner(tensor))
        if found is None:
            raise NoCounterpart(f"{tensor} is no parameter or buffer of the module")
        if not found:
            raise NoCounterpart(f"{tensor} shares memory with another parameter, or with itself")
        return found

    def owner_of_read(self, tensor: str, node: int) -> Owner:
        """Through which attribute that node reads it."""
        owners = self.owners(tensor)
        scope = self.one(self.scope(node))
        near = [owner for owner in owners if owner.module == scope] or [
            owner for owner in owners if scope == "" or owner.module.startswith(scope + ".")
        ]
        if len(owners) == 1:
            return owners[0]
        if len({owner for owner in near}) != 1:
            names = " and ".join(map(str, owners))
            raise NoCounterpart(f"{names} are one tensor, and it is not known which of them {scope or 'the model'} reads")
        return near[0]

    def reads_through(self, owner: Owner) -> List[int]:
        """Nodes that read a tensor through that attribute. NoCounterpart where it is unknown for a node."""
        held = [name for name in self._constants if owner in self._owners.get(self._owner(name), ())]
        return [node for name in held for node in self.readers(name) if self.owner_of_read(name, node) == owner]

    def owners_of_reads(self, tensor: str, nodes: Iterable[int]) -> Set[Owner]:
        """The owners that these nodes read it through: nobody else does.

        NoCounterpart where other nodes read it through one of them too, or where an owner is read by no node: then what
        else reads it is not in the graph.
        """
        chosen = set(nodes)
        mine = {self.owner_of_read(tensor, node) for node in chosen}
        others = {self.owner_of_read(tensor, node) for node in self.readers(tensor) if node not in chosen}
        if mine & others:
            raise NoCounterpart(f"{next(iter(mine & others))} would have to be two tensors, for two reads of one module")
        unread = set(self.owners(tensor)) - mine - others
        if unread:
            raise NoCounterpart(f"{tensor} is {next(iter(unread))} too, which these inputs do not reach")
        return mine


def _sharing(tensors: Tensors) -> Dict[Owner, Tuple[Owner, ...]]:
    """Owner -> all owners of the same tensor; none where its memory is another tensor's in part."""
    alike: Dict[Any, List[Owner]] = {}
    views: Dict[int, Set[Any]] = {}
    for owner, tensor in tensors.items():
        memory = tensor.untyped_storage().data_ptr() or id(tensor)
        view = (tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)
        alike.setdefault((memory, view), []).append(owner)
        views.setdefault(memory, set()).add(view)
    return {
        owner: tuple(owners) if len(views[memory]) == 1 and not _is_expanded(tensors[owner]) else ()
        for (memory, _), owners in alike.items()
        for owner in owners
    }


def _is_expanded(tensor: torch.Tensor) -> bool:
    """Several of its elements are one number."""
    return any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, tensor.stride()))
