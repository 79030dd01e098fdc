#include "core/base/printable.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <map>

#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/source/operators.h"
#include "core/formats/onnx/tensors/tensor_data.h"
#include "core/formats/onnx/types/flatten_functions.h"
#include "core/formats/onnx/types/known_types.h"
#include "core/formats/onnx/types/retype.h"

namespace normlens::formats::onnx {
namespace {

using graph::DType;

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

// Looks at a graph and the bodies in it.
class TypeRules {
 public:
  explicit TypeRules(const OnnxSource& source) : types_(staticTypes(source)) {
    for (const auto& import : source.skeleton->opset_import()) {
      if (isStandardDomain(import.domain())) version_ = static_cast<int>(import.version());
    }
  }

  // A body, with those that it sees the values of around it, and what Lowered::valuePath puts before the names of each.
  void visit(const GraphProto& graph, std::vector<std::string> prefixes) {
    for (const TensorProto& tensor : graph.initializer())
      types_[prefixes.back() + tensor.name()].dtype = fromOnnxType(tensor.data_type());
    const auto typeOf = [&](const std::string& name) {
      for (auto prefix = prefixes.rbegin(); prefix != prefixes.rend(); ++prefix) {
        if (const auto known = types_.find(*prefix + name); known != types_.end()) return known->second.dtype;
      }
      return DType::Unknown;
    };
    for (int i = 0; i < graph.node_size() && problem_.empty(); ++i) {
      const NodeProto& node = graph.node(i);
      if (const auto two = clash(node, version_, typeOf)) note(node, *two);
      eachBody(node, [&](const GraphProto& body, const std::string& name) {
        prefixes.push_back(prefixes.back() + std::to_string(i) + "/" + name + "/");
        visit(body, prefixes);
        prefixes.pop_back();
      });
    }
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void note(const NodeProto& node, const std::pair<DType, DType>& types) {
    problem_ = "No runtime loads it, for it is no valid ONNX: where '" + printable(node.op_type()) +
               "' wants operands of one type, its node '" +
               printable(node.name().empty() ? node.output(0) : node.name()) + "' is given " +
               std::string(graph::dtypeName(types.first)) + " and " + std::string(graph::dtypeName(types.second)) + ".";
  }

  KnownTypes types_;
  int version_ = 1;
  std::string problem_;
};

}  // namespace

std::string brokenTypeRule(const OnnxSource& source) {
  if (!mentionsType(*source.skeleton, TensorProto::BFLOAT16)) return {};
  auto flat = std::make_shared<ModelProto>(*source.skeleton);
  OnnxSource written = source;
  std::vector<TapSite> taps;
  if (flattenFunctions(*flat, {}, taps)) written.skeleton = flat;  // else what cannot be written out is not run either
  TypeRules rules(written);
  rules.visit(written.skeleton->graph(), {""});
  return rules.problem();
}

}  // namespace normlens::formats::onnx
