"""Modules for tests, and what is asked of a changed one."""

import copy

import torch
from torch import nn

import normlens
from normlens.atlas.models import settled  # noqa: F401
from normlens.module.compare import relative
from normlens.module.inputs import as_inputs, drawn
from normlens.module.modes import without_cache


def layer_norms(module):
    return [path for path, part in module.named_modules() if isinstance(part, nn.LayerNorm)]


def outputs(module, example):
    """In evaluation mode."""
    with torch.no_grad(), without_cache(module):
        return as_inputs(example).call(module.eval())


def assert_equal(test, folded, original, example, limit=1e-12):
    """In float64, on the example and on inputs that the package did not draw; both modules are of float64."""
    for given in (as_inputs(example), drawn(as_inputs(example), 77)):
        test.assertLess(relative(outputs(folded, given), outputs(original, given)), limit)


def snapshot(module):
    """What undo must bring back: objects, numbers and modes."""
    held = [*module.named_parameters(remove_duplicate=False), *module.named_buffers()]
    tensors = {name: (id(tensor), tensor.detach().clone()) for name, tensor in held}
    parts = [(path, id(part), type(part), part.training, len(part._forward_hooks)) for path, part in module.named_modules()]
    return tensors, parts


def assert_same(test, before, module):
    tensors, parts = snapshot(module)
    test.assertEqual(parts, before[1])
    test.assertEqual({name: one for name, (one, _) in tensors.items()}, {name: one for name, (one, _) in before[0].items()})
    for name, (_, numbers) in tensors.items():
        test.assertTrue(torch.equal(numbers, before[0][name][1]), name)


def fold_of(module, example, **options):
    """(folded, report, the original as it was)"""
    original = copy.deepcopy(module)
    folded, report = normlens.fold(module, example, **options)
    return folded, report, original
