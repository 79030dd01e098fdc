// Lists operators that ONNX Runtime brings along. Private to formats/onnx; no ONNX Runtime.
//
// A local function of a model under the name of such an operator is left alone by ONNX Runtime, which runs its own: a
// node is a call only where isRuntimeOp() is false.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/formats/onnx/read/onnx_source.h"

namespace normlens::formats::onnx {

using Opsets = std::map<std::string, int64_t>;  // versions by domain; "" is the standard one

[[nodiscard]] Opsets opsetsOf(
    const ::google::protobuf::RepeatedPtrField<::ONNX_NAMESPACE::OperatorSetIdProto>& imports);

// opsets: what the graph or function around the node imports.
[[nodiscard]] bool isRuntimeOp(const NodeProto& node, const Opsets& opsets);

}  // namespace normlens::formats::onnx
