"""Writes GPT-2 small of transformers with random weights, its γ, β and biases too, as torch's exporters write it today: its
length is free, its head is tied, and the weights of the .onnx lie where they happen to. About 500 MB.

    make_exported.py FILE.onnx|FILE.pt2|FILE.pt      a .pt is traced
"""

import logging
import sys
import warnings

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel


class Logits(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(ids).logits


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.manual_seed(4)
    model = GPT2LMHeadModel(GPT2Config(use_cache=False, attn_implementation="eager"))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.1)
    ids, length = torch.arange(32).view(1, 32), {1: torch.export.Dim("length", min=2, max=1024)}
    module = Logits(model).eval()
    if sys.argv[1].endswith(".pt"):
        torch.jit.trace(module, ids, check_trace=False).save(sys.argv[1])
    elif sys.argv[1].endswith(".pt2"):
        torch.export.save(torch.export.export(module, (ids,), dynamic_shapes={"ids": length}), sys.argv[1])
    else:
        torch.onnx.export(module, (ids,), sys.argv[1], dynamo=True, opset_version=18, dynamic_shapes={"ids": length},
                          external_data=False, verbose=False)


if __name__ == "__main__":
    main()
