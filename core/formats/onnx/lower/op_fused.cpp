// Rows for operators that ONNX Runtime's optimizers fuse: several graph nodes each.
#include "core/formats/onnx/lower/op_rule.h"

namespace normlens::formats::onnx {
namespace {

using graph::OpKind;
using graph::Shape;

constexpr double kSkipEps = 1e-12F;  // attributes are floats

// input + skip (+ bias): output 3.
Operand skipSum(OpContext& op, int bias) {
  const bool biased = op.has(bias);
  Operand sum = op.addPart("skip", op.in(0), op.in(1), biased ? -1 : 3);
  return biased ? op.addPart("bias", sum, op.in(bias), 3) : sum;
}

// input, skip, gamma, beta, bias.
void skipLayerNorm(OpContext& op) {
  const Operand sum = skipSum(op, 4);
  op.outputs = {0, 1, 2};
  layerNormForm(op, sum, op.in(2), op.in(3), op.floatOf("epsilon", kSkipEps), -1);
  op.outputType = op.type(sum);
  op.set("fused", true);
}

// input, skip, gamma, bias.
void skipRmsNorm(OpContext& op) {
  const Operand sum = skipSum(op, 3);
  op.outputs = {0, 1, 2};
  op.operands = {sum, op.in(2)};
  op.set("eps", op.floatOf("epsilon", kSkipEps));
  op.outputType = op.type(sum);
  normAxes(op, sum, op.in(2), -1);
}

// Shape of table[ids]: ids' axes, then the table's last.
KnownType lookedUp(const OpContext& op, const Operand& table, const Operand& ids) {
  KnownType type = op.type(table);
  const auto index = op.type(ids).dims;
  if (!type.dims || type.dims->size() != 2 || !index) return {type.dtype, std::nullopt};
  Shape shape = *index;
  shape.push_back(type.dims->back());
  return {type.dtype, shape};
}

Operand lookUp(OpContext& op, const char* name, int table, int ids) {
  return op.part(name, OpKind::Gather, "Gather", {op.in(table), op.in(ids)}, {{"axis", int64_t{0}}},
                 lookedUp(op, op.in(table), op.in(ids)));
}

// The first row of the segment table, for all tokens.
Operand firstSegment(OpContext& op) {
  KnownType type = op.inputType(4);
  if (type.dims && type.dims->size() == 2) type.dims->front() = 1;
  return op.part("segments", OpKind::Slice, "Slice", {op.in(4)},
                 {{"axis", int64_t{0}}, {"start", int64_t{0}}, {"step", int64_t{1}}}, std::move(type));
}

// The first rows of the position table, as many as there are tokens.
Operand firstPositions(OpContext& op) {
  KnownType type = op.inputType(3);
  const auto ids = op.inputType(0).dims;
  if (type.dims && type.dims->size() == 2) (*type.dims)[0] = ids && ids->size() == 2 ? (*ids)[1] : -1;
  return op.part("positions", OpKind::Slice, "Slice", {op.in(3)},
                 {{"axis", int64_t{0}}, {"start", int64_t{0}}, {"step", int64_t{1}}}, std::move(type));
}

// ids, segment ids?, words, positions, segments?, gamma, beta, mask?, position ids?. Outputs: norm, mask index, sum.
void embedLayerNorm(OpContext& op) {
  const Operand words = lookUp(op, "words", 2, 0);
  const Operand positions = op.has(8) ? lookUp(op, "positions", 3, 8) : firstPositions(op);
  const bool segmented = op.has(4);
  const Operand segments = !segmented ? Operand{} : op.has(1) ? lookUp(op, "segments", 4, 1) : firstSegment(op);
  if (op.hasOutput(1)) {
    KnownType made;
    if (const auto ids = op.inputType(0).dims; ids && !ids->empty()) made = {graph::DType::Int32, Shape{ids->front()}};
    op.part("mask", OpKind::Opaque, "EmbedLayerNormalization", {op.has(7) ? op.in(7) : op.in(0)}, {}, made, 1);
  }
  Operand sum = op.addPart("add positions", words, positions, segmented ? -1 : 2);
  if (segmented) sum = op.addPart("add segments", sum, segments, 2);
  op.outputs = {0};
  layerNormForm(op, sum, op.in(5), op.in(6), op.floatOf("epsilon", kSkipEps), -1);
  op.outputType = op.type(sum);
  op.set("fused", true);
}

// x, bias?: the function of their sum.
void biasActivation(OpContext& op) {
  if (!op.has(1)) return op.operand(0);
  op.operands = {op.addPart("bias", op.in(0), op.in(1))};
  op.outputType = op.type(op.operands[0]);
}

// x, bias, skip.
void biasAdd(OpContext& op) {
  op.operands = {op.addPart("bias", op.in(0), op.in(1)), op.in(2)};
  op.outputType = op.type(op.operands[0]);
}

}  // namespace

const std::vector<OpRule>& fusedRules() {
  static const std::vector<OpRule> kRules = {
      {"SkipLayerNormalization", OpKind::LayerNorm, skipLayerNorm, Domain::Runtime},
      {"SkipSimplifiedLayerNormalization", OpKind::RmsNorm, skipRmsNorm, Domain::Runtime},
      {"EmbedLayerNormalization", OpKind::LayerNorm, embedLayerNorm, Domain::Runtime},
      {"BiasGelu", OpKind::Elementwise, biasActivation, Domain::Runtime},
      {"FastGelu", OpKind::Elementwise, biasActivation, Domain::Runtime},
      {"BiasAdd", OpKind::Add, biasAdd, Domain::Runtime},
  };
  return kRules;
}

}  // namespace normlens::formats::onnx
