// Removes what an edit left unread: nodes and initializers whose last reader went away. What was dead in the file
// before stays. Private to formats/onnx.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "core/formats/onnx/source/onnx_source.h"

namespace normlens::formats::onnx {

// A name that lost a reader, and the graph it was read in.
struct LostRead {
  const GraphProto* graph = nullptr;
  std::string name;
};

// Sweeps a graph with all its inner bodies. Gives the names that it does not make any more, those of removed
// initializers among them.
std::unordered_set<std::string> sweepDead(GraphProto& graph, const std::vector<LostRead>& lost);

}  // namespace normlens::formats::onnx
