#include "core/fold/edited_weight.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "core/base/parallel.h"
#include "core/base/plain_error.h"
#include "core/fold/work.h"

namespace normlens::fold {
namespace {

using graph::TensorView;

void addOrigins(const WeightSource& of, std::vector<TensorView>& to) {
  if (of.edited) {
    to.insert(to.end(), of.edited->origins().begin(), of.edited->origins().end());
  } else {
    to.push_back(of.view);
  }
}

// Returns what an edit makes of `from`, for which it also reads `others`.
WeightSource edited(const TensorView& result, const WeightSource& from, const std::vector<WeightSource>& others,
                    EditedWeight::Opener open) {
  std::vector<TensorView> origins;
  addOrigins(from, origins);
  for (const auto& other : others) addOrigins(other, origins);
  auto weight = std::make_shared<const EditedWeight>(result, std::move(origins), std::move(open));
  return {weight->view(), weight, nullptr};
}

// The same, of the same shape.
WeightSource edited(const WeightSource& from, const std::vector<WeightSource>& others, EditedWeight::Opener open) {
  TensorView result = from.view;
  result.strides = outputStrides(from.view);
  return edited(result, from, others, std::move(open));
}

// Holds what the parts of a joint centering share, found when the first of them is wanted.
class JointGroup {
 public:
  explicit JointGroup(std::vector<JointPart> parts) : parts_(std::move(parts)) {}

  Result<Means> means(int threads) {
    const std::lock_guard lock(mutex_);
    if (means_) return *means_;
    std::vector<CenterPart> parts;
    for (const auto& part : parts_) {
      ASSIGN_OR_RETURN(auto in, part.weight.inMemory(threads));
      parts.push_back({std::move(in), part.pattern});
    }
    auto means = jointMeans(parts);
    if (means) means_ = *means;
    return means;
  }

 private:
  std::mutex mutex_;
  std::vector<JointPart> parts_;
  std::optional<Means> means_;
};

}  // namespace

EditedWeight::EditedWeight(const TensorView& result, std::vector<TensorView> origins, Opener open)
    : origins_(std::move(origins)), open_(std::move(open)) {
  view_.dtype = result.dtype;
  view_.shape = result.shape;
  view_.strides = result.strides;
}

Status EditedWeight::compute(std::span<std::byte> out, int threads) const {
  if (out.empty()) return {};
  ASSIGN_OR_RETURN(const auto blocks, open(threads));
  const auto width = static_cast<int64_t>(graph::dtypeBytes(view_.dtype));
  const int64_t count = static_cast<int64_t>(out.size()) / width;
  std::mutex mutex;
  Status all;
  parallelFor(threads, (count + kElementsPerUnit - 1) / kElementsPerUnit, [&](int64_t unit) {
    const int64_t first = unit * kElementsPerUnit, elements = std::min(kElementsPerUnit, count - first);
    auto status = blocks(first, out.subspan(static_cast<size_t>(first * width), static_cast<size_t>(elements * width)));
    if (status) return;
    const std::lock_guard lock(mutex);
    all = std::move(status);
  });
  return all;
}

Result<TensorView> WeightSource::inMemory(int threads) const try {
  if (!edited) return view;
  TensorView computed = view;
  const auto bytes = static_cast<size_t>(graph::byteCount(view));
  const auto memory = std::make_shared_for_overwrite<std::byte[]>(bytes);
  RETURN_IF_ERROR(edited->compute({memory.get(), bytes}, threads));
  computed.data = memory.get();
  computed.owner = memory;
  return computed;
} catch (const std::bad_alloc& error) {
  return fail(ErrorCode::RunFailed, plainError(error));
}

WeightSource center(const WeightSource& weight, const ops::Pattern& pattern) {
  WeightSource made = edited(weight, {}, [weight, pattern](int threads) {
    return weight.inMemory(threads).and_then([&](const TensorView& in) { return centered(in, pattern, threads); });
  });
  made.center = std::make_shared<const CenteredWeight>(CenteredWeight{weight, pattern});
  return made;
}

std::vector<WeightSource> centerJointly(const std::vector<JointPart>& parts) {
  const auto group = std::make_shared<JointGroup>(parts);
  std::vector<WeightSource> out;
  for (const auto& part : parts) {
    out.push_back(edited(part.weight, {}, [part, group](int threads) -> Result<Blocks> {
      ASSIGN_OR_RETURN(auto means, group->means(threads));
      return part.weight.inMemory(threads).and_then([&](const TensorView& in) {
        return centeredJointly({in, part.pattern}, means);
      });
    }));
  }
  return out;
}

WeightSource scale(const WeightSource& weight, ChannelScale scale) {
  return edited(weight, {}, [weight, scale = std::move(scale)](int threads) {
    return weight.inMemory(threads).and_then([&](const TensorView& in) { return scaled(in, scale); });
  });
}

WeightSource shift(const WeightSource& bias, const WeightSource& weight, int inputDim, std::vector<double> vector) {
  return edited(bias, {weight}, [bias, weight, inputDim, vector = std::move(vector)](int threads) -> Result<Blocks> {
    ASSIGN_OR_RETURN(auto matrix, weight.inMemory(threads));
    const Product product{std::move(matrix), inputDim, vector};
    return bias.inMemory(threads).and_then([&](const TensorView& in) { return shifted(in, product, threads); });
  });
}

WeightSource narrow(const WeightSource& weight, Narrowing how) {
  const int64_t axis = how.dim;
  const auto& center = weight.center;
  if (center && center->pattern == ops::Pattern::overAxes(weight.view.shape, {&axis, 1}))
    return narrow(center->from, std::move(how));
  const TensorView result = narrowLayout(weight.view, how);
  return edited(result, weight, {}, [weight, how = std::move(how)](int threads) {
    return weight.inMemory(threads).and_then([&](const TensorView& in) { return narrowed(in, how, threads); });
  });
}

}  // namespace normlens::fold
