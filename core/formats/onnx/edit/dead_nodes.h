// Removes what an edit left unread: nodes and initializers whose last reader went away. What was dead in the file
// before stays. Private to formats/onnx.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/formats/onnx/read/onnx_source.h"

namespace normlens::formats::onnx {

// A name that lost a reader, and the graph or function body it was read in (one of the two is set).
struct LostRead {
  const GraphProto* graph = nullptr;
  const ::ONNX_NAMESPACE::FunctionProto* function = nullptr;
  std::string name;
};

// Sweeps one main graph or one function body with all its inner bodies. Names of removed initializers of the outermost
// graph are added to `droppedWeights`.
void sweepGraph(GraphProto& graph, const std::vector<LostRead>& lost, std::vector<std::string>& droppedWeights);
void sweepFunction(::ONNX_NAMESPACE::FunctionProto& function, const std::vector<LostRead>& lost);

}  // namespace normlens::formats::onnx
