#include "core/run/other_sizes.h"

#include <algorithm>
#include <functional>

namespace normlens::run {
namespace {

using graph::Shape;

struct Axis {
  size_t input, axis;
};
using Axes = std::vector<Axis>;

constexpr size_t kMostSets = 4;
constexpr int64_t kSmall = 64;  // twice as much of it costs little

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
int64_t larger(int64_t size) { return size <= kSmall ? twice(size) : size + size / 2; }

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

// By size, those of front axes first. Of `known` ones the batch, which all of them together have shown, is left out.
std::vector<Axes> setsOfOneSize(const std::vector<Shape>& shapes, const Axes& known) {
  std::vector<Axes> sets;
  std::vector<int64_t> sizes;
  const auto add = [&](const Axis& at) {
    const int64_t size = shapes[at.input][at.axis];
    auto place = std::ranges::find(sizes, size) - sizes.begin();
    if (static_cast<size_t>(place) == sizes.size()) {
      sizes.push_back(size);
      sets.emplace_back();
    }
    sets[static_cast<size_t>(place)].push_back(at);
  };
  size_t ranks = 0;
  for (const Shape& shape : shapes) ranks = std::max(ranks, shape.size());
  const auto isKnown = [&](const Axis& at) {
    return known.empty() || std::ranges::any_of(known, [&](const Axis& other) {
             return other.input == at.input && other.axis == at.axis;
           });
  };
  for (size_t axis = 1; axis < ranks; ++axis) {
    for (size_t i = 0; i < shapes.size(); ++i) {
      if (axis < shapes[i].size() && isKnown({i, axis})) add({i, axis});
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
  addTrial(all[0], shapes, together, twice);
  addTrial(all[0], shapes, firstAxes, twice);
  addTrial(all[0], shapes, together, oneMore);
  for (const Axes& set : setsOfOneSize(shapes, known)) {
    SizeTrials& trials = all.emplace_back();
    for (const auto change : {larger, half, oneLess}) addTrial(trials, shapes, set, change);
  }
  std::erase_if(all, [](const SizeTrials& trials) { return trials.empty(); });
  return all;
}

}  // namespace normlens::run
