#include "core/analysis/claims/channel_scale.h"

#include <algorithm>
#include <numeric>

#include "core/analysis/norms/constant_behind.h"
#include "core/ops/axis_size.h"
#include "core/ops/index_maps.h"

namespace normlens::analysis {

using graph::Graph;
using graph::kNoValue;
using graph::Node;
using graph::Shape;
using graph::ValueId;

namespace {

// More are no channels, but a file that is to take up memory.
constexpr int64_t kMostFactors = 1 << 20;

bool areFixedFrom(const Graph& graph, ValueId value, size_t first) {
  for (size_t axis = first; axis < ops::shapeOf(graph, value)->size(); ++axis) {
    if (!ops::isSizeFixed(graph, value, axis)) return false;
  }
  return true;
}

// The last axes with so many elements.
std::optional<size_t> lastAxesOf(const Shape& shape, int64_t elements) {
  int64_t count = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    count *= std::max<int64_t>(shape[axis], 1);
    if (count == elements) return axis;
    if (count > elements) break;
  }
  return std::nullopt;
}

// One factor per element of the axes of `shape` from `first` on.
std::vector<double> writtenOut(const ChannelScale& scale, const Shape& shape, size_t first, int64_t elements) {
  std::vector<double> numbers(static_cast<size_t>(elements));
  for (int64_t i = 0; i < elements; ++i) {
    std::vector<int64_t> index(shape.size(), 0);
    int64_t rest = i;
    for (size_t axis = shape.size(); axis-- > first;) {
      index[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    int64_t at = 0;
    for (size_t k = 0; k < scale.axes.size(); ++k) at = at * scale.sizes[k] + index[static_cast<size_t>(scale.axes[k])];
    numbers[static_cast<size_t>(i)] = scale.numbers[static_cast<size_t>(at)];
  }
  return numbers;
}

}  // namespace

std::optional<ChannelScale> channelScale(const Graph& graph, ValueId operand, ValueId data) {
  const ValueId held = constantInView(graph, operand);
  const Shape* shape = ops::shapeOf(graph, operand);
  const Shape* full = ops::shapeOf(graph, data);
  if (held == kNoValue || shape == nullptr || full == nullptr || shape->size() > full->size()) return std::nullopt;
  const auto& view = graph.constant(graph.value(held).constant).view;
  if (!graph::isFloat(view.dtype)) return std::nullopt;
  ChannelScale scale;
  for (size_t i = 0; i < shape->size(); ++i) {
    if ((*shape)[i] == 1) continue;
    const size_t axis = i + full->size() - shape->size();
    if ((*shape)[i] != (*full)[axis]) return std::nullopt;
    scale.axes.push_back(static_cast<int64_t>(axis));
    scale.sizes.push_back((*shape)[i]);
  }
  if (scale.axes.empty()) return std::nullopt;
  auto numbers = graph::toDoubles(view);
  if (!numbers) return std::nullopt;
  scale.numbers = std::move(*numbers);
  return scale;
}

std::optional<ChannelScale> beforePermute(const Node& permute, ChannelScale scale) {
  const auto perm = graph::intsAttribute(permute, "perm");
  if (!perm) return std::nullopt;
  for (int64_t& axis : scale.axes) axis = perm->at(static_cast<size_t>(axis));
  return scale;
}

// The last axes of both, of which the file fixes the sizes, hold the same elements at every size of the others.
std::optional<ChannelScale> beforeReshape(const Graph& graph, const Node& reshape, const ChannelScale& scale) {
  const Shape* in = ops::shapeOf(graph, reshape.operands[0]);
  const Shape* out = ops::shapeOf(graph, reshape.outputs[0]);
  if (in == nullptr || out == nullptr) return std::nullopt;
  const auto outermost = static_cast<size_t>(*std::ranges::min_element(scale.axes));
  int64_t elements = 1;
  for (size_t last = out->size(); last-- > 0;) {
    if ((*out)[last] < 1 || (*out)[last] > kMostFactors / elements) return std::nullopt;
    elements *= (*out)[last];
    const auto first = last > outermost ? std::nullopt : lastAxesOf(*in, elements);
    if (!first) continue;
    if (!areFixedFrom(graph, reshape.outputs[0], last) || !areFixedFrom(graph, reshape.operands[0], *first))
      return std::nullopt;
    ChannelScale before;
    for (size_t axis = *first; axis < in->size(); ++axis) {
      if ((*in)[axis] == 1) continue;
      before.axes.push_back(static_cast<int64_t>(axis));
      before.sizes.push_back((*in)[axis]);
    }
    before.numbers = writtenOut(scale, *out, last, elements);
    return before;
  }
  return std::nullopt;
}

std::optional<ChannelScale> ofOperand(const Shape& result, const Shape& operand, ChannelScale scale) {
  for (int64_t& axis : scale.axes) {
    const int64_t size = result.at(static_cast<size_t>(axis));
    axis -= static_cast<int64_t>(result.size()) - static_cast<int64_t>(operand.size());
    if (axis < 0 || operand[static_cast<size_t>(axis)] != size) return std::nullopt;
  }
  return scale;
}

}  // namespace normlens::analysis
