#include "core/formats/onnx/edit/apply_centering.h"

#include <algorithm>
#include <limits>

#include "core/formats/centering_axes.h"

namespace normlens::formats::onnx {
namespace {

using ops::Factor;
constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

class CenteringCode {
 public:
  CenteringCode(NodeMaker& nodes, ops::FactorsPerDim axes) : nodes_(nodes), axes_(std::move(axes)) {
    for (const auto& factors : axes_) flat_.insert(flat_.end(), factors.begin(), factors.end());
  }

  std::string emit(const std::string& x) {
    if (flat_.size() == axes_.size()) return centerFrom(x, 0);
    const std::string shape = nodes_.add("Shape", {x});
    std::string y = x;
    // Last axis first: the axes before it keep their places.
    for (size_t axis = axes_.size(); axis-- > 0;) {
      if (axes_[axis].size() > 1) y = nodes_.add("Reshape", {y, cutShape(y, axis)});
    }
    return nodes_.add("Reshape", {centerFrom(y, 0), shape});
  }

 private:
  // The shape of `x` with this axis cut into its factors; 0 copies a size.
  std::string cutShape(const std::string& x, size_t axis) {
    std::vector<int64_t> sizes(axis, 0);
    for (const Factor& factor : axes_[axis]) sizes.push_back(factor.summed ? factor.size : -1);
    if (axis + 1 == axes_.size()) return nodes_.ints(sizes);
    const std::string rest = nodes_.slice(nodes_.add("Shape", {x}), 0, static_cast<int64_t>(axis) + 1, kEnd);
    return nodes_.concat({nodes_.ints(sizes), rest}, 0);
  }

  // Cuts the region out axis by axis, from `next` on, and centers what is left.
  std::string centerFrom(const std::string& x, size_t next) {
    while (next < flat_.size() && flat_[next].whole()) ++next;
    if (next == flat_.size()) return subtractMean(x);
    const Factor& factor = flat_[next];
    const auto axis = axisNumber(next);
    const bool toTheEnd = factor.end == factor.size;
    std::vector<std::string> pieces;
    if (factor.begin > 0) pieces.push_back(nodes_.slice(x, axis, 0, factor.begin));
    pieces.push_back(centerFrom(nodes_.slice(x, axis, factor.begin, toTheEnd ? kEnd : factor.end), next + 1));
    if (!toTheEnd) pieces.push_back(nodes_.slice(x, axis, factor.end, kEnd));
    return pieces.size() == 1 ? pieces[0] : nodes_.concat(pieces, axis);
  }

  std::string subtractMean(const std::string& x) {
    std::vector<int64_t> axes;
    for (size_t i = 0; i < flat_.size(); ++i) {
      if (flat_[i].summed) axes.push_back(axisNumber(i));
    }
    return nodes_.add("Sub", {x, nodes_.reduceMean(x, axes)});
  }

  // From the end, where the file's version of the operators can say so.
  [[nodiscard]] int64_t axisNumber(size_t i) const {
    return static_cast<int64_t>(i) - (nodes_.opset() >= 11 ? static_cast<int64_t>(flat_.size()) : 0);
  }

  NodeMaker& nodes_;
  ops::FactorsPerDim axes_;
  std::vector<Factor> flat_;
};

// A node (null: the end) of a body.
struct Point {
  Body* body = nullptr;
  NodeProto* node = nullptr;
};

// From the read outwards: the nodes that hold it.
std::vector<Point> pointsAround(const ReadSite& read) {
  std::vector<Point> out{{read.body, read.node}};
  for (Body* body = read.body; body->outer != nullptr && !body->function; body = body->outer) {
    out.push_back({body->outer, body->owner});
  }
  return out;
}

size_t placeOf(const Point& point) {
  return point.node == nullptr ? point.body->nodes.size() : static_cast<size_t>(point.body->place.at(point.node));
}

// The last point from which all reads can be served: before the earliest of them, in the innermost common body.
Point pointBefore(const std::vector<ReadSite>& reads) {
  for (const Point& candidate : pointsAround(reads[0])) {
    Point first = candidate;
    bool all = true;
    for (const auto& read : reads) {
      const auto points = pointsAround(read);
      const auto in = std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.body == first.body; });
      all = all && in != points.end();
      if (all && placeOf(*in) < placeOf(first)) first = *in;
    }
    if (all) return first;
  }
  throw EditRefused("a centering at run time has no place before all its uses");
}

}  // namespace

std::string centeredValue(NodeMaker& nodes, const std::string& x, const graph::Shape& shape,
                          const ops::Pattern& pattern) {
  return CenteringCode(nodes, centeringAxes(pattern, shape)).emit(x);
}

void insertCentering(EditableModel& model, const std::vector<ReadSite>& reads, int opset, const graph::Shape& shape,
                     const ops::Pattern& pattern) {
  const std::string x = EditableModel::nameAt(reads.at(0));
  const Point point = pointBefore(reads);
  NodeMaker nodes(*point.body, opset, x + "_centering", point.node);
  const std::string centered = centeredValue(nodes, x, shape, pattern);
  if (point.node != nullptr) {
    model.addBefore(*point.body, *point.node, nodes.take());
  } else {
    model.addAtEnd(*point.body, nodes.take());
  }
  for (const auto& read : reads) model.setInput(read, centered);
}

}  // namespace normlens::formats::onnx
