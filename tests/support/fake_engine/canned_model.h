// Graphs that look like small transformers, made up on the spot.
#pragma once

#include <string>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::fake {

struct CannedModel {
  protocol::GraphDocument graph;
  std::vector<int> normNodes;               // node of each LayerNorm
  std::vector<int> normInputs;              // value it reads
  std::vector<std::vector<int>> producers;  // per norm: nodes of the linears and tables that its input is a sum of
  std::vector<std::vector<std::string>> weights;  // per norm: their tensors
  bool postNorm = false;
  bool longNames = false;  // of the norms, as exporters make them
  int64_t width = 64;
};

// A decoder with a norm before each branch, or (postNorm) an encoder with a norm after each.
[[nodiscard]] CannedModel makeTransformer(int blocks, bool postNorm);

}  // namespace normlens::fake
