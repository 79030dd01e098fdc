// Rows for what is read from and written to positions that an index names.
#include "core/formats/onnx/lower/op_rule.h"

namespace normlens::formats::onnx {
namespace {

using graph::OpKind;

void gather(OpContext& op) {
  op.operand(0);
  const int64_t axis = op.intOf("axis", 0);
  const auto rank = op.rank(0);
  const auto index = op.constantInts(1);
  if (index && index->size() == 1 && op.rank(1) == 0) {  // a constant number picks one
    op.kind = OpKind::Select;
    op.setAxis(axis, rank);
    const auto at = OpContext::normalised(axis, rank);
    const auto dims = op.inputType(0).dims;
    const int64_t size = at && dims ? (*dims)[static_cast<size_t>(*at)] : -1;
    const int64_t wanted = index->front() < 0 && size >= 0 ? index->front() + size : index->front();
    if (wanted >= 0) op.set("index", wanted);
    if (index->front() < 0 && at && !op.fixedSize(op.in(0), *at)) op.set("from_end", true);
    return;
  }
  op.operand(1);
  op.setAxis(axis, rank);
}

// As h[rows] and h[rows, columns] are written: a Gather along as many of the first axes as an index has numbers.
void gatherNd(OpContext& op) {
  auto index = op.inputType(1);
  const int64_t count = index.dims && index.dims->size() > 1 ? index.dims->back() : -1;
  if (op.intOf("batch_dims", 0) != 0 || count < 1 || count > op.rank(0).value_or(0)) {
    op.allOperands();
    return op.opaque();
  }
  const int64_t last = static_cast<int64_t>(index.dims->size()) - 1;
  index.dims->pop_back();
  op.operand(0);
  op.setAxis(0, op.rank(0));
  if (count == 1) {
    op.operands.push_back(op.part("index", OpKind::Reshape, "Reshape", {op.in(1)}, {}, std::move(index)));
    return;
  }
  op.set("count", count);
  for (int64_t i = 0; i < count; ++i) {
    op.operands.push_back(op.part("index " + std::to_string(i), OpKind::Select, "Gather", {op.in(1)},
                                  {{"axis", last}, {"index", i}}, index));
  }
}

// Only what is linear in the updates: not the largest or a product.
void scatter(OpContext& op) {
  op.operand(0);
  op.operand(2);
  op.operand(1);
  const std::string reduction = op.stringOf("reduction", "none");
  if (reduction != "none" && reduction != "add") op.opaque();
  op.set("reduction", reduction);
}

void scatterElements(OpContext& op) {
  scatter(op);
  op.setAxis(op.intOf("axis", 0), op.rank(0));
  op.set("elements", true);
}

// x[mask] = updates, as exporters write it: Transpose(NonZero(mask)) lists the elements where the mask is true.
bool maskedCopy(OpContext& op) {
  const auto mask = op.maskOfPositions(1);
  const auto x = op.inputType(0).shape();
  if (!x || mask.value == graph::kNoValue || op.type(mask).shape() != x) return false;
  op.kind = OpKind::MaskedCopy;
  op.operands = {op.in(0), mask, op.in(2)};
  return true;
}

// Slices along as many of the first axes as an index has numbers.
void scatterNd(OpContext& op) {
  if (op.stringOf("reduction", "none") == "none" && maskedCopy(op)) return;
  scatter(op);
  op.set("axis", int64_t{0});
  const auto& index = op.inputType(1);
  const int64_t count = index.dims && !index.dims->empty() ? index.dims->back() : -1;
  if (count < 1) return;  // not known
  op.set("count", count);
  op.set("made", static_cast<int64_t>(index.dims->size()) - 1);
}

}  // namespace

const std::vector<OpRule>& indexRules() {
  static const std::vector<OpRule> kRules = {
      {"Gather", OpKind::Gather, gather},
      {"GatherND", OpKind::Gather, gatherNd},
      {"Scatter", OpKind::Scatter, scatterElements},  // before opset 11
      {"ScatterElements", OpKind::Scatter, scatterElements},
      {"ScatterND", OpKind::Scatter, scatterNd},
  };
  return kRules;
}

}  // namespace normlens::formats::onnx
