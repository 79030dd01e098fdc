#include "tests/support/random_graph/random_graph.h"

#include <algorithm>

#include "tests/support/random_graph/random_model.h"

namespace normlens::testing {

using graph::DType;
using graph::Graph;
using graph::kNoValue;
using graph::OpKind;
using graph::ValueId;

Graph RandomModel::build(int steps) {
  image_ = g_.input({batch_, tokens_, kWidth});
  ids_ = g_.input({batch_, tokens_}, DType::Int64);
  flag_ = g_.input({}, DType::Bool);
  trips_ = g_.input({}, DType::Int64);
  gates_ = {sized({batch_, tokens_, ones_}, {-1, -1, -1}), sized({ones_}, {-1}),
            sized({batch_, tokens_, 1}, {-1, -1, 1})};
  streams_.push_back(start());
  if (g_.chance(50)) streams_.push_back(start());
  for (int i = 0; i < steps; ++i) streams_.push_back(anyStep());
  for (int i = 0; i < 2; ++i) norms_.push_back(layerNorm(pick()));
  finish();
  return std::move(g_.graph());
}

ValueId RandomModel::sized(const Shape& shape, const Shape& declared) {
  const ValueId made = g_.input(shape);
  g_.graph().values[static_cast<size_t>(made)].declared = declared;
  return made;
}

ValueId RandomModel::pick() {
  // Mostly one of the newest.
  const auto back = g_.chance(70) ? g_.below(std::min<int64_t>(3, count())) : g_.below(count());
  return streams_[static_cast<size_t>(count() - 1 - back)];
}

// A new tensor, or now and then one that is there already.
ValueId RandomModel::tied(const Shape& shape) {
  std::vector<ValueId> same;
  for (const ValueId value : constants_) {
    if (g_.shape(value) == shape) same.push_back(value);
  }
  if (!same.empty() && g_.chance(15)) return same[static_cast<size_t>(g_.below(static_cast<int64_t>(same.size())))];
  constants_.push_back(g_.weight(shape));
  return constants_.back();
}

ValueId RandomModel::start() {
  switch (g_.below(4)) {
    case 0:
      return image_;
    case 1:
      return linear(image_);
    default:
      return embedding();
  }
}

ValueId RandomModel::embedding() {
  if (table_ == kNoValue || g_.chance(30)) table_ = tied({kRows, kWidth});
  return g_.add(OpKind::Gather, {table_, ids_}, x_, {{"axis", int64_t{0}}});
}

ValueId RandomModel::linear(ValueId x) {
  switch (g_.below(5)) {
    case 0: {
      const ValueId turned =
          g_.add(OpKind::Permute, {tied({kWidth, kWidth})}, {kWidth, kWidth}, {{"perm", Ints{1, 0}}});
      return g_.add(OpKind::MatMul, {x, turned}, x_);
    }
    case 1: {
      const ValueId y = g_.add(OpKind::MatMul, {x, tied({kWidth, kWidth})}, x_);
      return g_.chance(50) ? y : g_.add(OpKind::Add, {y, tied({kWidth})}, x_);
    }
    case 2: {
      const Shape flat{batch_ * tokens_, kWidth};
      const ValueId rows = g_.add(OpKind::Reshape, {x}, flat);
      const ValueId y = g_.add(OpKind::AddMatMul, {tied({kWidth}), rows, tied({kWidth, kWidth})}, flat);
      return g_.add(OpKind::Reshape, {y}, x_);
    }
    case 3:
      return g_.add(OpKind::Einsum, {x, tied({kWidth, kWidth})}, x_, {{"equation", std::string("btd,de->bte")}});
    default:
      return g_.add(OpKind::Linear, {x, tied({kWidth, kWidth}), maybe(tied({kWidth}))}, x_);
  }
}

ValueId RandomModel::gamma(const Shape& shape) {
  const auto kind = g_.below(4);
  return kind == 0 ? kNoValue : kind == 1 ? equal(shape) : tied(shape);
}

ValueId RandomModel::beta(const Shape& shape) {
  const auto kind = g_.below(5);
  if (kind == 0) return g_.constant(Tensor(shape));
  return kind == 1 ? kNoValue : kind == 2 ? equal(shape) : tied(shape);
}

ValueId RandomModel::norm(ValueId x, int64_t axes) {
  const Shape shape = g_.shape(x);  // a copy: values move as the graph grows
  const Shape tail(shape.end() - axes, shape.end());
  Ints list;
  for (auto i = static_cast<int64_t>(shape.size()) - axes; i < static_cast<int64_t>(shape.size()); ++i)
    list.push_back(i);
  // Over tokens as well: no tensors of a size that changes with the input's.
  const bool affine = axes == 1;
  const ValueId scale = affine ? gamma(tail) : kNoValue;
  return g_.add(OpKind::LayerNorm, {x, scale, affine ? beta(tail) : kNoValue}, shape, {{"axes", list}, {"eps", 1e-5}});
}

ValueId RandomModel::meanOf(ValueId x, const std::string& op, size_t axis) {
  return g_.add(OpKind::Reduce, {x}, with(g_.shape(x), axis, 1),
                {{"op", op}, {"axes", Ints{static_cast<int64_t>(axis)}}, {"keepdim", true}, {"unbiased", false}});
}

ValueId RandomModel::writtenOutNorm(ValueId x) {
  const Shape one = with(x_, 2, 1);
  const ValueId c = g_.add(OpKind::Sub, {x, meanOf(x)}, x_);
  ValueId variance = kNoValue;
  if (g_.chance(30)) {
    variance = meanOf(x, "var");
  } else if (g_.chance(50)) {
    variance = meanOf(g_.add(OpKind::Mul, {c, c}, x_));
  } else {
    const ValueId again = g_.chance(50) ? c : g_.add(OpKind::Sub, {x, meanOf(x)}, x_);
    variance = meanOf(g_.function(graph::Function::Power, {again, g_.number(2)}, x_));
  }
  const ValueId e = g_.add(OpKind::Add, {variance, g_.number(1e-5)}, one);
  ValueId y = kNoValue;
  if (g_.chance(50)) {
    y = g_.add(OpKind::Mul, {c, g_.function(graph::Function::InverseSquareRoot, {e}, one)}, x_);
  } else {
    y = g_.add(OpKind::Div, {c, g_.function(graph::Function::SquareRoot, {e}, one)}, x_);
  }
  if (g_.chance(15)) streams_.push_back(c);
  if (g_.chance(60)) y = g_.add(OpKind::Mul, {y, tied({kWidth})}, x_);
  return g_.chance(60) ? g_.add(OpKind::Add, {y, tied({kWidth})}, x_) : y;
}

ValueId RandomModel::anyStep() {
  static const std::vector<Step> kSteps = {
      &RandomModel::residualBlock, &RandomModel::residualBlock,  &RandomModel::residualBlock,
      &RandomModel::sumOfTwo,      &RandomModel::plainLinear,    &RandomModel::normalized,
      &RandomModel::normalized,    &RandomModel::perHeadNorm,    &RandomModel::gated,
      &RandomModel::scaled,        &RandomModel::layerScale,     &RandomModel::activation,
      &RandomModel::table,         &RandomModel::positions,      &RandomModel::clsToken,
      &RandomModel::fusedSplit,    &RandomModel::attention,      &RandomModel::halves,
      &RandomModel::masked,        &RandomModel::branch,         &RandomModel::loop,
      &RandomModel::tokenMean,     &RandomModel::shuffled,       &RandomModel::convolved,
      &RandomModel::centered,      &RandomModel::partOfChannels, &RandomModel::normOverTokens,
      &RandomModel::cast,          &RandomModel::opaque,         &RandomModel::perTokenNorms,
      &RandomModel::stacked,       &RandomModel::selfProduct,    &RandomModel::leakedMean,
      &RandomModel::groupNorm,     &RandomModel::sharedHeads,    &RandomModel::mixedHeads,
      &RandomModel::tokenMixing,   &RandomModel::constantRows,   &RandomModel::droppedAddend,
      &RandomModel::batchNormed,   &RandomModel::scaledSum};
  return (this->*kSteps[static_cast<size_t>(g_.below(static_cast<int64_t>(kSteps.size())))])();
}

// What the model returns: all norms that lead nowhere else, some streams through a head, some as they are.
void RandomModel::finish() {
  for (const ValueId value : norms_) g_.addReturn(0, value);
  const ValueId last = streams_.back();
  if (g_.chance(60)) {
    const ValueId head = table_ != kNoValue && g_.chance(50) ? table_ : tied({kRows, kWidth});
    g_.addReturn(0, g_.add(OpKind::Linear, {layerNorm(last), head, kNoValue}, {batch_, tokens_, kRows}));
  }
  if (g_.chance(25)) g_.addReturn(0, pick());
  if (g_.chance(40)) g_.addReturn(0, g_.add(OpKind::Elementwise, {pick()}, x_, {}, "aten::gelu"));
  if (g_.chance(50)) g_.addReturn(0, layerNorm(pick()));
}

Graph randomModel(unsigned seed, const ModelSize& size, int steps) { return RandomModel(seed, size).build(steps); }

}  // namespace normlens::testing
