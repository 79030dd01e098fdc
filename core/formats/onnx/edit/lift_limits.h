// Nodes that onnx's version converter gives a form that computes something else, or none at all, and says nothing.
// Private to formats/onnx.
#pragma once

#include <string>

#include "core/formats/onnx/read/onnx_source.h"
#include "core/graph/graph.h"

namespace normlens::formats::onnx {

// Why a standard node cannot be lifted past opset 13; empty: nothing is known against it. since: the version that its
// operator was defined in. x: its first input; null: nothing is known of it.
[[nodiscard]] std::string liftObstacle(const NodeProto& node, int since, const graph::Value* x);

}  // namespace normlens::formats::onnx
