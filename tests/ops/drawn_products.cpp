// Matrix products, convolutions, attention, norms and reductions.
#include "tests/ops/drawn_nodes.h"

namespace normlens::ops {

using graph::Attributes;
using graph::OpKind;
using graph::Shape;
using testing::OneNode;
using testing::oneNode;
using testing::Operand;
using Ints = std::vector<int64_t>;

OneNode linear(Draw& draw) {
  Shape x = draw.shape(1, 4);
  Shape out(x.begin(), x.end() - 1);
  if (draw.below(6) == 0) return oneNode(OpKind::Linear, {x, Shape{x.back()}}, {}, {out});
  const int64_t made = draw.coin() ? 8 : draw.size();
  out.push_back(made);
  const Operand bias = draw.coin() ? Operand(Shape{made}) : Operand::none();
  return oneNode(OpKind::Linear, {x, Shape{made, x.back()}, bias}, {}, {out});
}

namespace {

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

}  // namespace

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

namespace {

Ints trailing(const Shape& shape, int64_t count) {
  Ints out;
  for (auto i = static_cast<int64_t>(shape.size()) - count; i < static_cast<int64_t>(shape.size()); ++i)
    out.push_back(i);
  return out;
}

}  // namespace

OneNode lastAxesNorm(Draw& draw, OpKind kind) {
  const Shape x = draw.shape(2, 4);
  const int64_t count = 1 + draw.below(2);
  const Shape tail(x.end() - count, x.end());
  Operand gamma = Operand::none();
  if (draw.coin()) gamma = draw.coin() ? Operand::of(draw.flat(tail)) : Operand(tail);
  const Operand beta = draw.coin() ? Operand(tail) : Operand::none();
  return oneNode(kind, {x, gamma, beta}, {{"axes", trailing(x, count)}, {"eps", 1e-5}}, {x});
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

}  // namespace normlens::ops
