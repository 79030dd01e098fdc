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

// How many axes are indexed together, and how many there are in their place; nullopt: not known.
struct Indexed {
  int64_t count = 1;
  std::optional<int64_t> made;
};

// x[:, i], x[i, j]: tensors of indices for neighbouring axes, the other axes taken whole. Adds the indices as operands.
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
  const auto shapes = op.shapesOfList("indices");
  Indexed indexed{static_cast<int64_t>(axes.size()), 0};
  for (const size_t axis : axes) {
    const auto& shape = axis < shapes.size() ? shapes[axis] : std::nullopt;
    const auto rank = shape ? std::optional(static_cast<int64_t>(shape->size())) : std::nullopt;
    indexed.made = indexed.made && rank ? std::optional(std::max(*indexed.made, *rank)) : std::nullopt;
    // A mask of bools picks another number of elements. One mask of some of the axes picks positions of all of these
    // together; one axis takes their place.
    if (!op.maskedBy("indices", axis)) continue;
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
  if (indexed.made) op.set("made", *indexed.made);
  op.set("reduction", std::string(adds == true ? "add" : "none"));
}

// Only what is linear in the values: not the largest or a product.
void reduce(OpContext& op, const std::optional<std::string>& how) {
  const bool sums = how == "add" || how == "sum";
  if (!sums && how != "mean" && how != "none") op.kind = OpKind::Opaque;
  const bool ofUpdates = op.has("include_self") && op.boolOf("include_self") != true;
  op.set("reduction", sums ? std::string(ofUpdates ? "sum" : "add") : how.value_or(""));
}

// Whole slices, one for each number of an index of one axis.
void indexRows(OpContext& op, const char* values, const std::optional<std::string>& how) {
  op.operand("self");
  op.operand(values);
  op.operand("index");
  op.setAxis("dim", op.rankOf("self"));
  op.set("made", int64_t{1});
  reduce(op, how);
}
void indexAdd(OpContext& op) { indexRows(op, "source", "add"); }
void indexCopy(OpContext& op) { indexRows(op, "source", "none"); }
void indexFill(OpContext& op) { indexRows(op, "value", "none"); }
void indexReduce(OpContext& op) { indexRows(op, "source", op.stringOf("reduce")); }

void scatterElements(OpContext& op, const std::optional<std::string>& how) {
  op.operand("self");
  op.operand(op.has("src") ? "src" : "value");
  op.operand("index");
  op.setAxis("dim", op.rankOf("self"));
  op.set("elements", true);
  reduce(op, how);
}
void scatter(OpContext& op) { scatterElements(op, op.has("reduce") ? op.stringOf("reduce") : "none"); }
void scatterAdd(OpContext& op) { scatterElements(op, "add"); }
void scatterReduce(OpContext& op) { scatterElements(op, op.stringOf("reduce")); }

void maskedScatter(OpContext& op) {
  op.operand("self");
  op.operand("mask");
  op.operand("source");
}

// A window of an axis, or one position of it; where it is does not matter to the others.
void windowScatter(OpContext& op, int64_t made) {
  op.operand("self");
  op.operand("src");
  op.setAxis("dim", op.rankOf("self"));
  op.set("made", made);
  op.set("reduction", std::string("none"));
}
void selectScatter(OpContext& op) { windowScatter(op, 0); }
void sliceScatter(OpContext& op) { windowScatter(op, 1); }

}  // namespace

const std::vector<OpRule>& indexRules() {
  static const std::vector<OpRule> kRules = {
      {"aten::index_select", OpKind::Gather, indexSelect},
      {"aten::index", OpKind::Gather, index},
      {"aten::index_put", OpKind::Scatter, indexPut},
      {"aten::index_add", OpKind::Scatter, indexAdd},
      {"aten::index_copy", OpKind::Scatter, indexCopy},
      {"aten::index_fill", OpKind::Scatter, indexFill},
      {"aten::index_reduce", OpKind::Scatter, indexReduce},
      {"aten::scatter", OpKind::Scatter, scatter},
      {"aten::scatter_add", OpKind::Scatter, scatterAdd},
      {"aten::scatter_reduce", OpKind::Scatter, scatterReduce},
      {"aten::select_scatter", OpKind::Scatter, selectScatter},
      {"aten::slice_scatter", OpKind::Scatter, sliceScatter},
      {"aten::masked_scatter", OpKind::MaskedCopy, maskedScatter},
  };
  return kRules;
}

}  // namespace normlens::formats::torchscript
