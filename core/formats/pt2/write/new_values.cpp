#include "core/formats/pt2/write/new_values.h"

#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/pt2/file/meta_algebra.h"
#include "core/formats/pt2/file/tensor_meta.h"
#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::pt2 {
namespace {

using torch::jit::Node;
using torch::jit::Value;

constexpr std::array<std::string_view, 12> kLikeTheFirst = {
    "aten::rms_norm", "aten::pow",   "aten::rsqrt",  "aten::sqrt",       "aten::neg", "aten::clone",
    "aten::detach",   "aten::alias", "aten::square", "aten::zeros_like", "aten::abs", "aten::dropout"};
// Dense, whatever they read.
constexpr std::array<std::string_view, 4> kDenseLikeTheFirst = {"aten::contiguous", "normlens::rms_norm",
                                                                "normlens::layer_norm", "normlens::crms_norm"};
constexpr std::array<std::string_view, 2> kAddsAndNorms = {"normlens::add_rms_norm", "normlens::add_layer_norm"};
// The same elements in other sizes, which only what the view takes the place of shows.
constexpr std::array<std::string_view, 3> kViews = {"aten::view", "aten::reshape", "aten::flatten"};
constexpr std::array<std::string_view, 4> kElementwise = {"aten::add", "aten::sub", "aten::mul", "aten::div"};

template <class T>
T constantAt(const Node& node, size_t input) {
  const auto value = input < node.inputs().size() ? torch::jit::toIValue(node.input(input)) : std::nullopt;
  if (!value) throw EditRefused(std::string("an argument of ") + node.kind().toQualString() + " is no constant");
  return value->to<T>();
}

bool isTensor(const Value* value) { return value->type()->isSubtypeOf(*c10::TensorType::get()); }

// Returns the type that torch makes of two tensors of a floating type.
int64_t promoted(const Json& a, const Json& b) {
  const auto left = dtypeOfSchema(a.at("dtype").integer()), right = dtypeOfSchema(b.at("dtype").integer());
  if (left == right) return a.at("dtype").integer();
  if (!graph::isFloat(left) || !graph::isFloat(right))
    throw EditRefused("an operator on two element types would have to be added");
  const auto wider = std::max(graph::dtypeBytes(left), graph::dtypeBytes(right));
  if (graph::dtypeBytes(left) == graph::dtypeBytes(right))
    return schemaNumber(graph::DType::Float32);  // both are halves
  return schemaNumber(graph::dtypeBytes(left) == wider ? left : right);
}

Json elementwise(const Node& node, const MetaOf& metaOf) {
  const Json first = metaOf(node.input(0));
  if (!isTensor(node.input(1))) return first;
  const Json second = metaOf(node.input(1));
  return typedMeta(broadcastMeta(first, second), promoted(first, second));
}

Json joined(const Node& node, const MetaOf& metaOf) {
  std::vector<Json> parts;
  for (const Value* part : node.input(0)->node()->inputs()) parts.push_back(metaOf(part));
  std::vector<const Json*> all;
  for (const Json& part : parts) all.push_back(&part);
  return joinedMeta(all, constantAt<int64_t>(node, 1));
}

Json dense(const Json& meta) { return denseMeta(meta, meta.at("sizes").items()); }

Json described(const Node& node, const MetaOf& metaOf, const Json* replaced) {
  const std::string_view op = node.kind().toQualString();
  const auto is = [&](const auto& list) { return std::ranges::find(list, op) != list.end(); };
  if (is(kLikeTheFirst)) return metaOf(node.input(0));
  if (is(kElementwise)) return elementwise(node, metaOf);
  if (is(kDenseLikeTheFirst)) return dense(metaOf(node.input(0)));
  if (replaced != nullptr && (is(kAddsAndNorms) || is(kViews))) return dense(*replaced);
  if (is(kAddsAndNorms)) return dense(elementwise(node, metaOf));
  if (op == "aten::mean" || op == "aten::sum")
    return reducedMeta(metaOf(node.input(0)), constantAt<std::vector<int64_t>>(node, 1), constantAt<bool>(node, 2));
  if (op == "aten::to") {
    const auto type = torchscript::dtypeOf(static_cast<at::ScalarType>(constantAt<int64_t>(node, 1)));
    return typedMeta(metaOf(node.input(0)), schemaNumber(type));
  }
  if (op == "aten::type_as") return typedMeta(metaOf(node.input(0)), metaOf(node.input(1)).at("dtype").integer());
  if (op == "aten::unflatten")
    return unflattenedMeta(metaOf(node.input(0)), constantAt<int64_t>(node, 1),
                           constantAt<std::vector<int64_t>>(node, 2));
  if (op == "aten::flatten")
    return flattenedMeta(metaOf(node.input(0)), constantAt<int64_t>(node, 1), constantAt<int64_t>(node, 2));
  if (op == "aten::slice" && constantAt<int64_t>(node, 4) == 1)
    return slicedMeta(metaOf(node.input(0)), constantAt<int64_t>(node, 1), constantAt<int64_t>(node, 2),
                      constantAt<int64_t>(node, 3));
  if (op == "aten::constant_pad_nd")
    return paddedMeta(metaOf(node.input(0)), constantAt<std::vector<int64_t>>(node, 1));
  if (op == "aten::cat") return joined(node, metaOf);
  throw EditRefused("the fold needs the operator " + std::string(op) +
                    ", which NormLens does not write into this format");
}

}  // namespace

Json metaOfResult(const Node& node, const MetaOf& metaOf, const Json* replaced) {
  try {
    return described(node, metaOf, replaced);
  } catch (const BrokenDocument& error) {
    throw EditRefused(std::string("the sizes of what the fold adds cannot be told: ") + error.what());
  }
}

}  // namespace normlens::formats::pt2
