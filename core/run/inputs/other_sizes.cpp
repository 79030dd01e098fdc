#include "core/run/inputs/other_sizes.h"

#include <algorithm>
#include <functional>

#include "core/run/tensors.h"

namespace normlens::run {
namespace {

using graph::Shape;

struct Axis {
  size_t input, axis;
  bool operator==(const Axis&) const = default;
};
using Axes = std::vector<Axis>;

constexpr size_t kMostSets = 5;
constexpr int64_t kTiny = 8;    // half of it may be too small to show anything
constexpr int64_t kSmall = 64;  // twice as many cost little

int64_t& sizeAt(std::vector<Shape>& shapes, const Axis& at) { return shapes[at.input][at.axis]; }

void addTrial(SizeTrials& trials, const std::vector<Shape>& shapes, const Axes& axes,
              const std::function<int64_t(int64_t)>& change) {
  std::vector<Shape> changed = shapes;
  for (const Axis& at : axes) sizeAt(changed, at) = change(sizeAt(changed, at));
  const bool isNew = changed != shapes && std::ranges::find(trials, changed) == trials.end();
  if (isNew) trials.push_back(std::move(changed));
}

int64_t twice(int64_t size) { return 2 * size; }
int64_t half(int64_t size) { return std::max<int64_t>(1, size / 2); }
int64_t oneMore(int64_t size) { return size + 1; }
int64_t oneLess(int64_t size) { return std::max<int64_t>(1, size - 1); }
int64_t halfMore(int64_t size) { return size + std::max<int64_t>(1, size / 2); }

// An axis of size 1, or one that an input lacks, may have to fit the sizes of others there.
int64_t largestAt(const std::vector<Shape>& shapes, size_t axis) {
  int64_t largest = 1;
  for (const Shape& shape : shapes) {
    if (axis < shape.size()) largest = std::max(largest, shape[axis]);
  }
  return largest;
}

SizeTrials trialsOf(const std::vector<Shape>& shapes, const Axes& set) {
  SizeTrials trials;
  const int64_t size = shapes[set.front().input][set.front().axis];
  const auto add = [&](auto... change) { (addTrial(trials, shapes, set, change), ...); };
  if (size <= 1) {
    const int64_t others = largestAt(shapes, set.front().axis);
    add([=](int64_t) { return others; }, oneMore);
  } else if (size < kTiny) {
    add(twice, half, oneMore, oneLess);
  } else if (size <= kSmall) {
    add(half, twice, oneMore, oneLess);
  } else {
    add(half, halfMore, twice, oneLess);
  }
  return trials;
}

SizeTrials neighboursOf(const std::vector<Shape>& shapes, const Axes& set) {
  SizeTrials trials;
  addTrial(trials, shapes, set, oneMore);
  addTrial(trials, shapes, set, oneLess);
  return trials;
}

SizeTrials fewOf(const std::vector<Shape>& shapes, const Axes& set) {
  constexpr int64_t kFew = 3;
  SizeTrials trials;
  addTrial(trials, shapes, set, [](int64_t size) { return size > kTiny ? kFew : size; });
  return trials;
}

Axes listedAxes(const std::vector<Shape>& shapes, const std::vector<std::vector<int>>& freeAxes) {
  Axes axes;
  for (size_t i = 0; i < std::min(shapes.size(), freeAxes.size()); ++i) {
    for (const int axis : freeAxes[i]) {
      if (axis >= 0 && static_cast<size_t>(axis) < shapes[i].size()) axes.push_back({i, static_cast<size_t>(axis)});
    }
  }
  return axes;
}

Axes batchAxes(const std::vector<Shape>& shapes) {
  Axes axes;
  const auto first = std::ranges::find_if(shapes, [](const Shape& shape) { return !shape.empty(); });
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i].empty() && shapes[i][0] == first->front()) axes.push_back({i, 0});
  }
  return axes;
}

// Groups axes by size, those of front axes first, without the batch: all free axes together have shown that.
std::vector<Axes> setsOfOneSize(const std::vector<Shape>& shapes) {
  std::vector<Axes> sets;
  size_t ranks = 0;
  for (const Shape& shape : shapes) ranks = std::max(ranks, shape.size());
  const auto sizeOf = [&](const Axis& at) { return shapes[at.input][at.axis]; };
  const auto batch = batchAxes(shapes);
  const auto isBatch = [&](const Axis& at) { return at.axis == 0 && sizeOf(at) == sizeOf(batch.front()); };
  for (size_t axis = 0; axis < ranks; ++axis) {
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Axis at{i, axis};
      if (axis >= shapes[i].size() || isBatch(at)) continue;
      const auto same = std::ranges::find(sets, sizeOf(at), [&](const Axes& set) { return sizeOf(set.front()); });
      (same == sets.end() ? sets.emplace_back() : *same).push_back(at);
    }
  }
  if (sets.size() > kMostSets) sets.resize(kMostSets);
  return sets;
}

}  // namespace

std::vector<SizeTrials> otherSizes(const std::vector<Shape>& shapes, const std::vector<std::vector<int>>& freeAxes) {
  const Axes known = listedAxes(shapes, freeAxes);
  const Axes together = known.empty() ? batchAxes(shapes) : known;
  Axes firstAxes = together;
  std::erase_if(firstAxes, [](const Axis& at) { return at.axis != 0; });
  std::vector<SizeTrials> all(1);
  addTrial(all[0], shapes, together, oneMore);
  addTrial(all[0], shapes, together, halfMore);
  addTrial(all[0], shapes, together, twice);
  addTrial(all[0], shapes, firstAxes, twice);
  const auto isOneMoreAlready = [&](const Axes& set) {
    return std::ranges::all_of(set, [&](const Axis& at) { return std::ranges::find(together, at) != together.end(); });
  };
  for (const auto& trialsOfSet : {trialsOf, neighboursOf, fewOf}) {
    for (const Axes& set : setsOfOneSize(shapes)) {
      if (trialsOfSet != neighboursOf || !isOneMoreAlready(set)) all.push_back(trialsOfSet(shapes, set));
    }
  }
  std::erase_if(all, [](const SizeTrials& trials) { return trials.empty(); });
  return all;
}

Status tryOtherSizes(const std::vector<Shape>& shapes, const std::vector<std::vector<int>>& freeAxes,
                     const std::function<Result<bool>(const std::vector<Shape>&)>& takes) {
  std::vector<std::vector<Shape>> tried;
  for (const SizeTrials& trials : otherSizes(shapes, freeAxes)) {
    for (const auto& trial : trials) {
      if (std::ranges::find(tried, trial) != tried.end()) continue;
      tried.push_back(trial);
      ASSIGN_OR_RETURN(const bool taken, takes(trial));
      if (taken) break;
    }
  }
  return {};
}

std::vector<formats::Tensors> otherNumbers(const formats::Tensors& sample, const std::vector<int64_t>& widths) {
  std::vector<formats::Tensors> sets;
  for (size_t i = 0; i < sample.size(); ++i) {
    const graph::TensorView& view = sample[i].view;
    const bool whole = view.dtype >= graph::DType::UInt8 && view.dtype <= graph::DType::Int64;
    const auto number = whole ? graph::toDoubles(view) : std::nullopt;
    if (!number || number->size() != 1) continue;
    std::vector<double> tried{number->front()}, others{number->front() + 1, number->front() - 1};
    others.insert(others.end(), widths.begin(), widths.end());
    for (const double other : others) {
      if (std::ranges::find(tried, other) != tried.end()) continue;
      tried.push_back(other);
      sets.push_back(sample);
      sets.back()[i].view = fromDoubles(view.dtype, view.shape, {&other, 1});
    }
  }
  return sets;
}

bool canTryOtherRanks(const formats::Model& model) { return model.facts().format != "onnx"; }

SizeTrials otherRanks(const std::vector<Shape>& shapes, const std::vector<bool>& open) {
  SizeTrials trials;
  for (const bool more : {true, false}) {
    std::vector<Shape> changed = shapes;
    for (size_t i = 0; i < std::min(shapes.size(), open.size()); ++i) {
      if (!open[i]) continue;
      if (more) {
        changed[i].insert(changed[i].begin(), 2);
      } else if (!changed[i].empty()) {
        changed[i].erase(changed[i].begin());
      }
    }
    if (changed != shapes) trials.push_back(std::move(changed));
  }
  return trials;
}

SizeTrials withChannels(const std::vector<Shape>& shapes, const std::vector<bool>& may,
                        const std::vector<int64_t>& widths) {
  constexpr int64_t kMostNumbers = 1 << 18;  // Limits an input: a mask of many tokens would take all memory.
  SizeTrials trials;
  for (size_t i = 0; i < std::min(shapes.size(), may.size()); ++i) {
    const bool hasChannels = !shapes[i].empty() && std::ranges::find(widths, shapes[i].back()) != widths.end();
    if (!may[i] || hasChannels) continue;
    for (const int64_t width : widths) {
      Shape wider = shapes[i];
      wider.push_back(width);
      if (graph::elementCount(wider).value_or(kMostNumbers) >= kMostNumbers) continue;
      trials.push_back(shapes);
      trials.back()[i] = std::move(wider);
    }
  }
  return trials;
}

}  // namespace normlens::run
