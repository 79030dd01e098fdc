// Private to formats/onnx.
#pragma once

#include "core/formats/onnx/read/onnx_source.h"

namespace normlens::formats::onnx {

// Nodes of all graphs, bodies and functions so that each stands behind the nodes whose values it or its bodies read.
// Tools append nodes where it suits them, and ONNX Runtime does not mind; everything here goes by the order. The file's
// order stays but for nodes that stand too late: they move up to their first reader. A cycle stays one. False: all
// stood right.
bool sortNodes(ModelProto& model);

}  // namespace normlens::formats::onnx
