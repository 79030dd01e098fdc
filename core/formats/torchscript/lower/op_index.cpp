// Rows for what is read from and written to positions that an index, a mask or a window names.
#include <algorithm>

#include "core/formats/torchscript/lower/op_rule.h"

namespace normlens::formats::torchscript {
namespace {

using graph::OpKind;

void indexSelect(OpContext& op) {
  op.operand("self");
  op.operand("index");
  op.setAxis("dim", op.rankOf("self"));
}

// Counts the axes that are indexed together, and those that come in their place; nullopt: not known.
struct Indexed {
  int64_t count = 1;
  std::optional<int64_t> made;
};

// x[:, i], x[i, j]: tensors of indices for neighboring axes, the other axes taken whole. Adds the indices as operands.
Indexed indexedAxes(OpContext& op) {
  std::vector<Operand> others = op.operands;
  op.operandList("indices");
  std::vector<Operand> given;
  std::vector<size_t> axes;
  for (size_t i = others.size(); i < op.operands.size(); ++i) {
    if (op.operands[i].value == graph::kNoValue) continue;
    axes.push_back(i - others.size());
    given.push_back(op.operands[i]);
  }
  op.operands = std::move(others);
  op.operands.insert(op.operands.end(), given.begin(), given.end());
  // With others in between, the index's axes come first.
  if (axes.empty() || axes.back() - axes.front() + 1 != axes.size()) {
    op.kind = OpKind::Opaque;
    return {};
  }
  op.set("axis", static_cast<int64_t>(axes.front()));
  const auto data = op.rankOf("self");
  const auto indices = op.elementsOf("indices");
  Indexed indexed{static_cast<int64_t>(axes.size()), 0};
  for (const size_t axis : axes) {
    const graph::Value picked = axis < indices.size() ? indices[axis] : graph::Value();
    const auto& shape = picked.shape;
    const auto rank = shape ? std::optional(static_cast<int64_t>(shape->size())) : std::nullopt;
    indexed.made = indexed.made && rank ? std::optional(std::max(*indexed.made, *rank)) : std::nullopt;
    // A mask of bools picks another number of elements. One mask of some of the axes picks positions of all of these
    // together; one axis takes their place.
    if (picked.dtype != graph::DType::Bool && picked.dtype != graph::DType::UInt8) continue;
    if (axes.size() == 1 && rank && data && *rank < *data)
      indexed = {*rank, 1};
    else
      op.kind = OpKind::Opaque;
  }
  if (indexed.count > 1) op.set("count", indexed.count);
  return indexed;
}

void index(OpContext& op) {
  op.operand("self");
  const Indexed indexed = indexedAxes(op);
  const auto data = op.rankOf("self");
  const auto made = op.outputShape();
  if (data && made && static_cast<int64_t>(made->size()) + indexed.count < *data) op.kind = OpKind::Opaque;
}

// x[i] = values, x[i] += values.
void indexPut(OpContext& op) {
  op.operand("self");
  op.operand("values");
  const Indexed indexed = indexedAxes(op);
  const auto adds = op.boolOf("accumulate");
  if (!adds) op.kind = OpKind::Opaque;
  op.setKnown("made", indexed.made);
  op.set("reduction", std::string(adds == true ? "add" : "none"));
}

// Only what is linear in the values: not the largest or a product.
void reduce(OpContext& op) {
  const std::optional<std::string> how = op.has("reduce")              ? op.stringOf("reduce")
                                         : op.name().ends_with("_add") ? "add"
                                                                       : "none";
  const bool sums = how == "add" || how == "sum";
  if (!sums && how != "mean" && how != "none") op.kind = OpKind::Opaque;
  const bool ofUpdates = op.has("include_self") && op.boolOf("include_self") != true;
  op.set("reduction", sums ? std::string(ofUpdates ? "sum" : "add") : how.value_or(""));
}

// Whole slices, one for each number of an index of one axis.
void indexRows(OpContext& op) {
  op.operand("self");
  op.operand(op.has("source") ? "source" : "value");
  op.operand("index");
  op.setAxis("dim", op.rankOf("self"));
  op.set("made", int64_t{1});
  reduce(op);
}

void scatterElements(OpContext& op) {
  op.operand("self");
  op.operand(op.has("src") ? "src" : "value");
  op.operand("index");
  op.setAxis("dim", op.rankOf("self"));
  op.set("elements", true);
  reduce(op);
}

void maskedScatter(OpContext& op) {
  op.operand("self");
  op.operand("mask");
  op.operand("source");
}

// A window of an axis, or one position of it; where it is does not matter to the others.
template <int64_t made>
void windowScatter(OpContext& op) {
  op.operand("self");
  op.operand("src");
  op.setAxis("dim", op.rankOf("self"));
  op.set("made", made);
  op.set("reduction", std::string("none"));
}

}  // namespace

const std::vector<OpRule>& indexRules() {
  static const std::vector<OpRule> kRules = {
      {"aten::index_select", OpKind::Gather, indexSelect},
      {"aten::index", OpKind::Gather, index},
      {"aten::index_put", OpKind::Scatter, indexPut},
      {"aten::index_add", OpKind::Scatter, indexRows},
      {"aten::index_copy", OpKind::Scatter, indexRows},
      {"aten::index_fill", OpKind::Scatter, indexRows},
      {"aten::index_reduce", OpKind::Scatter, indexRows},
      {"aten::scatter", OpKind::Scatter, scatterElements},
      {"aten::scatter_add", OpKind::Scatter, scatterElements},
      {"aten::scatter_reduce", OpKind::Scatter, scatterElements},
      {"aten::select_scatter", OpKind::Scatter, windowScatter<0>},
      {"aten::slice_scatter", OpKind::Scatter, windowScatter<1>},
      {"aten::masked_scatter", OpKind::MaskedCopy, maskedScatter},
  };
  return kRules;
}

}  // namespace normlens::formats::torchscript
