// Steps along the tokens: positions, shifts, convolutions, norms over tokens.
#include "tests/support/random_graph/random_model.h"

namespace normlens::testing {

using graph::Attributes;
using graph::kNoValue;
using graph::OpKind;
using graph::ValueId;

ValueId RandomModel::positions() {
  const ValueId table = tied({kPositions, kWidth});
  const ValueId rows = g_.add(OpKind::Slice, {table}, {tokens_, kWidth},
                              {{"axis", int64_t{0}}, {"start", int64_t{0}}, {"step", int64_t{1}}});
  return g_.add(OpKind::Add, {pick(), rows}, x_);
}

ValueId RandomModel::clsToken() {
  const ValueId cls = g_.add(OpKind::Expand, {tied({1, 1, kWidth})}, {batch_, 1, kWidth});
  const ValueId all = g_.add(OpKind::Concat, {cls, pick()}, {batch_, tokens_ + 1, kWidth}, {{"axis", int64_t{1}}});
  if (g_.chance(50)) norms_.push_back(norm(all, 1));
  const int64_t from = g_.below(2);
  return g_.add(OpKind::Slice, {all}, x_, {{"axis", int64_t{1}}, {"start", from}, {"step", int64_t{1}}});
}

// A weight on the left: mixes channels of the turned stream.
ValueId RandomModel::tokenMixing() {
  const Shape turned{batch_, kWidth, tokens_};
  const ValueId z = g_.add(OpKind::Permute, {pick()}, turned, {{"perm", Ints{0, 2, 1}}});
  ValueId y = g_.add(OpKind::MatMul, {tied({kWidth, kWidth}), z}, turned);
  if (g_.chance(30)) y = g_.add(OpKind::Add, {y, tied({kWidth, 1})}, turned);
  return g_.add(OpKind::Permute, {y}, x_, {{"perm", Ints{0, 2, 1}}});
}

ValueId RandomModel::tokenMean() {
  const ValueId mean = meanOf(pick(), g_.chance(50) ? "mean" : "sum", 1);
  if (g_.chance(30)) norms_.push_back(norm(mean, 1));
  return g_.add(OpKind::Add, {pick(), mean}, x_);
}

ValueId RandomModel::shuffle(ValueId x) {
  switch (g_.below(4)) {
    case 0:
      return g_.add(OpKind::Roll, {x}, x_, {{"axes", Ints{1}}});
    case 1:
      return g_.add(OpKind::Roll, {x}, x_, {{"axes", Ints{2}}});
    case 2:
      return g_.add(OpKind::Mix, {x}, x_, {{"axes", Ints{1}}});
    default: {
      const Shape longer{batch_, tokens_ + 2, kWidth};
      Attributes pad{{"axes", Ints{1}}};
      if (g_.chance(60)) pad.emplace_back("start", Ints{1});
      if (g_.chance(70)) pad.emplace_back("value", 0.0);
      const ValueId padded = g_.add(OpKind::Pad, {x}, longer, pad);
      if (g_.chance(40)) norms_.push_back(norm(padded, 1));
      return g_.add(OpKind::Slice, {padded}, x_, {{"axis", int64_t{1}}, {"start", g_.below(3)}, {"step", int64_t{1}}});
    }
  }
}

ValueId RandomModel::convolved() {
  const Shape turned{batch_, kWidth, tokens_};
  ValueId z = g_.add(OpKind::Permute, {pick()}, turned, {{"perm", Ints{0, 2, 1}}});
  const int64_t groups = g_.chance(60) ? 1 : (g_.chance(50) ? 2 : kWidth);
  z = g_.add(OpKind::Conv, {z, tied({kWidth, kWidth / groups, 3}), maybe(tied({kWidth}))}, turned,
             {{"groups", groups}});
  if (g_.chance(20)) z = g_.add(OpKind::Mul, {z, tied({kWidth, 1})}, turned);
  return g_.add(OpKind::Permute, {z}, x_, {{"perm", Ints{0, 2, 1}}});
}

ValueId RandomModel::batchNormed() {
  const Shape turned{batch_, kWidth, tokens_};
  const ValueId mean = g_.chance(80) ? g_.weight({kWidth}) : tied({kWidth});
  const ValueId own = g_.weight({kWidth});
  ValueId z = kNoValue;
  if (g_.chance(50)) {
    const ValueId y = linear(pick());
    z = g_.add(OpKind::Permute, {y}, turned, {{"perm", Ints{0, 2, 1}}});
  } else {
    z = g_.add(OpKind::Permute, {pick()}, turned, {{"perm", Ints{0, 2, 1}}});
    z = g_.add(OpKind::Conv, {z, g_.weight({kWidth, kWidth, 3}), maybe(own)}, turned, {{"groups", int64_t{1}}});
  }
  z = g_.add(OpKind::BatchNorm, {z, maybe(positive({kWidth})), maybe(g_.weight({kWidth})), mean, positive({kWidth})},
             turned, {{"eps", 1e-5}});
  const ValueId y = g_.add(OpKind::Permute, {z}, x_, {{"perm", Ints{0, 2, 1}}});
  norms_.push_back(norm(y, 1));
  return y;
}

ValueId RandomModel::normOverTokens() {
  norms_.push_back(norm(pick(), 2));
  return g_.chance(50) ? norms_.back() : pick();
}

// A norm over the tokens, per channel.
ValueId RandomModel::perTokenNorms() {
  const Shape turned{batch_, kWidth, tokens_};
  const ValueId z = g_.add(OpKind::Permute, {pick()}, turned, {{"perm", Ints{0, 2, 1}}});
  const ValueId y = g_.add(OpKind::LayerNorm, {z, kNoValue, kNoValue}, turned, {{"axes", Ints{2}}, {"eps", 1e-5}});
  return g_.add(OpKind::Permute, {y}, x_, {{"perm", Ints{0, 2, 1}}});
}

ValueId RandomModel::groupNorm() {
  const Shape rows{batch_ * tokens_, kWidth};
  const ValueId flat = g_.add(OpKind::Reshape, {pick()}, rows);
  const ValueId y = g_.add(OpKind::GroupNorm, {flat, maybe(tied({kWidth})), kNoValue}, rows,
                           {{"groups", 1 + g_.below(2)}, {"eps", 1e-5}});
  return g_.add(OpKind::Reshape, {y}, x_);
}

}  // namespace normlens::testing
