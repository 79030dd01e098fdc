// Names in a model: of operators and their domains, of functions, and as they are shown. Private to formats/onnx; no
// ONNX Runtime.
//
// A local function of a model under the name of an operator that ONNX Runtime brings along is left alone by it: it runs
// its own. A node is a call only where isRuntimeOp() is false.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/formats/onnx/source/onnx_source.h"

namespace normlens::formats::onnx {

// "" and "ai.onnx" are one.
[[nodiscard]] bool isStandardDomain(const std::string& domain);
// Domains whose operators ONNX Runtime brings along, imported or not.
[[nodiscard]] bool isRuntimeDomain(const std::string& domain);

using Opsets = std::map<std::string, int64_t>;  // versions by domain; "" is the standard one

[[nodiscard]] Opsets opsetsOf(
    const ::google::protobuf::RepeatedPtrField<::ONNX_NAMESPACE::OperatorSetIdProto>& imports);

// opsets: what the graph or function around the node imports.
[[nodiscard]] bool isRuntimeOp(const NodeProto& node, const Opsets& opsets);

// One text for one function: of the function itself, and of a node that may be a call of it.
[[nodiscard]] std::string functionKey(const ::ONNX_NAMESPACE::FunctionProto& function);
[[nodiscard]] std::string functionKey(const NodeProto& call);

// A name fit to be shown, in quotes, cut where it is very long.
[[nodiscard]] std::string quotedName(const std::string& name);

}  // namespace normlens::formats::onnx
