#include "tests/support/random_graph.h"

#include <algorithm>

#include "tests/support/graph_builder.h"

namespace normlens::testing {
namespace {

using graph::Attributes;
using graph::DType;
using graph::Graph;
using graph::kNoValue;
using graph::OpKind;
using graph::Shape;
using graph::ValueId;

// The model that randomModel() makes, and its steps: each makes a new stream [batch, tokens, width].
class RandomModel {
 public:
  RandomModel(unsigned seed, const ModelSize& size)
      : g_(seed), batch_(size.batch), tokens_(size.tokens), ones_(size.ones), x_{batch_, tokens_, kWidth} {}

  Graph build(int steps) {
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

 private:
  using Ints = std::vector<int64_t>;
  using Step = ValueId (RandomModel::*)();

  static constexpr int64_t kWidth = 8;
  static constexpr int64_t kHeads = 2;
  static constexpr int64_t kPositions = 7;
  static constexpr int64_t kRows = 5;

  [[nodiscard]] int64_t count() const { return static_cast<int64_t>(streams_.size()); }
  ValueId equal(const Shape& shape) { return g_.constant(Tensor(shape, 0.5 + static_cast<double>(g_.below(3)))); }
  ValueId maybe(ValueId value) { return g_.chance(60) ? value : graph::kNoValue; }
  [[nodiscard]] static Shape with(Shape shape, size_t axis, int64_t size) {
    shape.at(axis) = size;
    return shape;
  }
  ValueId layerNorm(ValueId x) { return g_.chance(25) ? writtenOutNorm(x) : norm(x, 1); }
  ValueId plainLinear() { return linear(pick()); }
  ValueId normalized() { return layerNorm(pick()); }
  ValueId activation() { return g_.add(graph::OpKind::Elementwise, {pick()}, x_, {}, "aten::gelu"); }
  ValueId table() { return embedding(); }
  ValueId opaque() { return g_.add(graph::OpKind::Opaque, {pick()}, x_, {}, "aten::sort"); }
  ValueId scaled() { return g_.add(graph::OpKind::Div, {pick(), g_.number(2)}, x_); }
  ValueId shuffled() { return shuffle(pick()); }

  ValueId sized(const Shape& shape, const Shape& declared) {
    const ValueId made = g_.input(shape);
    g_.graph().values[static_cast<size_t>(made)].declared = declared;
    return made;
  }

  ValueId pick() {
    // Mostly one of the newest.
    const auto back = g_.chance(70) ? g_.below(std::min<int64_t>(3, count())) : g_.below(count());
    return streams_[static_cast<size_t>(count() - 1 - back)];
  }

  // A new tensor, or now and then one that is there already.
  ValueId tied(const Shape& shape) {
    std::vector<ValueId> same;
    for (const ValueId value : constants_) {
      if (g_.shape(value) == shape) same.push_back(value);
    }
    if (!same.empty() && g_.chance(15)) return same[static_cast<size_t>(g_.below(static_cast<int64_t>(same.size())))];
    constants_.push_back(g_.weight(shape));
    return constants_.back();
  }

  ValueId start() {
    switch (g_.below(4)) {
      case 0:
        return image_;
      case 1:
        return linear(image_);
      default:
        return embedding();
    }
  }

  ValueId embedding() {
    if (table_ == kNoValue || g_.chance(30)) table_ = tied({kRows, kWidth});
    return g_.add(OpKind::Gather, {table_, ids_}, x_, {{"axis", int64_t{0}}});
  }

  ValueId linear(ValueId x) {
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

  ValueId gamma(const Shape& shape) {
    const auto kind = g_.below(4);
    return kind == 0 ? kNoValue : kind == 1 ? equal(shape) : tied(shape);
  }

  ValueId beta(const Shape& shape) {
    const auto kind = g_.below(5);
    if (kind == 0) return g_.constant(Tensor(shape));
    return kind == 1 ? kNoValue : kind == 2 ? equal(shape) : tied(shape);
  }

  ValueId norm(ValueId x, int64_t axes) {
    const Shape shape = g_.shape(x);  // a copy: values move as the graph grows
    const Shape tail(shape.end() - axes, shape.end());
    Ints list;
    for (auto i = static_cast<int64_t>(shape.size()) - axes; i < static_cast<int64_t>(shape.size()); ++i)
      list.push_back(i);
    // Over tokens as well: no tensors of a size that changes with the input's.
    const bool affine = axes == 1;
    const ValueId scale = affine ? gamma(tail) : kNoValue;
    return g_.add(OpKind::LayerNorm, {x, scale, affine ? beta(tail) : kNoValue}, shape,
                  {{"axes", list}, {"eps", 1e-5}});
  }

  ValueId meanOf(ValueId x, const std::string& op = "mean", size_t axis = 2) {
    return g_.add(OpKind::Reduce, {x}, with(g_.shape(x), axis, 1),
                  {{"op", op}, {"axes", Ints{static_cast<int64_t>(axis)}}, {"keepdim", true}, {"unbiased", false}});
  }

  ValueId writtenOutNorm(ValueId x) {
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

  ValueId anyStep() {
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
  void finish() {
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

  // Steps along the channels.

  ValueId residualBlock() {
    const ValueId x = pick();
    const ValueId n = layerNorm(x);
    ValueId y = linear(g_.chance(30) ? shuffle(n) : n);
    if (g_.chance(30)) y = g_.add(OpKind::Mul, {y, linear(n)}, x_);
    if (g_.chance(50)) y = linear(g_.add(OpKind::Elementwise, {y}, x_, {}, "aten::gelu"));
    return g_.add(OpKind::Add, {x, y}, x_);
  }

  ValueId sumOfTwo() {
    const OpKind kind = g_.chance(70) ? OpKind::Add : OpKind::Sub;
    return g_.add(kind, {pick(), pick()}, x_, g_.chance(20) ? Attributes{{"alpha", 0.5}} : Attributes{});
  }

  ValueId gate(ValueId from) {
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

  ValueId gated() {
    const ValueId x = pick();
    const ValueId by = gate(pick());
    return g_.chance(50) ? g_.add(OpKind::Mul, {x, by}, x_) : g_.add(OpKind::Mul, {by, x}, x_);
  }

  ValueId layerScale() {
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
  ValueId constantRows() {
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
  ValueId sameForAllChannels() {
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

  ValueId perToken() { return g_.add(OpKind::Linear, {pick(), tied({1, kWidth}), maybe(tied({1}))}, with(x_, 2, 1)); }

  // What is the same for all channels goes away with the mean.
  ValueId droppedAddend() {
    const ValueId addend = sameForAllChannels();
    // Others read it as well.
    if (g_.chance(20)) streams_.push_back(g_.add(OpKind::Mul, {pick(), addend}, x_));
    if (g_.chance(20)) streams_.push_back(g_.add(OpKind::Add, {addend, pick()}, x_));
    if (g_.chance(20)) return g_.add(OpKind::Sub, {addend, pick()}, x_);
    return g_.add(g_.chance(70) ? OpKind::Add : OpKind::Sub, {pick(), addend}, x_);
  }

  // Two halves of the channels, made apart and put together.
  ValueId halves() {
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
  ValueId partOfChannels() {
    const ValueId x = pick();
    const int64_t width = g_.chance(70) ? kWidth / 2 : 3;
    const int64_t from = g_.chance(50) ? 0 : kWidth - width;
    const Shape part{batch_, tokens_, width};
    const ValueId slice =
        g_.add(OpKind::Slice, {x}, part, {{"axis", int64_t{2}}, {"start", from}, {"step", int64_t{1}}});
    norms_.push_back(norm(slice, 1));
    if (g_.chance(50)) return x;
    return g_.add(OpKind::Linear, {norms_.back(), tied({kWidth, width}), kNoValue}, x_);
  }

  ValueId positive(const Shape& shape) {
    Tensor out(shape);
    for (double& number : out.at) number = 0.25 * static_cast<double>(1 + g_.below(8));
    return g_.constant(out);
  }

  ValueId centered() {
    const ValueId x = pick();
    const size_t axis = g_.chance(75) ? 2 : 1;
    return g_.add(OpKind::Sub, {x, meanOf(x, "mean", axis)}, x_,
                  g_.chance(15) ? Attributes{{"alpha", 0.5}} : Attributes{});
  }

  // x - mean(x), and the mean is read by somebody else as well.
  ValueId leakedMean() {
    const ValueId x = pick();
    const ValueId mean = meanOf(x);
    streams_.push_back(g_.add(OpKind::Sub, {x, mean}, x_));
    return g_.add(OpKind::Add, {pick(), g_.add(OpKind::Elementwise, {mean}, with(x_, 2, 1), {}, "aten::gelu")}, x_);
  }

  ValueId cast() {
    const ValueId x = pick();
    if (g_.chance(40)) return g_.add(OpKind::Cast, {x}, x_);
    const ValueId narrow = g_.add(OpKind::Cast, {x}, x_, {}, "", DType::Float32);
    return g_.add(OpKind::Cast, {narrow}, x_);
  }

  // Steps with heads.

  ValueId perHeadNorm() {
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
  ValueId scaledSum() {
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
  ValueId fusedSplit() {
    const ValueId x = pick();
    const ValueId all = g_.add(OpKind::Linear, {x, tied({3 * kWidth, kWidth}), maybe(tied({3 * kWidth}))},
                               {batch_, tokens_, 3 * kWidth});
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

  ValueId attend(ValueId q, ValueId k, ValueId v) {
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
  ValueId sharedHeads() {
    const int64_t d = kWidth / kHeads;
    const ValueId x = pick();
    const ValueId q = g_.add(OpKind::Reshape, {linear(x)}, {batch_, tokens_, kHeads, d});
    std::vector<ValueId> parts{
        g_.add(OpKind::Permute, {q}, {batch_, kHeads, tokens_, d}, {{"perm", Ints{0, 2, 1, 3}}})};
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
  ValueId mixedHeads() {
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

  ValueId attention() {
    const ValueId x = pick();
    const ValueId y = attend(linear(x), linear(x), linear(x));
    return g_.chance(60) ? linear(y) : y;
  }

  ValueId stacked() {
    const Shape both{batch_, 2, tokens_, kWidth};
    const ValueId s = g_.add(OpKind::Stack, {pick(), pick()}, both, {{"axis", int64_t{1}}});
    if (g_.chance(50)) norms_.push_back(norm(s, 1));
    if (g_.chance(50)) return g_.addMany(OpKind::Unbind, {s}, {x_, x_}, {{"axis", int64_t{1}}})[0];
    return g_.add(OpKind::Select, {s}, x_, {{"axis", int64_t{1}}, {"index", g_.below(2)}});
  }

  // One value on both sides of a product.
  ValueId selfProduct() {
    const ValueId x = pick();
    if (g_.chance(30)) return g_.add(OpKind::Mul, {x, x}, x_);
    const Shape square{batch_, tokens_, tokens_};
    const ValueId turned = g_.add(OpKind::Permute, {x}, {batch_, kWidth, tokens_}, {{"perm", Ints{0, 2, 1}}});
    ValueId scores = g_.add(OpKind::MatMul, {x, turned}, square);
    if (g_.chance(70)) scores = g_.add(OpKind::Softmax, {scores}, square, {{"axis", int64_t{2}}});
    return g_.add(OpKind::MatMul, {scores, x}, x_);
  }

  // Steps along the tokens.

  ValueId positions() {
    const ValueId table = tied({kPositions, kWidth});
    const ValueId rows = g_.add(OpKind::Slice, {table}, {tokens_, kWidth},
                                {{"axis", int64_t{0}}, {"start", int64_t{0}}, {"step", int64_t{1}}});
    return g_.add(OpKind::Add, {pick(), rows}, x_);
  }

  ValueId clsToken() {
    const ValueId cls = g_.add(OpKind::Expand, {tied({1, 1, kWidth})}, {batch_, 1, kWidth});
    const ValueId all = g_.add(OpKind::Concat, {cls, pick()}, {batch_, tokens_ + 1, kWidth}, {{"axis", int64_t{1}}});
    if (g_.chance(50)) norms_.push_back(norm(all, 1));
    const int64_t from = g_.below(2);
    return g_.add(OpKind::Slice, {all}, x_, {{"axis", int64_t{1}}, {"start", from}, {"step", int64_t{1}}});
  }

  // A weight on the left: mixes channels of the turned stream.
  ValueId tokenMixing() {
    const Shape turned{batch_, kWidth, tokens_};
    const ValueId z = g_.add(OpKind::Permute, {pick()}, turned, {{"perm", Ints{0, 2, 1}}});
    ValueId y = g_.add(OpKind::MatMul, {tied({kWidth, kWidth}), z}, turned);
    if (g_.chance(30)) y = g_.add(OpKind::Add, {y, tied({kWidth, 1})}, turned);
    return g_.add(OpKind::Permute, {y}, x_, {{"perm", Ints{0, 2, 1}}});
  }

  ValueId tokenMean() {
    const ValueId mean = meanOf(pick(), g_.chance(50) ? "mean" : "sum", 1);
    if (g_.chance(30)) norms_.push_back(norm(mean, 1));
    return g_.add(OpKind::Add, {pick(), mean}, x_);
  }

  ValueId shuffle(ValueId x) {
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
        return g_.add(OpKind::Slice, {padded}, x_,
                      {{"axis", int64_t{1}}, {"start", g_.below(3)}, {"step", int64_t{1}}});
      }
    }
  }

  ValueId convolved() {
    const Shape turned{batch_, kWidth, tokens_};
    ValueId z = g_.add(OpKind::Permute, {pick()}, turned, {{"perm", Ints{0, 2, 1}}});
    const int64_t groups = g_.chance(60) ? 1 : (g_.chance(50) ? 2 : kWidth);
    z = g_.add(OpKind::Conv, {z, tied({kWidth, kWidth / groups, 3}), maybe(tied({kWidth}))}, turned,
               {{"groups", groups}});
    if (g_.chance(20)) z = g_.add(OpKind::Mul, {z, tied({kWidth, 1})}, turned);
    return g_.add(OpKind::Permute, {z}, x_, {{"perm", Ints{0, 2, 1}}});
  }

  ValueId batchNormed() {
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

  ValueId normOverTokens() {
    norms_.push_back(norm(pick(), 2));
    return g_.chance(50) ? norms_.back() : pick();
  }

  // A norm over the tokens, per channel.
  ValueId perTokenNorms() {
    const Shape turned{batch_, kWidth, tokens_};
    const ValueId z = g_.add(OpKind::Permute, {pick()}, turned, {{"perm", Ints{0, 2, 1}}});
    const ValueId y = g_.add(OpKind::LayerNorm, {z, kNoValue, kNoValue}, turned, {{"axes", Ints{2}}, {"eps", 1e-5}});
    return g_.add(OpKind::Permute, {y}, x_, {{"perm", Ints{0, 2, 1}}});
  }

  ValueId groupNorm() {
    const Shape rows{batch_ * tokens_, kWidth};
    const ValueId flat = g_.add(OpKind::Reshape, {pick()}, rows);
    const ValueId y = g_.add(OpKind::GroupNorm, {flat, maybe(tied({kWidth})), kNoValue}, rows,
                             {{"groups", 1 + g_.below(2)}, {"eps", 1e-5}});
    return g_.add(OpKind::Reshape, {y}, x_);
  }

  // Steps with blocks of their own.

  ValueId masked() {
    const ValueId x = pick();
    if (g_.chance(30)) return maskedBy(g_.add(OpKind::Elementwise, {x, g_.number(0.5)}, x_, {}, "aten::greater"));
    return maskedBy(g_.add(OpKind::Elementwise, {meanOf(x, "max"), g_.number(1)}, with(x_, 2, 1), {}, "aten::greater"));
  }

  ValueId maskedBy(ValueId mask) {
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

  ValueId branch() {
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

  ValueId loop() {
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
  ValueId innerStep() {
    static const std::vector<Step> kSteps = {
        &RandomModel::residualBlock, &RandomModel::residualBlock, &RandomModel::sumOfTwo,
        &RandomModel::plainLinear,   &RandomModel::normalized,    &RandomModel::gated,
        &RandomModel::activation,    &RandomModel::table,         &RandomModel::centered,
        &RandomModel::layerScale,    &RandomModel::droppedAddend, &RandomModel::branch};
    const size_t norms = norms_.size();
    const ValueId made = (this->*kSteps[static_cast<size_t>(g_.below(static_cast<int64_t>(kSteps.size())))])();
    norms_.resize(norms);
    return made;
  }

  void leave(graph::BlockId before, size_t streams) {
    g_.enter(before);
    streams_.resize(streams);
  }

  GraphBuilder g_;
  int64_t batch_;
  int64_t tokens_;
  int64_t ones_;
  Shape x_;
  ValueId image_ = graph::kNoValue;
  ValueId ids_ = graph::kNoValue;
  ValueId flag_ = graph::kNoValue;
  ValueId trips_ = graph::kNoValue;
  std::vector<ValueId> gates_;
  ValueId table_ = graph::kNoValue;
  std::vector<ValueId> streams_;
  std::vector<ValueId> norms_;  // outputs of norms that nothing else reads
  std::vector<ValueId> constants_;
};

}  // namespace

Graph randomModel(unsigned seed, const ModelSize& size, int steps) { return RandomModel(seed, size).build(steps); }

}  // namespace normlens::testing
