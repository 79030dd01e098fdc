#include <algorithm>
#include <stdexcept>

#include "tests/support/reference_ops.h"

namespace normlens::testing {

using graph::OpKind;
using graph::Shape;

namespace {

// y[index] = x[from(index)].
Tensor moved(const Tensor& x, const Shape& shape, const std::function<Index(const Index&)>& from) {
  Tensor out(shape);
  forEachIndex(shape, [&](const Index& index) { out[index] = x(from(index)); });
  return out;
}

int64_t runtimePosition(const Call& call, const char* attribute) {
  if (const auto fixed = graph::intAttribute(call.node, attribute)) return *fixed;
  return static_cast<int64_t>(call.operand(1).at.at(0));
}

// The window [start, start + length * step) of an axis.
Tensor sliced(const Tensor& x, size_t axis, int64_t start, int64_t length, int64_t step) {
  Shape shape = x.shape;
  shape.at(axis) = length;
  return moved(x, shape, [&](Index index) {
    index[axis] = start + index[axis] * step;
    return index;
  });
}

Tensor picked(const Tensor& x, size_t axis, int64_t position) {
  Tensor out = sliced(x, axis, position, 1, 1);
  out.shape.erase(out.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return out;
}

std::vector<Tensor> split(const Call& call) {
  std::vector<Tensor> out;
  int64_t at = 0;
  for (size_t i = 0; i < call.node.outputs.size(); ++i) {
    const int64_t length = call.outShape(i).at(call.axis());
    out.push_back(sliced(call.operand(0), call.axis(), at, length, 1));
    at += length;
  }
  return out;
}

Tensor concatenated(const std::vector<Tensor>& parts, size_t axis) {
  Shape shape = parts.at(0).shape;
  shape.at(axis) = 0;
  for (const Tensor& part : parts) shape[axis] += part.shape.at(axis);
  Tensor out(shape);
  int64_t at = 0;
  for (const Tensor& part : parts) {
    forEachIndex(part.shape, [&](Index index) {
      const double item = part(index);
      index[axis] += at;
      out[index] = item;
    });
    at += part.shape[axis];
  }
  return out;
}

Tensor stacked(std::vector<Tensor> parts, size_t axis) {
  for (Tensor& part : parts) part.shape.insert(part.shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return concatenated(parts, axis);
}

Tensor rolled(const Call& call) {
  const Shape& shape = call.operand(0).shape;
  return moved(call.operand(0), shape, [&](Index index) {
    for (const int64_t axis : call.axes()) {
      auto& at = index[static_cast<size_t>(axis)];
      at = (at + 1) % shape[static_cast<size_t>(axis)];
    }
    return index;
  });
}

// Amounts that a run computes are as much in front as behind.
Tensor padded(const Call& call) {
  auto start = graph::intsAttribute(call.node, "start").value_or(std::vector<int64_t>{});
  const auto fill = graph::floatAttribute(call.node, "value");
  const Tensor& x = call.operand(0);
  Tensor out(call.outShape());
  for (size_t i = start.size(); i < call.axes().size(); ++i) {
    const auto axis = static_cast<size_t>(call.axes()[i]);
    start.push_back((out.shape[axis] - x.shape[axis]) / 2);
  }
  forEachIndex(out.shape, [&](const Index& index) {
    Index from = index;
    bool inside = true;
    for (size_t i = 0; i < start.size(); ++i) {
      const auto axis = static_cast<size_t>(call.axes()[i]);
      from[axis] -= start[i];
      inside = inside && from[axis] >= 0 && from[axis] < x.shape[axis];
      from[axis] = std::clamp<int64_t>(from[axis], 0, x.shape[axis] - 1);
    }
    out[index] = inside || !fill ? x(from) : *fill;
  });
  return out;
}

Tensor gathered(const Call& call) {
  const Tensor& x = call.operand(0);
  const Tensor& positions = call.operand(1);
  const size_t axis = call.axis();
  const auto count = static_cast<size_t>(graph::intAttribute(call.node, "count").value_or(1));
  Shape shape(x.shape.begin(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), positions.shape.begin(), positions.shape.end());
  shape.insert(shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(axis + count), x.shape.end());
  const auto rank = static_cast<std::ptrdiff_t>(positions.shape.size());
  return moved(x, shape, [&](const Index& index) {
    const auto first = index.begin() + static_cast<std::ptrdiff_t>(axis);
    Index from(index.begin(), first);
    for (size_t i = 0; i < count; ++i) {
      from.push_back(static_cast<int64_t>(call.operand(1 + i)(Index(first, first + rank))));
    }
    from.insert(from.end(), first + rank, index.end());
    return from;
  });
}

// What is at a position becomes the update, or takes its part in the sum or mean.
class Written {
 public:
  explicit Written(const Call& call) : reduction_(graph::stringAttribute(call.node, "reduction").value_or("none")) {
    out_ = call.operand(0);
    parts_ = Tensor(out_.shape, 1);
  }
  void write(const Index& at, double update) {
    out_[at] = reduction_ == "none" ? update : out_[at] + update;
    parts_[at] += 1;
  }
  Tensor take() {
    for (size_t i = 0; i < out_.at.size() && reduction_ == "mean"; ++i) out_.at[i] /= parts_.at[i];
    return std::move(out_);
  }

 private:
  std::string reduction_;
  Tensor out_, parts_;
};

Tensor scatteredRows(const Call& call) {
  const auto axis = static_cast<std::ptrdiff_t>(call.axis());
  const auto count = graph::intAttribute(call.node, "count").value_or(1);
  const auto made = graph::intAttribute(call.node, "made").value();
  const Shape& x = call.operand(0).shape;
  const Shape& positions = call.operand(2).shape;
  Shape full(x.begin(), x.begin() + axis);  // to which the updates broadcast
  full.insert(full.end(), positions.begin(), positions.end());
  full.insert(full.end(), x.begin() + axis + count, x.end());
  Written written(call);
  forEachIndex(full, [&](const Index& index) {
    const auto first = index.begin() + axis;
    Index to(index.begin(), first);
    for (int64_t i = 0; i < count; ++i)
      to.push_back(static_cast<int64_t>(call.operand(2 + static_cast<size_t>(i))(Index(first, first + made))));
    to.insert(to.end(), first + made, index.end());
    written.write(to, call.operand(1)(index));
  });
  return written.take();
}

Tensor scatteredElements(const Call& call) {
  Written written(call);
  forEachIndex(call.operand(2).shape, [&](const Index& at) {
    Index to = at;
    to[call.axis()] = static_cast<int64_t>(call.operand(2)(at));
    written.write(to, call.operand(1)(call.operand(1).shape.empty() ? Index{} : at));
  });
  return written.take();
}

Tensor scatteredByMask(const Call& call) {
  Tensor out(call.outShape());
  size_t next = 0;
  const auto& source = call.operand(2).at;
  forEachIndex(out.shape, [&](const Index& at) {
    const bool taken = call.operand(1)(at) != 0 && next < source.size();
    out[at] = taken ? source[next++] : call.operand(0)(at);
  });
  return out;
}

Tensor permuted(const Tensor& x, const std::vector<int64_t>& perm) {
  Shape shape;
  for (const int64_t axis : perm) shape.push_back(x.shape.at(static_cast<size_t>(axis)));
  return moved(x, shape, [&](const Index& index) {
    Index from(index.size());
    for (size_t i = 0; i < perm.size(); ++i) from[static_cast<size_t>(perm[i])] = index[i];
    return from;
  });
}

Tensor reshaped(Tensor x, const Shape& shape) {
  x.shape = shape;
  if (sizeOf(shape) != static_cast<int64_t>(x.at.size())) throw std::logic_error("reshape changes the size");
  return x;
}

Tensor rearranged(const Call& call, const std::vector<int64_t>& perm) {
  const auto inner = graph::intsAttribute(call.node, "inner").value();
  return reshaped(permuted(reshaped(call.operand(0), inner), perm), call.outShape());
}

std::vector<Tensor> unbound(const Call& call) {
  std::vector<Tensor> out;
  for (size_t i = 0; i < call.node.outputs.size(); ++i) {
    out.push_back(picked(call.operand(0), call.axis(), static_cast<int64_t>(i)));
  }
  return out;
}

}  // namespace

std::vector<Tensor> shapeOp(const Call& call) {
  const auto step = graph::intAttribute(call.node, "step").value_or(1);
  switch (call.node.kind) {
    case OpKind::Reshape:
      return {reshaped(call.operand(0), call.outShape())};
    case OpKind::Permute:
      return {permuted(call.operand(0), graph::intsAttribute(call.node, "perm").value())};
    case OpKind::Rearrange:
      return {rearranged(call, graph::intsAttribute(call.node, "perm").value())};
    case OpKind::Expand:
      return {moved(call.operand(0), call.outShape(), [](const Index& index) { return index; })};
    case OpKind::Slice:
      return {
          sliced(call.operand(0), call.axis(), runtimePosition(call, "start"), call.outShape().at(call.axis()), step)};
    case OpKind::Select:
      return {picked(call.operand(0), call.axis(), runtimePosition(call, "index"))};
    case OpKind::Split:
      return split(call);
    case OpKind::Unbind:
      return unbound(call);
    case OpKind::Concat:
      return {concatenated(call.operands, call.axis())};
    case OpKind::Stack:
      return {stacked(call.operands, call.axis())};
    case OpKind::Roll:
      return {rolled(call)};
    case OpKind::Pad:
      return {padded(call)};
    case OpKind::Gather:
      return {gathered(call)};
    case OpKind::Scatter:
      return {graph::boolAttribute(call.node, "elements") ? scatteredElements(call) : scatteredRows(call)};
    case OpKind::MaskedCopy:
      return {scatteredByMask(call)};
    default:
      throw std::logic_error("no shape op");
  }
}

}  // namespace normlens::testing
