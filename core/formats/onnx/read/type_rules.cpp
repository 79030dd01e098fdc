#include "core/formats/onnx/read/type_rules.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <map>

#include "core/formats/onnx/read/bodies.h"
#include "core/formats/onnx/read/check_model.h"
#include "core/formats/onnx/read/known_types.h"
#include "core/formats/onnx/read/names.h"
#include "core/formats/onnx/read/tensors/dtypes.h"

namespace normlens::formats::onnx {
namespace {

using graph::DType;

bool mentionsBFloat16(const ModelProto& model) {
  bool found =
      std::ranges::any_of(model.graph().initializer(),
                          [](const TensorProto& tensor) { return tensor.data_type() == TensorProto::BFLOAT16; }) ||
      std::ranges::any_of(model.graph().input(), [](const ValueInfoProto& input) {
        return input.type().tensor_type().elem_type() == TensorProto::BFLOAT16;
      });
  eachNode(model, [&](const NodeProto& node) {
    for (const auto& attribute : node.attribute())
      found = found || (attribute.name() == "to" && attribute.i() == TensorProto::BFLOAT16) ||
              attribute.t().data_type() == TensorProto::BFLOAT16;
  });
  return found;
}

// The two types of operands that have to be of one; nullopt: there are none.
template <class TypeOf>
std::optional<std::pair<DType, DType>> clash(const NodeProto& node, int version, const TypeOf& typeOf) {
  const auto* schema = isStandardDomain(node.domain())
                           ? ::ONNX_NAMESPACE::OpSchemaRegistry::Schema(node.op_type(), version, "")
                           : nullptr;
  std::map<std::string, DType> seen;  // by the name that the operator has for such a type
  for (int i = 0; schema != nullptr && !schema->inputs().empty() && i < node.input_size(); ++i) {
    const auto& input = schema->inputs()[std::min(static_cast<size_t>(i), schema->inputs().size() - 1)];
    const DType type = typeOf(node.input(i));
    if (!input.GetIsHomogeneous() || type == DType::Unknown) continue;
    const DType first = seen.try_emplace(input.GetTypeStr(), type).first->second;
    if (first != type) return std::pair{first, type};
  }
  return std::nullopt;
}

}  // namespace

std::string brokenTypeRule(const OnnxSource& source) {
  const ModelProto& model = *source.skeleton;
  if (!mentionsBFloat16(model)) return {};
  int version = 1;
  for (const auto& import : model.opset_import()) {
    if (isStandardDomain(import.domain())) version = static_cast<int>(import.version());
  }
  KnownTypes types = staticTypes(source);
  for (const TensorProto& tensor : model.graph().initializer())
    types[tensor.name()].dtype = fromOnnxType(tensor.data_type());
  const auto typeOf = [&](const std::string& name) {
    const auto known = types.find(name);
    return known == types.end() ? DType::Unknown : known->second.dtype;
  };
  std::string told;
  eachNode(model.graph().node(), [&](const NodeProto& node) {
    const auto two = told.empty() ? clash(node, version, typeOf) : std::nullopt;
    if (!two) return;
    told = "No runtime loads it, for it is no valid ONNX: where '" + printableName(node.op_type()) +
           "' wants operands of one type, its node '" +
           printableName(node.name().empty() ? node.output(0) : node.name()) + "' is given " +
           std::string(graph::dtypeName(two->first)) + " and " + std::string(graph::dtypeName(two->second)) + ".";
  });
  return told;
}

}  // namespace normlens::formats::onnx
