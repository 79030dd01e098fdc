#include "core/service/describe/weight_changes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/analysis/claims/shifts.h"
#include "core/fold/edited_weight.h"
#include "core/formats/file/file_hash.h"
#include "core/run/compare/ulp.h"
#include "core/run/tensor_parts.h"
#include "core/run/tensors.h"
#include "core/service/describe/graph_document.h"

namespace normlens::service {
namespace {

using graph::TensorView;

constexpr int64_t kElementsAtATime = int64_t{1} << 20;

// Row-major, whatever the strides. Empty for a tensor whose elements have no bytes of their own.
Result<std::string> digestOf(const graph::TensorView& view, const Task& task) {
  std::string parts;
  bool readable = view.data != nullptr;
  RETURN_IF_ERROR(run::forEachPart(view, kElementsAtATime, [&](int64_t, const graph::TensorView& part) -> Status {
    RETURN_IF_ERROR(task.check());
    const auto bytes = run::denseBytes(part);
    readable = readable && bytes.has_value();
    if (bytes) parts += formats::sha256Hex(*bytes);
    return {};
  }));
  if (!readable) return std::string();
  std::string text(graph::dtypeName(view.dtype));
  for (const int64_t size : view.shape) text += ' ' + std::to_string(size);
  text += parts;
  return formats::sha256Hex(std::as_bytes(std::span(text)));
}

// A matrix is also identified as its transpose, after a bar: formats store the weight of a linear layer either way.
Result<std::string> identityOf(const graph::TensorView& view, const Task& task) {
  ASSIGN_OR_RETURN(std::string identity, digestOf(view, task));
  if (view.shape.size() != 2 || identity.empty()) return identity;
  graph::TensorView transposed = view;
  std::swap(transposed.shape[0], transposed.shape[1]);
  std::swap(transposed.strides[0], transposed.strides[1]);
  ASSIGN_OR_RETURN(const std::string other, digestOf(transposed, task));
  return identity + '|' + other;
}

// Compares two tensors of one shape whose elements come one after another in row-major order: detects whether one is
// the other less its means along an axis, or along equal parts of it.

// An axis, or equal parts of it, and what follows it; the place there of elements that come in row-major order.
class AxisWalk {
 public:
  AxisWalk(int axis, int64_t size, int64_t inner) : axis_(axis), size_(size), inner_(static_cast<size_t>(inner)) {}

  [[nodiscard]] int axis() const { return axis_; }
  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] size_t inner() const { return inner_; }
  [[nodiscard]] int64_t along() const { return along_; }  // the place on the axis
  [[nodiscard]] size_t at() const { return at_; }         // among the places that follow it
  [[nodiscard]] bool isLast() const { return along_ == size_ - 1; }
  [[nodiscard]] AxisWalk parts(int64_t size) const { return {axis_, size, static_cast<int64_t>(inner_)}; }

  void next() {
    if (++at_ < inner_) return;
    at_ = 0;
    along_ = isLast() ? 0 : along_ + 1;
  }

 private:
  int axis_;
  int64_t size_, along_ = 0;
  size_t inner_, at_ = 0;
};

// Checks whether b is a less its means along the axis: then they differ by the same everywhere along it, and b has no
// mean left where they differ.
class MeansLook {
 public:
  explicit MeansLook(const AxisWalk& walk) : walk_(walk), first_(walk.inner()), sums_(walk.inner()) {}

  void include(double a, double b) {
    const double difference = a - b;
    double &first = first_[walk_.at()], &sum = sums_[walk_.at()];
    if (walk_.along() == 0) {
      first = difference;
      sum = 0;
    }
    sum += b;
    uneven_ = std::max(uneven_, std::abs(difference - first));
    if (walk_.isLast() && first != 0) left_ = std::max(left_, std::abs(sum) / static_cast<double>(walk_.size()));
    walk_.next();
  }

  [[nodiscard]] const AxisWalk& walk() const { return walk_; }
  [[nodiscard]] bool isCentered(double rounding) const { return uneven_ <= 2 * rounding && left_ <= rounding; }

 private:
  AxisWalk walk_;
  std::vector<double> first_, sums_;
  double uneven_ = 0, left_ = 0;
};

// Finds the length of the equal parts of the axis within which a and b differ by the same: heads, groups.
class PartsLook {
 public:
  PartsLook(const AxisWalk& walk, double rounding)
      : walk_(walk), rounding_(rounding), part_(walk.size()), before_(walk.inner()) {}

  void include(double a, double b) {
    const double difference = a - b, before = std::exchange(before_[walk_.at()], difference);
    const bool border = walk_.along() > 0 && !(std::abs(difference - before) <= 2 * rounding_);
    if (border && part_ > 1) part_ = std::gcd(part_, walk_.along());
    walk_.next();
  }

  [[nodiscard]] bool isDone() const { return part_ == 1; }
  void addTo(std::vector<MeansLook>& looks) const {
    if (part_ > 1 && part_ < walk_.size()) looks.emplace_back(walk_.parts(part_));
  }

 private:
  AxisWalk walk_;
  double rounding_;
  int64_t part_;
  std::vector<double> before_;
};

// A search for means keeps the sums of so many places at a time.
constexpr int64_t kMostSums = int64_t{1} << 20;

// Elements [first, first + count) in row-major order; nullopt: they are no real numbers.
std::optional<std::vector<double>> numbersAt(const TensorView& view, int64_t first, int64_t count) {
  const auto bytes = static_cast<int64_t>(graph::dtypeBytes(view.dtype));
  if (view.contiguous()) {
    return graph::toDoubles({view.data + first * bytes, view.dtype, {count}, {1}, view.owner});
  }
  std::vector<double> numbers;
  while (count > 0) {
    const auto index = run::indexOf(first, view.shape);
    const int64_t offset = std::inner_product(index.begin(), index.end(), view.strides.begin(), int64_t{0});
    const int64_t length = std::min(count, view.shape.back() - index.back());
    const auto row =
        graph::toDoubles({view.data + offset * bytes, view.dtype, {length}, {view.strides.back()}, view.owner});
    if (!row) return std::nullopt;
    numbers.insert(numbers.end(), row->begin(), row->end());
    first += length;
    count -= length;
  }
  return numbers;
}

// Integers are not centered, and an axis of size 1 has nothing but means.
std::vector<AxisWalk> axesOf(const graph::Shape& shape, bool floats) {
  std::vector<AxisWalk> axes;
  int64_t inner = 1;
  for (size_t axis = shape.size(); floats && axis-- > 0; inner *= shape[axis]) {
    if (shape[axis] > 1 && inner <= kMostSums) axes.emplace_back(static_cast<int>(axis), shape[axis], inner);
  }
  return axes;
}

bool sameSpecial(double a, double b) { return (std::isnan(a) && std::isnan(b)) || (std::isinf(a) && a == b); }

protocol::WeightChange without(std::string reason) {
  protocol::WeightChange change;
  change.reason = std::move(reason);
  return change;
}

double roundingOf(const protocol::WeightChange& change, graph::DType type) {
  return 2 * run::machineEpsilon(type) * change.max_original;
}

// Calls visit(x, y) for the numbers in the same place, in row-major order, until done(). False: they are no real
// numbers.
template <class Visit, class Done>
Result<bool> forEachPair(const TensorView& a, const TensorView& b, const Task& task, Visit visit, Done done) {
  const int64_t count = *graph::elementCount(a.shape);
  for (int64_t first = 0; first < count && !done(); first += run::kPartElements) {
    RETURN_IF_ERROR(task.check());
    const int64_t length = std::min(run::kPartElements, count - first);
    const auto ours = numbersAt(a, first, length), theirs = numbersAt(b, first, length);
    if (!ours || !theirs) return false;
    for (size_t i = 0; i < ours->size(); ++i) visit((*ours)[i], (*theirs)[i]);
  }
  return true;
}

// nullptr: none is.
const AxisWalk* centeredOf(const std::vector<MeansLook>& looks, double rounding) {
  const auto found = std::ranges::find_if(looks, [&](const MeansLook& look) { return look.isCentered(rounding); });
  return found == looks.end() ? nullptr : &found->walk();
}

// Looks for a centering along parts of an axis.
Status tellCenteredParts(const TensorView& a, const TensorView& b, const std::vector<AxisWalk>& axes, double rounding,
                         const Task& task, protocol::WeightChange& change) {
  std::vector<PartsLook> parts;
  for (const AxisWalk& axis : axes) parts.emplace_back(axis, rounding);
  RETURN_IF_ERROR(forEachPair(
      a, b, task,
      [&](double x, double y) {
        for (PartsLook& part : parts) part.include(x, y);
      },
      [&] { return std::ranges::all_of(parts, &PartsLook::isDone); }));
  std::vector<MeansLook> looks;
  for (const PartsLook& part : parts) part.addTo(looks);
  RETURN_IF_ERROR(forEachPair(
      a, b, task,
      [&](double x, double y) {
        for (MeansLook& look : looks) look.include(x, y);
      },
      [&] { return looks.empty(); }));
  if (const AxisWalk* centered = centeredOf(looks, rounding)) {
    change.centered_axis = centered->axis();
    change.centered_part = centered->size();
  }
  return {};
}

Result<protocol::WeightChange> changeOf(const TensorView& a, const TensorView& b, const Task& task) {
  if (a.shape != b.shape) return without("they have different shapes");
  if (!graph::elementCount(a.shape) || a.data == nullptr || b.data == nullptr)
    return without("their elements are not known");
  const graph::DType type = run::coarserType(a.dtype, b.dtype);
  const auto axes = axesOf(a.shape, type != graph::DType::Unknown);
  std::vector<MeansLook> looks(axes.begin(), axes.end());
  protocol::WeightChange change;
  const auto include = [&](double x, double y) {
    for (MeansLook& look : looks) look.include(x, y);
    if (std::isfinite(x)) change.max_original = std::max(change.max_original, std::abs(x));
    if (sameSpecial(x, y)) return;
    const double apart = std::abs(x - y);
    change.max_abs = std::max(change.max_abs, std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart);
  };
  ASSIGN_OR_RETURN(const auto seen, forEachPair(a, b, task, include, [] { return false; }));
  if (!seen) return without("their elements are no real numbers");
  if (change.max_abs == 0 || !std::isfinite(change.max_abs)) return change;
  const double rounding = roundingOf(change, type);
  if (const AxisWalk* centered = centeredOf(looks, rounding)) {
    change.centered_axis = centered->axis();
  } else if (const Status told = tellCenteredParts(a, b, axes, rounding, task, change); !told) {
    return tl::unexpected(told.error());
  }
  return change;
}

// A Shift, by bias of a: the norm whose beta can move into it, and the bias with that in it by the weights of b.
struct Shift {
  std::string norm;
  fold::WeightSource bias;
};
using Shifts = std::map<graph::ConstantId, Shift>;

// weights: of b, by what a has in their places, where they differ.
Shifts shiftsIn(const graph::Graph& a, std::span<const analysis::LayerNorm> norms,
                const std::map<graph::ConstantId, TensorView>& weights) {
  Shifts shifts;
  for (const analysis::LayerNorm& norm : norms) {
    const auto movable = analysis::movableShift(a, norm);
    if (!movable) continue;
    const auto& edit = movable->edit;
    const auto value = graph::operandAt(a.node(edit.shiftNode), static_cast<size_t>(edit.shiftOperand));
    const auto beta = graph::toDoubles(a.constant(a.value(value).constant).view);
    for (size_t i = 0; beta && i < edit.parts.size(); ++i) {
      const auto& part = edit.parts[i];
      const auto other = weights.find(part.weight);
      const TensorView& weight = other != weights.end() ? other->second : a.constant(part.weight).view;
      shifts[part.bias] = {norm.title,
                           fold::shift({a.constant(part.bias).view, {}}, {weight, {}}, part.inputDim, *beta)};
    }
  }
  return shifts;
}

// Checks what is left of the change once the shift is in the bias: nothing, or a centering.
Status tellShift(const Shift& shift, const TensorView& b, const Task& task, protocol::WeightChange& change) {
  const auto moved = shift.bias.inMemory(1);
  if (!moved) return {};
  ASSIGN_OR_RETURN(const auto rest, changeOf(*moved, b, task));
  const double rounding = roundingOf(rest, run::coarserType(moved->dtype, b.dtype));
  if (!rest.reason.empty() || (rest.centered_axis < 0 && rest.max_abs > rounding)) return {};
  change.shift_of = shift.norm;
  change.centered_axis = rest.centered_axis;
  change.centered_part = rest.centered_part;
  return {};
}

}  // namespace

Result<protocol::WeightDigests> weightDigests(const graph::Graph& graph, const Task& task) {
  protocol::WeightDigests digests;
  std::vector<std::string> known(graph.constants.size());  // by constant: several values may be one
  std::vector<bool> done(graph.constants.size(), false);
  for (size_t v = 0; v < graph.values.size(); ++v) {
    if (graph.values[v].constant == graph::kNone) continue;
    task.report("reading the weights", static_cast<double>(v) / static_cast<double>(graph.values.size()));
    const auto constant = static_cast<size_t>(graph.values[v].constant);
    if (!done[constant]) {
      ASSIGN_OR_RETURN(auto digest, identityOf(graph.constants[constant].view, task));
      known[constant] = std::move(digest);
      done[constant] = true;
    }
    if (known[constant].empty()) continue;
    digests.values.push_back(static_cast<int>(v));
    digests.digests.push_back(known[constant]);
  }
  return digests;
}

Result<protocol::WeightChanges> weightChanges(const graph::Graph& a, const graph::Graph& b,
                                              const std::vector<std::pair<int, int>>& pairs,
                                              std::span<const analysis::LayerNorm> norms, const Task& task) {
  std::vector<graph::ConstantId> before;
  std::map<graph::ConstantId, TensorView> after;
  std::vector<TensorView> others;
  for (const auto& [ours, theirs] : pairs) {
    ASSIGN_OR_RETURN(const auto own, constantOf(a, ours), other = constantOf(b, theirs));
    if (!other) return tl::unexpected(other.error());
    before.push_back(own);
    others.push_back(b.constant(*other).view);
    after.emplace(own, others.back());
  }
  const Shifts shifts = shiftsIn(a, norms, after);
  protocol::WeightChanges told;
  for (size_t i = 0; i < pairs.size(); ++i) {
    task.report("comparing the weights", static_cast<double>(i) / static_cast<double>(pairs.size()));
    ASSIGN_OR_RETURN(auto change, changeOf(a.constant(before[i]).view, others[i], task));
    const auto shift = shifts.find(before[i]);
    const bool explained = change.max_abs == 0 || change.centered_axis >= 0 || !change.reason.empty();
    if (shift != shifts.end() && !explained) {
      RETURN_IF_ERROR(tellShift(shift->second, others[i], task, change));
    }
    told.changes.push_back(std::move(change));
  }
  return told;
}

}  // namespace normlens::service
