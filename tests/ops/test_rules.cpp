// Each row of the op table, on random shapes, attributes and patterns: whatever a rule claims has to be true.
#include <gtest/gtest.h>

#include <set>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/ops/rules.h"
#include "tests/support/rule_property.h"

namespace normlens::ops {
namespace {

using graph::Attributes;
using graph::OpKind;
using graph::Shape;
using testing::OneNode;
using testing::oneNode;
using testing::Operand;
using testing::Tensor;
using Ints = std::vector<int64_t>;

constexpr int kCases = 60;

class Draw {
 public:
  explicit Draw(std::mt19937& random) : random_(random) {}
  int64_t below(int64_t end) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(end)); }
  bool coin() { return below(2) == 0; }
  int64_t size() { return std::array<int64_t, 4>{2, 3, 4, 6}[static_cast<size_t>(below(4))]; }
  Shape shape(size_t least, size_t most) {
    Shape out(least + static_cast<size_t>(below(static_cast<int64_t>(most - least + 1))));
    for (int64_t& item : out) item = size();
    return out;
  }
  size_t axis(const Shape& shape) { return static_cast<size_t>(below(static_cast<int64_t>(shape.size()))); }
  // What numpy rules broadcast to `full`.
  Shape part(const Shape& full) {
    Shape out(full.begin() + below(static_cast<int64_t>(full.size()) + 1), full.end());
    for (int64_t& item : out) item = below(3) == 0 ? 1 : item;
    return out;
  }
  Tensor tensor(const Shape& shape) { return testing::randomTensor(shape, random_); }
  // A tensor whose values do not change along some axes, as a gate or mask.
  Tensor flat(const Shape& shape) {
    const Tensor seed = tensor(part(shape));
    Tensor out(shape);
    testing::forEachIndex(shape, [&](const testing::Index& index) { out[index] = seed(index); });
    return out;
  }
  Operand gate(const Shape& shape) {
    switch (below(4)) {
      case 0:
        return Operand::number(0.7);
      case 1:
        return Operand::of(flat(shape));
      case 2:
        return Operand(shape);
      default:
        return Operand(part(shape));
    }
  }
  Operand mask(const Shape& shape) {
    if (coin()) return Operand(part(shape));
    Tensor out = flat(shape);
    for (double& item : out.at) item = item > 0 ? 1 : 0;
    return Operand::of(std::move(out));
  }
  Ints perm(size_t rank) {
    Ints out(rank);
    for (size_t i = 0; i < rank; ++i) out[i] = static_cast<int64_t>(i);
    std::shuffle(out.begin(), out.end(), random_);
    return out;
  }
  Ints someAxes(const Shape& shape) {
    Ints out;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (coin()) out.push_back(static_cast<int64_t>(i));
    }
    if (out.empty()) out.push_back(below(static_cast<int64_t>(shape.size())));
    return out;
  }

 private:
  std::mt19937& random_;
};

Attributes axisAttribute(size_t axis) { return {{"axis", static_cast<int64_t>(axis)}}; }

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

// Of a model input, whose sizes no file fixes, only shifts are followed.
OneNode reshape(Draw& draw) {
  const int64_t a = draw.size(), b = draw.size(), c = draw.size();
  const Shape from = draw.coin() ? Shape{a, b * c} : Shape{a * b, c};
  const Operand x = draw.coin() ? Operand(from) : Operand::of(draw.tensor(from));
  return oneNode(OpKind::Reshape, {x}, {}, {draw.coin() ? Shape{a, b, c} : Shape{a * b * c}});
}
OneNode permute(Draw& draw) {
  const Shape in = draw.shape(2, 4);
  const Ints perm = draw.perm(in.size());
  Shape out;
  for (const int64_t axis : perm) out.push_back(in[static_cast<size_t>(axis)]);
  return oneNode(OpKind::Permute, {in}, {{"perm", perm}}, {out});
}
// Axes cut into factors, which change places, and joined to other axes.
OneNode rearrange(Draw& draw) {
  const int64_t a = draw.size(), b = draw.size(), c = draw.size(), d = draw.size();
  const Ints inner{a, b, c, d}, perm = draw.perm(4);
  const auto moved = [&](size_t i) { return inner[static_cast<size_t>(perm[i])]; };
  const Shape in = draw.coin() ? Shape{a, b * c, d} : Shape{a * b, c * d};
  const Shape out =
      draw.coin() ? Shape{moved(0), moved(1) * moved(2), moved(3)} : Shape{moved(0) * moved(1), moved(2), moved(3)};
  return oneNode(OpKind::Rearrange, {in}, {{"inner", inner}, {"perm", perm}}, {out});
}
OneNode expand(Draw& draw) {
  const Shape out = draw.shape(1, 4);
  return oneNode(OpKind::Expand, {draw.part(out)}, {}, {out});
}

OneNode slice(Draw& draw) {
  Shape in = draw.shape(1, 4);
  const size_t axis = draw.axis(in);
  in[axis] = 8;
  Attributes attributes = axisAttribute(axis);
  Shape out = in;
  if (draw.below(4) == 0) {
    out[axis] = 3;
    attributes.emplace_back("step", int64_t{2});
    attributes.emplace_back("start", draw.below(3));
    return oneNode(OpKind::Slice, {in}, attributes, {out});
  }
  out[axis] = 1 + draw.below(6);
  attributes.emplace_back("step", int64_t{1});
  if (draw.below(4) == 0) return oneNode(OpKind::Slice, {in, Shape{}}, attributes, {out});
  const int64_t start = draw.below(8 - out[axis] + 1);
  attributes.emplace_back("start", start);
  if (draw.below(4) != 0) attributes.emplace_back("end", start + out[axis]);
  return oneNode(OpKind::Slice, {in}, attributes, {out});
}
OneNode select(Draw& draw) {
  const Shape in = draw.shape(2, 4);
  const size_t axis = draw.axis(in);
  Shape out = in;
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis));
  Attributes attributes = axisAttribute(axis);
  if (draw.below(3) == 0) return oneNode(OpKind::Select, {in, Shape{}}, attributes, {out});
  attributes.emplace_back("index", draw.below(in[axis]));
  return oneNode(OpKind::Select, {in}, attributes, {out});
}
OneNode split(Draw& draw) {
  Shape in = draw.shape(1, 4);
  const size_t axis = draw.axis(in);
  in[axis] = 8;
  const std::vector<Ints> parts = {{4, 4}, {2, 2, 4}, {3, 5}, {1, 4, 3}};
  const Ints& sizes = parts[static_cast<size_t>(draw.below(4))];
  std::vector<Shape> outs;
  for (const int64_t part : sizes) {
    outs.push_back(in);
    outs.back()[axis] = part;
  }
  Attributes attributes = axisAttribute(axis);
  if (draw.below(4) != 0) attributes.emplace_back("sizes", sizes);
  return oneNode(OpKind::Split, {in}, attributes, outs);
}
OneNode unbind(Draw& draw) {
  const Shape in = draw.shape(2, 4);
  const size_t axis = draw.axis(in);
  Shape out = in;
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(axis));
  return oneNode(OpKind::Unbind, {in}, axisAttribute(axis), std::vector<Shape>(static_cast<size_t>(in[axis]), out));
}
OneNode concat(Draw& draw) {
  Shape out = draw.shape(1, 4);
  const size_t axis = draw.axis(out);
  std::vector<Operand> parts;
  int64_t total = 0;
  for (int64_t count = 2 + draw.below(2); count > 0; --count) {
    Shape part = out;
    part[axis] = 1 + draw.below(4);
    total += part[axis];
    parts.emplace_back(part);
  }
  out[axis] = total;
  return oneNode(OpKind::Concat, parts, axisAttribute(axis), {out});
}
OneNode stack(Draw& draw) {
  const Shape in = draw.shape(1, 3);
  const auto axis = draw.below(static_cast<int64_t>(in.size()) + 1);
  Shape out = in;
  out.insert(out.begin() + axis, 3);
  return oneNode(OpKind::Stack, {in, in, in}, {{"axis", axis}}, {out});
}
OneNode roll(Draw& draw) {
  const Shape shape = draw.shape(1, 4);
  return oneNode(OpKind::Roll, {shape}, {{"axes", draw.someAxes(shape)}}, {shape});
}
OneNode pad(Draw& draw) {
  const Shape in = draw.shape(1, 3);
  const Ints axes = draw.someAxes(in);
  Ints start;
  Shape out = in;
  for (const int64_t axis : axes) {
    start.push_back(draw.below(4));
    out[static_cast<size_t>(axis)] += start.back() + draw.below(4);
  }
  Attributes attributes{{"axes", axes}, {"start", start}};
  if (draw.below(5) != 0) attributes.emplace_back("value", draw.below(4) == 0 ? 1.0 : 0.0);
  return oneNode(OpKind::Pad, {in}, attributes, {out});
}
OneNode gather(Draw& draw) {
  const Shape in = draw.shape(1, 3);
  const size_t axis = draw.axis(in);
  const Shape index = draw.shape(0, 2);
  Shape out(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(axis));
  out.insert(out.end(), index.begin(), index.end());
  out.insert(out.end(), in.begin() + static_cast<std::ptrdiff_t>(axis) + 1, in.end());
  return oneNode(OpKind::Gather, {in, index}, axisAttribute(axis), {out});
}

// Two neighbouring axes by indices of one shape.
OneNode gatherTogether(Draw& draw) {
  const Shape in = draw.shape(2, 4);
  const size_t axis = draw.axis(Shape(in.begin(), in.end() - 1));
  const Shape index = draw.shape(0, 2);
  const auto first = in.begin() + static_cast<std::ptrdiff_t>(axis);
  Shape out(in.begin(), first);
  out.insert(out.end(), index.begin(), index.end());
  out.insert(out.end(), first + 2, in.end());
  return oneNode(OpKind::Gather, {in, index, index}, {{"axis", static_cast<int64_t>(axis)}, {"count", int64_t{2}}},
                 {out});
}

std::string reduction(Draw& draw) {
  return std::array<std::string, 3>{"none", "add", "mean"}[static_cast<size_t>(draw.below(3))];
}

// Rows by one index, or by two for neighbouring axes; the updates may be broadcast.
OneNode scatterRows(Draw& draw) {
  const auto count = static_cast<std::ptrdiff_t>(1 + draw.below(2));
  const Shape x = draw.shape(static_cast<size_t>(count), 4);
  const auto axis = static_cast<std::ptrdiff_t>(draw.below(static_cast<int64_t>(x.size()) - count + 1));
  const Shape index = draw.shape(0, 2);
  Shape updates(x.begin(), x.begin() + axis);
  updates.insert(updates.end(), index.begin(), index.end());
  updates.insert(updates.end(), x.begin() + axis + count, x.end());
  if (draw.below(3) == 0) updates = draw.part(updates);
  std::vector<Operand> operands{x, draw.below(4) == 0 ? Operand::number(0) : Operand(updates)};
  operands.insert(operands.end(), static_cast<size_t>(count), Operand(index));
  return oneNode(OpKind::Scatter, operands,
                 {{"axis", int64_t{axis}},
                  {"count", int64_t{count}},
                  {"made", static_cast<int64_t>(index.size())},
                  {"reduction", reduction(draw)}},
                 {x});
}

// By an index that is the same along some axes, and may leave out the last positions of others.
OneNode scatterElements(Draw& draw) {
  const Shape x = draw.shape(1, 4);
  const size_t axis = draw.axis(x);
  Shape index = x;
  index[axis] = draw.size();
  for (size_t i = 0; i < x.size(); ++i) {
    if (i != axis && draw.below(6) == 0) index[i] = 1 + draw.below(x[i]);
  }
  Shape updates = index;
  for (int64_t& size : updates) size += draw.below(8) == 0 ? 1 : 0;
  Tensor positions = draw.flat(index);
  for (double& item : positions.at) item = std::fmod(std::floor(std::abs(item) * 100), static_cast<double>(x[axis]));
  return oneNode(OpKind::Scatter,
                 {x, draw.below(4) == 0 ? Operand::number(0) : Operand(updates),
                  draw.below(4) == 0 ? Operand(index) : Operand::of(std::move(positions))},
                 {{"axis", static_cast<int64_t>(axis)}, {"elements", true}, {"reduction", reduction(draw)}}, {x});
}

OneNode maskedCopy(Draw& draw) {
  const Shape full = draw.shape(1, 4);
  Shape source = full;
  if (draw.coin()) source.insert(source.begin(), 2);
  if (draw.below(4) == 0) source.back() += 1;
  return oneNode(OpKind::MaskedCopy, {draw.coin() ? full : draw.part(full), draw.mask(full), source}, {}, {full});
}

OneNode linear(Draw& draw) {
  Shape x = draw.shape(1, 4);
  Shape out(x.begin(), x.end() - 1);
  if (draw.below(6) == 0) return oneNode(OpKind::Linear, {x, Shape{x.back()}}, {}, {out});
  const int64_t made = draw.coin() ? 8 : draw.size();
  out.push_back(made);
  const Operand bias = draw.coin() ? Operand(Shape{made}) : Operand::none();
  return oneNode(OpKind::Linear, {x, Shape{made, x.back()}, bias}, {}, {out});
}

struct Product {
  Shape a, b, out;
};
Product matrices(Draw& draw, int64_t leastRank) {
  const int64_t m = draw.size(), k = draw.size(), n = draw.size();
  Product p{{m, k}, {k, n}, {}};
  if (leastRank < 2 && draw.below(6) == 0) return {{k}, {k, n}, {n}};
  if (leastRank < 2 && draw.below(6) == 0) return {{m, k}, {k}, {m}};
  const Shape batch = draw.shape(0, 2);
  const Shape batchA = draw.coin() ? batch : draw.part(batch);
  const Shape batchB = batchA == batch ? draw.part(batch) : batch;
  p.a.insert(p.a.begin(), batchA.begin(), batchA.end());
  p.b.insert(p.b.begin(), batchB.begin(), batchB.end());
  p.out = batch;
  p.out.insert(p.out.end(), {m, n});
  return p;
}
OneNode matmul(Draw& draw) {
  const Product p = matrices(draw, 1);
  return oneNode(OpKind::MatMul, {p.a, p.b}, {}, {p.out});
}
OneNode addMatmul(Draw& draw) {
  const Product p = matrices(draw, 2);
  return oneNode(OpKind::AddMatMul, {draw.part(p.out), p.a, p.b}, {{"alpha", 0.5}, {"beta", 2.0}}, {p.out});
}
OneNode einsum(Draw& draw) {
  struct Form {
    const char* equation;
    Shape a, b, out;
  };
  const int64_t b = draw.size(), i = draw.size(), j = draw.size(), h = draw.size(), d = draw.size();
  const std::vector<Form> forms = {{"bi,io->bo", {b, i}, {i, j}, {b, j}},
                                   {"bthd,hde->bte", {b, i, h, d}, {h, d, j}, {b, i, j}},
                                   {"bhts,bshd->bthd", {b, h, i, j}, {b, j, h, d}, {b, i, h, d}},
                                   {"bi,bi->bi", {b, i}, {b, i}, {b, i}},
                                   {"ij,j->ji", {i, j}, {j}, {j, i}},
                                   {"bij,jk->bk", {b, i, j}, {j, d}, {b, d}}};
  if (draw.below(5) == 0)
    return oneNode(OpKind::Einsum, {Shape{b, i, j}}, {{"equation", std::string("bij->jb")}}, {{j, b}});
  const Form& form = forms[static_cast<size_t>(draw.below(static_cast<int64_t>(forms.size())))];
  return oneNode(OpKind::Einsum, {form.a, form.b}, {{"equation", std::string(form.equation)}}, {form.out});
}
OneNode convolution(Draw& draw) {
  const int64_t groups = 1 + draw.below(2), in = 2 * groups, out = groups * draw.size();
  const bool transposed = draw.coin();
  const Shape weight = transposed ? Shape{in, out / groups, 3, 3} : Shape{out, in / groups, 3, 3};
  const Operand bias = draw.coin() ? Operand(Shape{out}) : Operand::none();
  return oneNode(OpKind::Conv, {Shape{2, in, 3, 4}, weight, bias}, {{"groups", groups}, {"transposed", transposed}},
                 {{2, out, 3, 4}});
}
OneNode attention(Draw& draw) {
  const int64_t heads = 4, shared = draw.coin() ? 2 : 4, d = draw.size(), dv = draw.size();
  if (draw.coin()) {
    return oneNode(OpKind::Attention, {Shape{2, 3, d}, Shape{2, 5, d}, Shape{2, 5, dv}}, {}, {{2, 3, dv}});
  }
  return oneNode(OpKind::Attention,
                 {Shape{2, heads, 3, d}, Shape{2, shared, 5, d}, Shape{2, shared, 5, dv}, Shape{3, 5}}, {},
                 {{2, heads, 3, dv}});
}

OneNode projectedAttention(Draw& draw) {
  const int64_t d = draw.size(), dv = draw.size(), made = draw.size();
  const Operand bias = draw.coin() ? Operand(Shape{made}) : Operand::none();
  return oneNode(OpKind::Attention, {Shape{2, 3, d}, Shape{2, 5, d}, Shape{2, 5, dv}, Shape{made, dv}, bias},
                 {{"projection", int64_t{3}}}, {{2, 3, made}});
}
OneNode zeros(Draw& draw) {
  const Shape shape = draw.shape(1, 4);
  return oneNode(OpKind::ShapeQuery, {shape}, {{"fill", 0.0}}, {shape});
}

Ints trailing(const Shape& shape, int64_t count) {
  Ints out;
  for (auto i = static_cast<int64_t>(shape.size()) - count; i < static_cast<int64_t>(shape.size()); ++i)
    out.push_back(i);
  return out;
}
OneNode layerNorm(Draw& draw) {
  const Shape x = draw.shape(2, 4);
  const int64_t count = 1 + draw.below(2);
  const Shape tail(x.end() - count, x.end());
  Operand gamma = Operand::none();
  if (draw.coin()) gamma = draw.coin() ? Operand::of(draw.flat(tail)) : Operand(tail);
  const Operand beta = draw.coin() ? Operand(tail) : Operand::none();
  return oneNode(OpKind::LayerNorm, {x, gamma, beta}, {{"axes", trailing(x, count)}, {"eps", 1e-5}}, {x});
}
OneNode channelNorm(Draw& draw, OpKind kind) {
  Shape x = draw.shape(2, 4);
  x[1] = 4;
  const Attributes attributes{{"groups", 1 + draw.below(2)}, {"eps", 1e-5}};
  if (kind == OpKind::BatchNorm) {
    const Shape c{4};
    return oneNode(kind, {x, c, c, c, c}, attributes, {x});
  }
  return oneNode(kind, {x}, attributes, {x});
}
OneNode batchNorm(Draw& draw) {
  OneNode out = channelNorm(draw, OpKind::BatchNorm);
  graph::Node& node = out.graph.nodes.at(static_cast<size_t>(out.node));
  node.attributes.emplace_back("shift_operand", 2 + draw.below(2));
  return out;
}
OneNode rmsNorm(Draw& draw) {
  const Shape x = draw.shape(2, 4);
  return oneNode(OpKind::RmsNorm, {x, Shape{x.back()}}, {{"axes", trailing(x, 1)}, {"eps", 1e-5}}, {x});
}
OneNode softmax(Draw& draw) {
  const Shape x = draw.shape(1, 4);
  return oneNode(OpKind::Softmax, {x}, axisAttribute(draw.axis(x)), {x});
}
OneNode reduce(Draw& draw) {
  const Shape in = draw.shape(2, 4);
  const Ints axes = draw.someAxes(in);
  const bool keepdim = draw.coin();
  Shape out;
  for (size_t i = 0; i < in.size(); ++i) {
    const bool gone = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (!gone) out.push_back(in[i]);
    if (gone && keepdim) out.push_back(1);
  }
  const std::array<std::string, 5> ops{"mean", "sum", "var", "std", "max"};
  return oneNode(OpKind::Reduce, {in},
                 {{"op", ops[static_cast<size_t>(draw.below(5))]}, {"axes", axes}, {"keepdim", keepdim}}, {out});
}
OneNode mix(Draw& draw) {
  const Shape in = draw.shape(2, 4);
  const Ints axes = draw.someAxes(in);
  Shape out = in;
  for (const int64_t axis : axes) out[static_cast<size_t>(axis)] = draw.size();
  return oneNode(OpKind::Mix, {in}, {{"axes", axes}}, {out});
}

struct Row {
  OpKind kind;
  std::function<OneNode(Draw&)> draw;
  bool keepsMeans;  // some zero-mean claim is expected
  bool toleratesShifts;
};

std::vector<Row> rows() {
  const auto by = [](auto make, OpKind kind) { return [make, kind](Draw& draw) { return make(draw, kind); }; };
  return {{OpKind::Opaque, by(unary, OpKind::Opaque), false, false},
          {OpKind::Identity, by(unary, OpKind::Identity), true, true},
          {OpKind::Cast, by(unary, OpKind::Cast), true, true},
          {OpKind::Neg, by(unary, OpKind::Neg), true, true},
          {OpKind::Add, by(sum, OpKind::Add), true, true},
          {OpKind::Sub, by(sum, OpKind::Sub), true, true},
          {OpKind::Mul, by(product, OpKind::Mul), true, true},
          {OpKind::Div, by(product, OpKind::Div), true, true},
          {OpKind::Elementwise, by(unary, OpKind::Elementwise), false, false},
          {OpKind::Where, where, true, true},
          {OpKind::MaskedFill, maskedFill, true, true},
          {OpKind::Reshape, reshape, true, true},
          {OpKind::Permute, permute, true, true},
          {OpKind::Rearrange, rearrange, true, true},
          {OpKind::Expand, expand, true, true},
          {OpKind::Slice, slice, true, true},
          {OpKind::Select, select, true, true},
          {OpKind::Split, split, true, true},
          {OpKind::Unbind, unbind, true, true},
          {OpKind::Concat, concat, true, true},
          {OpKind::Stack, stack, true, true},
          {OpKind::Roll, roll, true, true},
          {OpKind::Pad, pad, true, true},
          {OpKind::Gather, gather, true, true},
          {OpKind::Gather, gatherTogether, true, true},
          {OpKind::Scatter, scatterRows, true, true},
          {OpKind::Scatter, scatterElements, true, true},
          {OpKind::MaskedCopy, maskedCopy, true, true},
          {OpKind::Linear, linear, true, true},
          {OpKind::MatMul, matmul, true, true},
          {OpKind::AddMatMul, addMatmul, true, true},
          {OpKind::Einsum, einsum, true, true},
          {OpKind::Conv, convolution, true, true},
          {OpKind::Attention, attention, true, true},
          {OpKind::Attention, projectedAttention, true, true},
          {OpKind::Recurrent, by(unary, OpKind::Recurrent), false, false},
          {OpKind::LayerNorm, layerNorm, true, true},
          {OpKind::GroupNorm, by(channelNorm, OpKind::GroupNorm), false, true},
          {OpKind::InstanceNorm, by(channelNorm, OpKind::InstanceNorm), false, true},
          {OpKind::BatchNorm, by(channelNorm, OpKind::BatchNorm), false, false},
          {OpKind::BatchNorm, batchNorm, true, true},
          {OpKind::RmsNorm, rmsNorm, false, false},
          {OpKind::Softmax, softmax, false, true},
          {OpKind::Reduce, reduce, true, true},
          {OpKind::Mix, mix, true, true},
          {OpKind::ShapeQuery, by(unary, OpKind::ShapeQuery), false, true},
          {OpKind::ShapeQuery, zeros, true, true}};
}

TEST(Rules, everyRowIsTested) {
  std::set<OpKind> tested;
  for (const Row& row : rows()) tested.insert(row.kind);
  // If and Loop have blocks and a test of their own.
  EXPECT_EQ(tested.size() + 2, static_cast<size_t>(OpKind::Count_));
}

TEST(Rules, claimsHold) {
  std::mt19937 random(2024);
  Draw draw(random);
  for (const Row& row : rows()) {
    testing::ClaimCount claims;
    for (int i = 0; i < kCases; ++i) {
      const auto count = testing::checkRules(row.draw(draw), random, 4);
      claims.zeroMean += count.zeroMean;
      claims.shift += count.shift;
    }
    const auto name = graph::opKindName(row.kind);
    EXPECT_GE(claims.zeroMean, row.keepsMeans ? 5 : 0) << name;
    EXPECT_GE(claims.shift, row.toleratesShifts ? 10 : 0) << name;
    EXPECT_EQ(claims.zeroMean > 0, row.keepsMeans) << name;
    EXPECT_EQ(claims.shift > 0, row.toleratesShifts) << name;
  }
}

}  // namespace
}  // namespace normlens::ops
