#include "core/formats/torchscript/inputs/input_trials.h"

#include <algorithm>
#include <set>

#include "core/formats/torchscript/program/arguments.h"
#include "core/formats/torchscript/program/tensor_convert.h"
#include "core/formats/torchscript/run/model_run.h"

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
  return outOfTime() || (elapsed() > limit_ * 3 / 20 && made_ > kFewTrials);
}

bool InputTrials::works(const std::vector<InputSpec>& specs) {
  // Without matrix products, what is left is too small to be shared out among threads that others may be using, too.
  const ThreadCount one(1);
  return run(specs, shapes_).has_value();
}

bool InputTrials::worksFinite(const std::vector<InputSpec>& specs) {
  const auto results = run(specs, values_);
  return results && std::ranges::all_of(*results, isFinite);
}

std::vector<SizeGroup> InputTrials::groupsOf(const std::vector<InputSpec>& specs) {
  std::vector<SizeGroup> groups;
  for (size_t i = 0; i < specs.size(); ++i) {
    for (size_t axis = 0; axis < specs[i].shape.size(); ++axis) {
      const int64_t size = specs[i].shape[axis];
      const bool batch = axis == 0;
      const auto same = std::ranges::find_if(
          groups, [&](const SizeGroup& group) { return group.size == size && group.batch == batch; });
      SizeGroup& group = same == groups.end() ? groups.emplace_back(SizeGroup{size, batch, {}}) : *same;
      group.axes.push_back({i, axis});
    }
  }
  std::ranges::stable_sort(groups, [](const SizeGroup& a, const SizeGroup& b) { return a.batch > b.batch; });
  return groups;
}

// nullopt: they do not work so.
std::optional<std::vector<InputSpec>> InputTrials::resized(std::vector<InputSpec> specs, const SizeGroup& group,
                                                           int64_t size) {
  for (const auto& one : group.axes) specs[one.input].shape[one.axis] = size;
  return works(specs) ? std::optional(std::move(specs)) : std::nullopt;
}

void InputTrials::findFreeAxes(std::vector<InputSpec>& specs) {
  std::set<int64_t> taken;
  auto left = groupsOf(specs);
  for (size_t i = 0; i < left.size() && !outOfTime(); ++i) {
    const SizeGroup group = left[i];
    const bool spatial = std::ranges::any_of(
        group.axes, [&](const auto& one) { return specs[one.input].shape.size() >= 4 && one.axis >= 2; });
    const auto sizes = otherSizes(group.size, group.batch, spatial);
    const auto other =
        std::ranges::find_if(sizes, [&](int64_t size) { return resized(specs, group, size).has_value(); });
    if (other == sizes.end()) {
      for (size_t k = 0; k < group.axes.size() && group.axes.size() > 1; ++k)
        left.push_back({group.size, group.batch, {group.axes[k]}});
      continue;
    }
    for (const auto& one : group.axes) specs[one.input].freeAxes.push_back(static_cast<int>(one.axis));
    // Keep the size that is known to be sensible unless it hides something: 1, or equal to another free size.
    int64_t chosen = group.size;
    for (int64_t size = *other; size < *other + 4 && (chosen < 2 || taken.contains(chosen)); ++size) {
      if (size < 2 || taken.contains(size)) continue;
      if (auto changed = resized(specs, group, size)) {
        specs = std::move(*changed);
        chosen = size;
      }
    }
    taken.insert(chosen);
  }
  for (InputSpec& spec : specs) std::ranges::sort(spec.freeAxes);
}

}  // namespace normlens::formats::torchscript
