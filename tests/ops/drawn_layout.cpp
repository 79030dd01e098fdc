// Ops that move, cut, join, look up and write elements.
#include <cmath>

#include "tests/ops/drawn_nodes.h"

namespace normlens::ops {

using graph::Attributes;
using graph::OpKind;
using graph::Shape;
using testing::OneNode;
using testing::oneNode;
using testing::Operand;
using testing::Tensor;
using Ints = std::vector<int64_t>;

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
  const bool written = draw.below(4) != 0;
  for (const int64_t axis : axes) {
    int64_t& size = out[static_cast<size_t>(axis)];
    start.push_back(draw.below(4));
    size = written ? size + start.back() + draw.below(4) : 1 + draw.below(size + 4);
  }
  Attributes attributes{{"axes", axes}};
  if (written) attributes.emplace_back("start", start);
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

namespace {

std::string reduction(Draw& draw) {
  return std::array<std::string, 3>{"none", "add", "mean"}[static_cast<size_t>(draw.below(3))];
}

}  // namespace

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
                 {Operand::declaring(x), draw.below(4) == 0 ? Operand::number(0) : Operand::declaring(updates),
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

}  // namespace normlens::ops
