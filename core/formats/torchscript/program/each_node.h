// Every node of a body. Private to formats/torchscript: includes torch.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <vector>

namespace normlens::formats::torchscript {

// Calls visit(node) for the nodes of a block, of the blocks in it and of what is forked in it, outer ones first. The
// visit may put nodes before and behind its own, and give it another subgraph.
template <class Visit>
void eachNode(torch::jit::Block& block, const Visit& visit) {
  const std::vector<torch::jit::Node*> nodes(block.nodes().begin(), block.nodes().end());
  for (torch::jit::Node* node : nodes) {
    visit(*node);
    if (node->hasAttribute(c10::attr::Subgraph)) eachNode(*node->g(c10::attr::Subgraph)->block(), visit);
    for (torch::jit::Block* inner : node->blocks()) eachNode(*inner, visit);
  }
}

}  // namespace normlens::formats::torchscript
