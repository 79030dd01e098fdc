#include "core/formats/torchscript/apply_weights.h"

#include <algorithm>

#include "core/fold/weight_memory.h"

namespace normlens::formats::torchscript {
namespace {

// Memory for a changed tensor, laid out as the arithmetic of fold/ fills it.
struct FreshTensor {
  at::Tensor tensor;
  std::span<std::byte> bytes;
};

FreshTensor freshLike(const at::Tensor& original, const graph::TensorView& view) {
  const auto bytes = static_cast<size_t>(original.numel()) * original.element_size();
  const auto memory = fold::allocateWeight(bytes);
  if (memory == nullptr && bytes != 0) throw std::bad_alloc();
  // memory is captured: it lives as long as the tensor.
  auto tensor = at::from_blob(
      memory.get(), original.sizes(), fold::outputStrides(view), [memory](void*) {},
      at::TensorOptions().dtype(original.dtype()));
  return {std::move(tensor), {memory.get(), bytes}};
}

void require(const Status& status) {
  if (!status) throw EditRefused(status.error().message);
}

bool contains(const std::vector<graph::Use>& uses, const graph::Use& use) {
  return std::find(uses.begin(), uses.end(), use) != uses.end();
}

}  // namespace

WeightEdits::WeightEdits(const TorchScriptModel& model, const OtherEntries& others, int threads)
    : model_(model), others_(others), threads_(threads), values_(model.graph().constants.size(), graph::kNoValue) {
  const auto& values = model.graph().values;
  for (size_t v = 0; v < values.size(); ++v) {
    if (values[v].constant != graph::kNone) {
      values_[static_cast<size_t>(values[v].constant)] = static_cast<graph::ValueId>(v);
    }
  }
}

graph::ValueId WeightEdits::valueOf(graph::ConstantId constant) const {
  return values_.at(static_cast<size_t>(constant));
}

std::vector<WeightEdits::Version>& WeightEdits::versionsOf(graph::ConstantId constant) {
  auto& versions = versions_[constant];
  if (!versions.empty()) return versions;
  if (!model_.graph().constant(constant).volatileReason.empty()) {
    throw EditRefused("'" + model_.graph().constant(constant).name + "' is written while the model runs");
  }
  const auto& held =
      model_.program().constants[static_cast<size_t>(model_.lowered().programConstant[static_cast<size_t>(constant)])];
  Version all;
  all.uses = model_.graph().value(valueOf(constant)).uses;
  all.tensor = held.tensor;
  versions.push_back(std::move(all));
  // What other methods read stays as it is, in a version that no edit reaches.
  const bool readElsewhere = std::any_of(held.sites.begin(), held.sites.end(), [&](const TensorSite& site) {
    return site.owner && others_.attributes.count({site.owner.get(), site.attribute}) != 0;
  });
  if (readElsewhere) {
    Version kept;
    kept.tensor = held.tensor;
    kept.keptForOthers = true;
    versions.push_back(std::move(kept));
  }
  return versions;
}

std::vector<WeightEdits::VersionRef> WeightEdits::versionsFor(graph::ConstantId constant,
                                                              const std::vector<graph::Use>* only) {
  auto& versions = versionsOf(constant);
  std::vector<VersionRef> out;
  const size_t count = versions.size();
  for (size_t v = 0; v < count; ++v) {
    if (versions[v].keptForOthers) continue;
    std::vector<graph::Use> wanted, rest;
    for (const auto& use : versions[v].uses) (only == nullptr || contains(*only, use) ? wanted : rest).push_back(use);
    if (wanted.empty() && !(only == nullptr && versions[v].uses.empty())) continue;
    if (rest.empty()) {
      out.push_back({constant, v});
      continue;
    }
    if (versions[v].waiting) flush();
    Version split = versions[v];
    split.uses = std::move(wanted);
    versions[v].uses = std::move(rest);
    versions.push_back(std::move(split));
    out.push_back({constant, versions.size() - 1});
  }
  return out;
}

void WeightEdits::replaceTensor(const VersionRef& ref, at::Tensor tensor) {
  Version& version = at(ref);
  tensor.set_requires_grad(version.tensor.requires_grad());
  version.tensor = std::move(tensor);
  version.changed = true;
  version.waiting = false;
}

void WeightEdits::scale(const fold::AbsorbScale& edit) {
  for (const auto& part : edit.parts) {
    for (const auto& ref : versionsFor(part.constant, nullptr)) {
      if (at(ref).waiting) flush();
      const auto view = viewOf(at(ref).tensor);
      const auto fresh = freshLike(at(ref).tensor, view);
      require(fold::scaleTensor(view, part.factor, part.addend, part.dim, fresh.bytes, threads_));
      replaceTensor(ref, fresh.tensor);
    }
  }
}

void WeightEdits::center(const fold::CenterConstant& edit) {
  const auto* only = edit.split ? &edit.uses : nullptr;
  if (edit.parts.size() == 1) {
    for (const auto& ref : versionsFor(edit.parts[0].constant, only)) queue(ref, edit.parts[0].pattern);
    return;
  }
  flush();
  std::vector<VersionRef> refs;
  std::vector<FreshTensor> fresh;
  std::vector<fold::CenterJob> jobs;
  for (const auto& part : edit.parts) {
    const auto versions = versionsFor(part.constant, only);
    if (versions.size() != 1) {
      throw EditRefused("weights to be centered together ('" + model_.graph().constant(part.constant).name +
                        "' is one) have been split differently before");
    }
    refs.push_back(versions[0]);
    const auto view = viewOf(at(versions[0]).tensor);
    fresh.push_back(freshLike(at(versions[0]).tensor, view));
    jobs.push_back({view, part.pattern, fresh.back().bytes});
  }
  require(fold::centerJointly(jobs, threads_));
  for (size_t i = 0; i < refs.size(); ++i) replaceTensor(refs[i], fresh[i].tensor);
}

void WeightEdits::queue(const VersionRef& ref, const ops::Pattern& pattern) {
  if (at(ref).waiting) flush();
  at(ref).waiting = true;
  waiting_.push_back({ref, pattern});
}

void WeightEdits::flush() {
  std::vector<FreshTensor> fresh;
  std::vector<fold::CenterJob> jobs;
  for (const auto& job : waiting_) {
    const auto view = viewOf(at(job.version).tensor);
    fresh.push_back(freshLike(at(job.version).tensor, view));
    jobs.push_back({view, job.pattern, fresh.back().bytes});
  }
  require(fold::centerTensors(jobs, threads_));
  for (size_t i = 0; i < jobs.size(); ++i) replaceTensor(waiting_[i].version, fresh[i].tensor);
  waiting_.clear();
}

void WeightEdits::finish(FrameEdits& frames, EditsByInstance& instances) {
  flush();
  for (const auto& [constant, versions] : versions_) {
    const bool changed = std::any_of(versions.begin(), versions.end(), [](const Version& v) { return v.changed; });
    if (changed) place(constant, frames, instances);
  }
}

}  // namespace normlens::formats::torchscript
