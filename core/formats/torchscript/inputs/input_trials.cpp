#include "core/formats/torchscript/inputs/input_trials.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <set>

#include "core/formats/torchscript/program/arguments.h"
#include "core/formats/torchscript/program/torchscript_model.h"

namespace normlens::formats::torchscript {
namespace {

at::Tensor draw(const InputSpec& spec, at::Generator& generator) {
  const at::ScalarType type = scalarTypeOf(spec.dtype);
  if (spec.dtype == graph::DType::Bool) return at::randint(0, 2, spec.shape, generator, at::kLong).to(at::kBool);
  if (!graph::isFloat(spec.dtype))
    return at::randint(static_cast<int64_t>(spec.low), static_cast<int64_t>(spec.high) + 1, spec.shape, generator,
                       at::kLong)
        .to(type);
  if (spec.uniform) return (at::rand(spec.shape, generator, at::kDouble) * (spec.high - spec.low) + spec.low).to(type);
  return at::randn(spec.shape, generator, at::kDouble).to(type);
}

bool isFinite(const c10::IValue& value) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    return !tensor.defined() || !tensor.is_floating_point() || tensor.isfinite().all().item<bool>();
  }
  if (value.isTuple()) return std::ranges::all_of(value.toTupleRef().elements(), isFinite);
  if (value.isList()) return std::ranges::all_of(value.toListRef(), isFinite);
  if (value.isGenericDict()) {
    const auto dict = value.toGenericDict();
    return std::all_of(dict.begin(), dict.end(), [](const auto& entry) { return isFinite(entry.value()); });
  }
  return true;
}

// Without matrix products, what is left is too small to be shared out among threads that others may be using, too.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// Another size to try in place of this one: batches grow by one, sides of images stay even, lengths shrink.
std::vector<int64_t> otherSizes(int64_t size, bool batch, bool spatial) {
  if (batch) return {size < 2 ? 2 : size + 1};
  if (spatial) {
    if (size >= 16 && size % 4 == 0) return {size / 2, size + size / 2};
    return {size > 6 ? size - 2 : size + 2};
  }
  return size > 6 ? std::vector<int64_t>{size - 5, size + 1} : std::vector<int64_t>{size + 1};
}

}  // namespace

std::optional<std::vector<c10::IValue>> InputTrials::run(const std::vector<InputSpec>& specs,
                                                         Interpreter& interpreter) {
  lastError_.clear();
  ++made_;
  Tensors tensors;
  try {
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t{20});
    for (const InputSpec& spec : specs) tensors.push_back({spec.name, viewOf(draw(spec, generator))});
  } catch (const std::exception&) {
    lastError_ = "no values of this kind can be drawn";
    return std::nullopt;
  }
  auto arguments = toArguments(program_.inputs, schema_, tensors, floats_);
  if (!arguments) {
    lastError_ = arguments.error().message;
    return std::nullopt;
  }
  const RunWatch watch(RunWatch::Kind::Trial);
  auto results = interpreter.run(std::move(*arguments), {}, Task{});
  if (!results) {
    lastError_ = results.error().message;
    endless_ = endless_ || watch.expired();
    return std::nullopt;
  }
  return std::move(*results);
}

bool InputTrials::searchedEnough() const {
  constexpr int kFewTrials = 12;
  return outOfTime() || (elapsed() > std::chrono::seconds(3) && made_ > kFewTrials);
}

bool InputTrials::works(const std::vector<InputSpec>& specs) {
  const OneThread small;
  return run(specs, shapes_).has_value();
}

bool InputTrials::worksFinite(const std::vector<InputSpec>& specs) {
  const auto results = run(specs, values_);
  return results && std::ranges::all_of(*results, isFinite);
}

std::vector<InputTrials::Group> InputTrials::groupsOf(const std::vector<InputSpec>& specs,
                                                      const std::vector<std::vector<int>>& fixedAxes) {
  std::vector<Group> groups;
  const auto add = [&](size_t input, size_t axis, bool batch) {
    const int64_t size = specs[input].shape[axis];
    const auto same =
        std::ranges::find_if(groups, [&](const Group& group) { return group.size == size && group.batch == batch; });
    Group& group = same == groups.end() ? groups.emplace_back() : *same;
    group.size = size;
    group.batch = batch;
    group.places.push_back({input, axis});
  };
  for (size_t i = 0; i < specs.size(); ++i) {
    const auto rank = static_cast<int>(specs[i].shape.size());
    for (int axis = 0; axis < rank; ++axis) {
      const bool fixed = i < fixedAxes.size() && std::ranges::any_of(fixedAxes[i], [&](int wanted) {
                           return wanted == axis || wanted + rank == axis;
                         });
      if (!fixed) add(i, static_cast<size_t>(axis), axis == 0);
    }
  }
  std::ranges::stable_sort(groups, [](const Group& a, const Group& b) { return a.batch > b.batch; });
  return groups;
}

void InputTrials::resize(std::vector<InputSpec>& specs, const Group& group, int64_t size) {
  for (const Place& place : group.places) specs[place.input].shape[place.axis] = size;
}

void InputTrials::findFreeAxes(std::vector<InputSpec>& specs, const std::vector<std::vector<int>>& fixedAxes) {
  std::set<int64_t> taken;
  for (const Group& group : groupsOf(specs, fixedAxes)) {
    if (outOfTime()) return;
    const bool spatial = std::ranges::any_of(
        group.places, [&](const Place& place) { return specs[place.input].shape.size() >= 4 && place.axis >= 2; });
    std::optional<int64_t> other;
    for (const int64_t size : otherSizes(group.size, group.batch, spatial)) {
      auto changed = specs;
      resize(changed, group, size);
      if (works(changed)) {
        other = size;
        break;
      }
    }
    if (!other) continue;
    for (const Place& place : group.places) specs[place.input].freeAxes.push_back(static_cast<int>(place.axis));
    // Keep the size that is known to be sensible unless it hides something: 1, or equal to another free size.
    int64_t chosen = group.size;
    if (chosen < 2 || taken.count(chosen) != 0) {
      for (int64_t size = *other; size < *other + 4; ++size) {
        auto changed = specs;
        resize(changed, group, size);
        if (size >= 2 && taken.count(size) == 0 && works(changed)) {
          specs = std::move(changed);
          chosen = size;
          break;
        }
      }
    }
    taken.insert(chosen);
  }
  for (InputSpec& spec : specs) std::ranges::sort(spec.freeAxes);
}

}  // namespace normlens::formats::torchscript
