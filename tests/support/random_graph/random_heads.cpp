// Steps with heads: attention, norms and scales per head, products of tokens.
#include "tests/support/random_graph/random_model.h"

namespace normlens::testing {

using graph::Attributes;
using graph::OpKind;
using graph::ValueId;

ValueId RandomModel::perHeadNorm() {
  const Shape heads{batch_, tokens_, kHeads, kWidth / kHeads};
  ValueId h = g_.add(OpKind::Reshape, {pick()}, heads);
  if (g_.chance(40)) {
    const ValueId turned =
        g_.add(OpKind::Permute, {h}, {batch_, kHeads, tokens_, kWidth / kHeads}, {{"perm", Ints{0, 2, 1, 3}}});
    h = g_.add(OpKind::Permute, {norm(turned, 1)}, heads, {{"perm", Ints{0, 2, 1, 3}}});
  } else {
    h = norm(h, 1);
  }
  return g_.add(OpKind::Reshape, {h}, x_);
}

// A scale of a sum of linears: of all channels, or behind a view into heads.
ValueId RandomModel::scaledSum() {
  ValueId y = g_.add(g_.chance(70) ? OpKind::Add : OpKind::Sub, {linear(pick()), linear(pick())}, x_,
                     g_.chance(20) ? Attributes{{"alpha", 0.5}} : Attributes{});
  if (g_.chance(30)) y = g_.add(OpKind::Add, {tied({kWidth}), y}, x_);
  if (g_.chance(40)) return g_.add(OpKind::Mul, {y, tied({kWidth})}, x_);
  const int64_t d = kWidth / kHeads;
  const Shape heads{batch_, tokens_, kHeads, d}, turned{batch_, kHeads, tokens_, d};
  y = g_.add(OpKind::Reshape, {y}, heads);
  const bool turns = g_.chance(50);
  if (turns) y = g_.add(OpKind::Permute, {y}, turned, {{"perm", Ints{0, 2, 1, 3}}});
  const auto kind = g_.below(3);
  const Shape scale = kind == 0 ? Shape{d}
                      : turns   ? Shape{kHeads, 1, kind == 1 ? 1 : d}
                                : Shape{kHeads, kind == 1 ? 1 : d};
  y = g_.add(OpKind::Mul, {y, tied(scale)}, turns ? turned : heads);
  if (g_.chance(50)) y = norm(y, 1);
  if (turns) y = g_.add(OpKind::Permute, {y}, heads, {{"perm", Ints{0, 2, 1, 3}}});
  return g_.add(OpKind::Reshape, {y}, x_);
}

// A fused projection, split; a norm on one part or per head of it.
ValueId RandomModel::fusedSplit() {
  const ValueId x = pick();
  const ValueId all =
      g_.add(OpKind::Linear, {x, tied({3 * kWidth, kWidth}), maybe(tied({3 * kWidth}))}, {batch_, tokens_, 3 * kWidth});
  std::vector<ValueId> parts;
  if (g_.chance(50)) {
    parts = g_.addMany(OpKind::Split, {all}, {x_, x_, x_}, {{"axis", int64_t{2}}, {"divides", true}});
  } else {
    for (int64_t i = 0; i < 3; ++i) {
      parts.push_back(
          g_.add(OpKind::Slice, {all}, x_,
                 {{"axis", int64_t{2}}, {"start", i * kWidth}, {"end", (i + 1) * kWidth}, {"step", int64_t{1}}}));
    }
  }
  if (g_.chance(70)) parts[0] = norm(parts[0], 1);
  if (g_.chance(30)) norms_.push_back(norm(all, 1));
  streams_.push_back(parts[static_cast<size_t>(1 + g_.below(2))]);
  return attend(parts[0], parts[1], parts[2]);
}

ValueId RandomModel::attend(ValueId q, ValueId k, ValueId v) {
  if (g_.chance(40)) return g_.add(OpKind::Attention, {q, k, v}, x_);
  const Shape heads{batch_, tokens_, kHeads, kWidth / kHeads};
  const Shape turned{batch_, kHeads, tokens_, kWidth / kHeads};
  std::vector<ValueId> parts;
  for (const ValueId part : {q, k, v}) {
    const ValueId h = g_.add(OpKind::Reshape, {part}, heads);
    parts.push_back(g_.add(OpKind::Permute, {h}, turned, {{"perm", Ints{0, 2, 1, 3}}}));
  }
  if (g_.chance(30)) parts[0] = norm(parts[0], 1);
  const ValueId y = g_.add(OpKind::Attention, parts, turned);
  const ValueId back = g_.add(OpKind::Permute, {y}, heads, {{"perm", Ints{0, 2, 1, 3}}});
  return g_.add(OpKind::Reshape, {back}, x_);
}

// One head of k and v serves all heads of q.
ValueId RandomModel::sharedHeads() {
  const int64_t d = kWidth / kHeads;
  const ValueId x = pick();
  const ValueId q = g_.add(OpKind::Reshape, {linear(x)}, {batch_, tokens_, kHeads, d});
  std::vector<ValueId> parts{g_.add(OpKind::Permute, {q}, {batch_, kHeads, tokens_, d}, {{"perm", Ints{0, 2, 1, 3}}})};
  for (int i = 0; i < 2; ++i) {
    const ValueId y = g_.add(OpKind::Linear, {x, tied({d, kWidth}), maybe(tied({d}))}, {batch_, tokens_, d});
    parts.push_back(g_.add(OpKind::Reshape, {y}, {batch_, 1, tokens_, d}));
  }
  if (g_.chance(30)) parts[1] = norm(parts[1], 1);
  ValueId y = g_.add(OpKind::Attention, parts, {batch_, kHeads, tokens_, d});
  if (g_.chance(40)) norms_.push_back(norm(y, 1));
  y = g_.add(OpKind::Permute, {y}, {batch_, tokens_, kHeads, d}, {{"perm", Ints{0, 2, 1, 3}}});
  return g_.add(OpKind::Reshape, {y}, x_);
}

// Each head mixes the tokens in its own way.
ValueId RandomModel::mixedHeads() {
  const int64_t d = kWidth / kHeads;
  const ValueId x = pick();
  const ValueId scores =
      g_.add(OpKind::Einsum, {x, image_}, {batch_, tokens_, tokens_}, {{"equation", std::string("btd,bsd->bts")}});
  const ValueId p = g_.add(OpKind::Softmax, {scores}, {batch_, tokens_, tokens_}, {{"axis", int64_t{2}}});
  const ValueId both = g_.add(OpKind::Stack, {p, scores}, {batch_, 2, tokens_, tokens_}, {{"axis", int64_t{1}}});
  const ValueId v = g_.add(OpKind::Reshape, {pick()}, {batch_, tokens_, kHeads, d});
  const ValueId y =
      g_.add(OpKind::Einsum, {both, v}, {batch_, tokens_, kHeads, d}, {{"equation", std::string("bhts,bshd->bthd")}});
  if (g_.chance(40)) norms_.push_back(norm(y, g_.chance(50) ? 1 : 2));
  return g_.add(OpKind::Reshape, {y}, x_);
}

ValueId RandomModel::attention() {
  const ValueId x = pick();
  const ValueId y = attend(linear(x), linear(x), linear(x));
  return g_.chance(60) ? linear(y) : y;
}

ValueId RandomModel::stacked() {
  const Shape both{batch_, 2, tokens_, kWidth};
  const ValueId s = g_.add(OpKind::Stack, {pick(), pick()}, both, {{"axis", int64_t{1}}});
  if (g_.chance(50)) norms_.push_back(norm(s, 1));
  if (g_.chance(50)) return g_.addMany(OpKind::Unbind, {s}, {x_, x_}, {{"axis", int64_t{1}}})[0];
  return g_.add(OpKind::Select, {s}, x_, {{"axis", int64_t{1}}, {"index", g_.below(2)}});
}

// One value on both sides of a product.
ValueId RandomModel::selfProduct() {
  const ValueId x = pick();
  if (g_.chance(30)) return g_.add(OpKind::Mul, {x, x}, x_);
  const Shape square{batch_, tokens_, tokens_};
  const ValueId turned = g_.add(OpKind::Permute, {x}, {batch_, kWidth, tokens_}, {{"perm", Ints{0, 2, 1}}});
  ValueId scores = g_.add(OpKind::MatMul, {x, turned}, square);
  if (g_.chance(70)) scores = g_.add(OpKind::Softmax, {scores}, square, {{"axis", int64_t{2}}});
  return g_.add(OpKind::MatMul, {scores, x}, x_);
}

}  // namespace normlens::testing
