#include "core/formats/onnx/edit/apply_centering.h"

#include <algorithm>

namespace normlens::formats::onnx {
namespace {

// ReadCode's ops.
class ReadOps : public NodeMaker {
 public:
  using Value = std::string;

  // dtype: of the value.
  ReadOps(NodeMaker nodes, graph::DType dtype) : NodeMaker(std::move(nodes)), dtype_(dtype) {}

  std::string cut(std::string x, const ops::FactorsPerDim& axes) {
    if (std::ranges::all_of(axes, [](const auto& factors) { return factors.size() == 1; })) return x;
    shape_ = add("Shape", {x});
    // Last axis first: the axes before it keep their places.
    for (size_t axis = axes.size(); axis-- > 0;) {
      if (axes[axis].size() > 1) x = add("Reshape", {x, cutShape(x, axes, axis)});
    }
    return x;
  }
  std::string joined(const std::string& y, const ops::FactorsPerDim& /*axes*/) {
    return shape_.empty() ? y : add("Reshape", {y, shape_});
  }
  std::string subtract(const std::string& a, const std::string& b) { return add("Sub", {a, b}); }
  std::string scaled(const std::string& x, double factor) {
    const auto by = number(factor, dtype_);
    return add("Mul", {x, by});
  }
  std::string padded(const std::string& x, size_t axis, size_t rank, int64_t zeros) {
    std::vector<int64_t> amounts(2 * rank, 0);
    amounts[rank + axis] = zeros;
    if (opset() >= 11) {
      const auto given = ints(amounts);
      return add("Pad", {x, given});
    }
    const auto y = add("Pad", {x});
    setInts(last(), "pads", amounts);
    return y;
  }
  // From the end, where the file's version of the operators has that.
  [[nodiscard]] int64_t axisNumber(size_t axis, size_t rank) const {
    return static_cast<int64_t>(axis) - (opset() >= 11 ? static_cast<int64_t>(rank) : 0);
  }

 private:
  // The shape of `x` with this axis cut into its factors; 0 copies a size.
  std::string cutShape(const std::string& x, const ops::FactorsPerDim& axes, size_t axis) {
    std::vector<int64_t> sizes(axis, 0);
    for (const ops::Factor& factor : axes[axis]) sizes.push_back(factor.summed ? factor.size : -1);
    if (axis + 1 == axes.size()) return ints(sizes);
    const std::string rest = slice(add("Shape", {x}), 0, static_cast<int64_t>(axis) + 1, kToTheEnd);
    return concat({ints(sizes), rest}, 0);
  }

  graph::DType dtype_;
  std::string shape_;  // of the value that was cut
};

// A node (null: the end) of a body.
struct Point {
  Body* body = nullptr;
  NodeProto* node = nullptr;
};

// From the read outwards: the nodes that hold it.
std::vector<Point> pointsAround(const ReadSite& read) {
  std::vector<Point> out{{read.body, read.node}};
  for (Body* body = read.body; body->outer != nullptr && body->function < 0; body = body->outer) {
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

// All reads of what the call's body calls by this name are among these, and it is an input that the call hands in.
bool isHandedInForAll(EditableModel& model, const std::vector<ReadSite>& reads, Body& call, const std::string& name) {
  const auto input = call.input.find(name);
  const bool handedIn = call.function >= 0 && input != call.input.end() && input->second < call.owner->input_size();
  return handedIn && !model.isReadByNewNodes(name) &&
         std::ranges::all_of(model.readsOf(call, name, /*intoCalls=*/false),
                             [&](const ReadSite& read) { return std::ranges::find(reads, read) != reads.end(); });
}

}  // namespace

void leaveToCallers(EditableModel& model, std::vector<ReadSite>& reads) {
  const auto movable = [&](const ReadSite& read) {
    const std::string name = EditableModel::nameAt(read);
    return isHandedInForAll(model, reads, EditableModel::bodyThatMakes(*read.body, name), name);
  };
  // The caller may be a function, too.
  for (auto read = std::ranges::find_if(reads, movable); read != reads.end();
       read = std::ranges::find_if(reads, movable)) {
    const std::string name = EditableModel::nameAt(*read);
    const Body& body = EditableModel::bodyThatMakes(*read->body, name);
    const ReadSite call{body.outer, body.owner, body.input.at(name)};
    std::erase_if(reads, [&](const ReadSite& other) {
      return EditableModel::nameAt(other) == name && &EditableModel::bodyThatMakes(*other.body, name) == &body;
    });
    if (std::ranges::find(reads, call) == reads.end()) reads.push_back(call);
  }
}

void insertCode(EditableModel& model, const std::vector<ReadSite>& reads, int opset, graph::DType dtype,
                const ReadCode& code) {
  const std::string x = EditableModel::nameAt(reads.at(0));
  const Point point = pointBefore(reads);
  ReadOps ops({*point.body, opset, x + "_" + code.word(), point.node}, dtype);
  const std::string seen = code.emit(ops, x);
  model.addBefore(*point.body, point.node, ops.take());
  for (const auto& read : reads) model.setInput(read, seen);
}

}  // namespace normlens::formats::onnx
