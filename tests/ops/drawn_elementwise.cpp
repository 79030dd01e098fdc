// Sums, products and masks.
#include "tests/ops/drawn_nodes.h"

namespace normlens::ops {

using graph::Attributes;
using graph::OpKind;
using graph::Shape;
using testing::OneNode;
using testing::oneNode;
using testing::Operand;

OneNode unary(Draw& draw, OpKind kind) {
  const Shape shape = draw.shape(1, 4);
  return oneNode(kind, {shape}, {}, {shape});
}

OneNode sum(Draw& draw, OpKind kind) {
  const Shape full = draw.shape(1, 4);
  const Shape other = draw.part(full);
  const Attributes alpha = draw.coin() ? Attributes{} : Attributes{{"alpha", 0.5}};
  return draw.coin() ? oneNode(kind, {full, other}, alpha, {full}) : oneNode(kind, {other, full}, alpha, {full});
}

OneNode product(Draw& draw, OpKind kind) {
  const Shape full = draw.shape(1, 4);
  const Operand gate = draw.gate(full);
  if (kind == OpKind::Mul && draw.coin()) return oneNode(kind, {gate, full}, {}, {full});
  return oneNode(kind, {full, gate}, {}, {full});
}

OneNode where(Draw& draw) {
  const Shape full = draw.shape(1, 4);
  const Operand b = draw.coin() ? Operand::number(0) : Operand(draw.part(full));
  return oneNode(OpKind::Where, {draw.mask(full), full, b}, {}, {full});
}

OneNode maskedFill(Draw& draw) {
  const Shape full = draw.shape(1, 4);
  const Operand fill = draw.coin() ? Operand::number(0) : Operand(Shape{});
  return oneNode(OpKind::MaskedFill, {full, draw.mask(full), fill}, {}, {full});
}

}  // namespace normlens::ops
