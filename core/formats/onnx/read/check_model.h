// Whether a parsed model is one that may be worked with: names, order, versions, tensors. Private to formats/onnx.
//
// ONNX Runtime accepts files that mean nothing sensible, and onnx's own checker wants all weights in the protobuf; what
// the reading and folding rely on is checked here.
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/formats/onnx/read/onnx_source.h"

namespace normlens::formats::onnx {

// Errors: Unreadable or Unsupported; the message begins with a clause that fits behind "FILE: ".
[[nodiscard]] Status checkModel(const ModelProto& model);

// "" and "ai.onnx" are one.
[[nodiscard]] bool isStandardDomain(const std::string& domain);
// One text for one function: of the function itself, and of a node that may be a call of it.
[[nodiscard]] std::string functionKey(const std::string& domain, const std::string& name, const std::string& overload);
[[nodiscard]] std::string functionKey(const ::ONNX_NAMESPACE::FunctionProto& function);
[[nodiscard]] std::string functionKey(const NodeProto& call);
// Domains whose operators ONNX Runtime brings along, imported or not.
[[nodiscard]] bool isRuntimeDomain(const std::string& domain);

}  // namespace normlens::formats::onnx
