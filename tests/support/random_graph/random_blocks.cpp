// Steps that choose: masks, branches and loops.
#include "tests/support/random_graph/random_model.h"

namespace normlens::testing {

using graph::DType;
using graph::OpKind;
using graph::ValueId;

ValueId RandomModel::masked() {
  const ValueId x = pick();
  if (g_.chance(30)) return maskedBy(g_.add(OpKind::Elementwise, {x, g_.number(0.5)}, x_, {}, "aten::greater"));
  return maskedBy(g_.add(OpKind::Elementwise, {meanOf(x, "max"), g_.number(1)}, with(x_, 2, 1), {}, "aten::greater"));
}

ValueId RandomModel::maskedBy(ValueId mask) {
  switch (g_.below(4)) {
    case 0:
      return g_.add(OpKind::Where, {mask, pick(), pick()}, x_);
    case 2:
      return g_.add(OpKind::Where, {mask, sameForAllChannels(), pick()}, x_);
    case 1:
      return g_.add(OpKind::MaskedFill, {pick(), mask, g_.number(g_.chance(50) ? 0 : 3)}, x_);
    default:
      return g_.add(OpKind::Where, {mask, pick(), tied({kWidth})}, x_);
  }
}

ValueId RandomModel::branch() {
  ValueId condition = flag_;
  if (g_.chance(40)) {
    const ValueId flat = g_.add(OpKind::Reshape, {pick()}, {batch_ * tokens_ * kWidth});
    const ValueId top =
        g_.add(OpKind::Reduce, {flat}, {}, {{"op", std::string("max")}, {"axes", Ints{0}}, {"keepdim", false}});
    condition = g_.add(OpKind::Elementwise, {top, g_.number(1.5)}, {}, {}, "aten::greater", DType::Bool);
  }
  const ValueId out = g_.add(OpKind::If, {condition}, x_);
  const size_t outer = streams_.size();
  for (int i = 0; i < 2; ++i) {
    const auto block = g_.addBlock(out);
    const auto before = g_.enter(block);
    ValueId made = g_.chance(25) ? pick() : innerStep();
    if (g_.chance(30)) made = innerStep();
    g_.addReturn(block, made);
    leave(before, outer);
  }
  return out;
}

ValueId RandomModel::loop() {
  const bool two = g_.chance(40);
  std::vector<ValueId> operands{trips_, g_.number(1), pick()};
  if (two) operands.push_back(pick());
  const auto outs = g_.addMany(OpKind::Loop, operands, two ? std::vector<Shape>{x_, x_} : std::vector<Shape>{x_});
  const size_t outer = streams_.size();
  const auto block = g_.addBlock(outs[0]);
  const auto before = g_.enter(block);
  g_.param(block, {}, DType::Int64);
  std::vector<ValueId> carried;
  for (size_t i = 0; i < outs.size(); ++i) carried.push_back(g_.param(block, x_));
  streams_.insert(streams_.end(), carried.begin(), carried.end());
  for (int64_t i = 1 + g_.below(2); i > 0; --i) streams_.push_back(innerStep());
  g_.addReturn(block, g_.number(1));
  g_.addReturn(block, streams_.back());
  if (two) g_.addReturn(block, g_.chance(50) ? carried[0] : pick());
  leave(before, outer);
  if (two) streams_.push_back(outs[1]);
  return outs[0];
}

// Inside a block: values must not be seen outside of it.
ValueId RandomModel::innerStep() {
  static const std::vector<Step> kSteps = {
      &RandomModel::residualBlock, &RandomModel::residualBlock, &RandomModel::sumOfTwo,      &RandomModel::plainLinear,
      &RandomModel::normalized,    &RandomModel::gated,         &RandomModel::activation,    &RandomModel::table,
      &RandomModel::centered,      &RandomModel::layerScale,    &RandomModel::droppedAddend, &RandomModel::branch};
  const size_t norms = norms_.size();
  const ValueId made = (this->*kSteps[static_cast<size_t>(g_.below(static_cast<int64_t>(kSteps.size())))])();
  norms_.resize(norms);
  return made;
}

void RandomModel::leave(graph::BlockId before, size_t streams) {
  g_.enter(before);
  streams_.resize(streams);
}

}  // namespace normlens::testing
