// Steps along the channels: residual blocks, gates, scales, centerings, parts of the channels.
#include "tests/support/random_graph/random_model.h"

namespace normlens::testing {

using graph::Attributes;
using graph::DType;
using graph::kNoValue;
using graph::OpKind;
using graph::ValueId;

ValueId RandomModel::residualBlock() {
  const ValueId x = pick();
  const ValueId n = layerNorm(x);
  ValueId y = linear(g_.chance(30) ? shuffle(n) : n);
  if (g_.chance(30)) y = g_.add(OpKind::Mul, {y, linear(n)}, x_);
  if (g_.chance(50)) y = linear(g_.add(OpKind::Elementwise, {y}, x_, {}, "aten::gelu"));
  return g_.add(OpKind::Add, {x, y}, x_);
}

ValueId RandomModel::sumOfTwo() {
  const OpKind kind = g_.chance(70) ? OpKind::Add : OpKind::Sub;
  return g_.add(kind, {pick(), pick()}, x_, g_.chance(20) ? Attributes{{"alpha", 0.5}} : Attributes{});
}

ValueId RandomModel::gate(ValueId from) {
  const Shape one = with(x_, 2, 1);
  if (g_.chance(20)) return gates_.at(static_cast<size_t>(g_.below(3)));
  switch (g_.below(4)) {
    case 0:
      return g_.number(0.8);
    case 1:
      return g_.add(OpKind::Elementwise, {g_.add(OpKind::Linear, {from, tied({1, kWidth}), kNoValue}, one)}, one, {},
                    "aten::sigmoid");
    case 2:
      return g_.add(OpKind::Slice, {from}, one, {{"axis", int64_t{2}}, {"start", int64_t{0}}, {"step", int64_t{1}}});
    default:
      return g_.add(OpKind::Elementwise, {from}, x_, {}, "aten::sigmoid");
  }
}

ValueId RandomModel::gated() {
  const ValueId x = pick();
  const ValueId by = gate(pick());
  return g_.chance(50) ? g_.add(OpKind::Mul, {x, by}, x_) : g_.add(OpKind::Mul, {by, x}, x_);
}

ValueId RandomModel::layerScale() {
  ValueId y = linear(pick());
  if (g_.chance(30)) {
    const Shape turned{batch_, kWidth, tokens_};
    const ValueId z = g_.add(OpKind::Permute, {y}, turned, {{"perm", Ints{0, 2, 1}}});
    const ValueId s = g_.add(OpKind::Mul, {z, tied({kWidth, 1})}, turned);
    return g_.add(OpKind::Permute, {s}, x_, {{"perm", Ints{0, 2, 1}}});
  }
  y = g_.add(OpKind::Mul, {tied({kWidth}), y}, x_);
  return g_.chance(50) ? g_.add(OpKind::Add, {pick(), y}, x_) : y;
}

// Rows of a table of vectors, each for another purpose.
ValueId RandomModel::constantRows() {
  const ValueId rows = tied({2, kWidth});
  std::vector<ValueId> parts;
  if (g_.chance(50)) {
    parts = g_.addMany(OpKind::Unbind, {rows}, {{kWidth}, {kWidth}}, {{"axis", int64_t{0}}});
  } else {
    parts = g_.addMany(OpKind::Split, {rows}, {{1, kWidth}, {1, kWidth}}, {{"axis", int64_t{0}}});
  }
  const ValueId x = g_.add(OpKind::Add, {pick(), parts[0]}, x_);
  if (g_.chance(50)) return x;
  streams_.push_back(x);
  const OpKind kind = g_.chance(50) ? OpKind::Add : OpKind::Mul;
  return g_.add(kind, {pick(), parts[1]}, x_);
}

// A number for each token, or for all.
ValueId RandomModel::sameForAllChannels() {
  const Shape one = with(x_, 2, 1);
  switch (g_.below(7)) {
    case 0:
      return tied({1});
    case 1:
      return g_.add(OpKind::Expand, {tied({1})}, one);
    case 2:
      return g_.number(3);
    case 3:
      return meanOf(pick());
    case 4:
      return g_.add(OpKind::Elementwise, {g_.add(OpKind::Expand, {perToken()}, x_)}, x_, {}, "aten::gelu");
    case 5:
      return g_.add(OpKind::Expand, {perToken()}, x_);
    default:
      return perToken();
  }
}

ValueId RandomModel::perToken() {
  return g_.add(OpKind::Linear, {pick(), tied({1, kWidth}), maybe(tied({1}))}, with(x_, 2, 1));
}

// What is the same for all channels goes away with the mean.
ValueId RandomModel::droppedAddend() {
  const ValueId addend = sameForAllChannels();
  // Others read it as well.
  if (g_.chance(20)) streams_.push_back(g_.add(OpKind::Mul, {pick(), addend}, x_));
  if (g_.chance(20)) streams_.push_back(g_.add(OpKind::Add, {addend, pick()}, x_));
  if (g_.chance(20)) return g_.add(OpKind::Sub, {addend, pick()}, x_);
  return g_.add(g_.chance(70) ? OpKind::Add : OpKind::Sub, {pick(), addend}, x_);
}

// Two halves of the channels, made apart and put together.
ValueId RandomModel::halves() {
  const ValueId x = pick();
  const ValueId other = g_.chance(70) ? x : pick();
  const bool biased = g_.chance(50);
  std::vector<ValueId> parts;
  const int64_t first = g_.chance(50) ? kWidth / 2 : kWidth / 4;
  for (const auto& [from, width] : {std::pair{x, first}, std::pair{other, kWidth - first}}) {
    ValueId part = g_.add(OpKind::Linear, {from, tied({width, kWidth}), biased ? tied({width}) : kNoValue},
                          {batch_, tokens_, width});
    if (g_.chance(25)) part = norm(part, 1);
    if (g_.chance(15)) part = g_.add(OpKind::Elementwise, {part}, {batch_, tokens_, width}, {}, "aten::gelu");
    parts.push_back(part);
  }
  return g_.add(OpKind::Concat, parts, x_, {{"axis", int64_t{2}}});
}

// A norm over some of a stream's channels, beside those who read the whole.
ValueId RandomModel::partOfChannels() {
  const ValueId x = pick();
  const int64_t width = g_.chance(70) ? kWidth / 2 : 3;
  const int64_t from = g_.chance(50) ? 0 : kWidth - width;
  const Shape part{batch_, tokens_, width};
  const ValueId slice = g_.add(OpKind::Slice, {x}, part, {{"axis", int64_t{2}}, {"start", from}, {"step", int64_t{1}}});
  norms_.push_back(norm(slice, 1));
  if (g_.chance(50)) return x;
  return g_.add(OpKind::Linear, {norms_.back(), tied({kWidth, width}), kNoValue}, x_);
}

ValueId RandomModel::positive(const Shape& shape) {
  Tensor out(shape);
  for (double& number : out.at) number = 0.25 * static_cast<double>(1 + g_.below(8));
  return g_.constant(out);
}

ValueId RandomModel::centered() {
  const ValueId x = pick();
  const size_t axis = g_.chance(75) ? 2 : 1;
  return g_.add(OpKind::Sub, {x, meanOf(x, "mean", axis)}, x_,
                g_.chance(15) ? Attributes{{"alpha", 0.5}} : Attributes{});
}

// x - mean(x), and the mean is read by somebody else as well.
ValueId RandomModel::leakedMean() {
  const ValueId x = pick();
  const ValueId mean = meanOf(x);
  streams_.push_back(g_.add(OpKind::Sub, {x, mean}, x_));
  return g_.add(OpKind::Add, {pick(), g_.add(OpKind::Elementwise, {mean}, with(x_, 2, 1), {}, "aten::gelu")}, x_);
}

ValueId RandomModel::cast() {
  const ValueId x = pick();
  if (g_.chance(40)) return g_.add(OpKind::Cast, {x}, x_);
  const ValueId narrow = g_.add(OpKind::Cast, {x}, x_, {}, "", DType::Float32);
  return g_.add(OpKind::Cast, {narrow}, x_);
}

}  // namespace normlens::testing
