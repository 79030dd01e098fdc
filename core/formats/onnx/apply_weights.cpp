#include "core/formats/onnx/apply_weights.h"

#include <algorithm>
#include <new>

#include "core/fold/weight_memory.h"

namespace normlens::formats::onnx {
namespace {

void require(const Status& status) {
  if (!status) throw EditRefused(status.error().message);
}

size_t bytesOf(const graph::TensorView& view) {
  return static_cast<size_t>(graph::elementCount(view.shape).value_or(0)) * graph::dtypeBytes(view.dtype);
}

std::shared_ptr<std::byte> memoryFor(const graph::TensorView& view) {
  auto memory = fold::allocateWeight(bytesOf(view));
  if (memory == nullptr && bytesOf(view) != 0) throw std::bad_alloc();
  return memory;
}

std::span<std::byte> spanOf(const std::shared_ptr<std::byte>& memory, const graph::TensorView& view) {
  return {memory.get(), bytesOf(view)};
}

bool contains(const std::vector<graph::Use>& uses, const graph::Use& use) {
  return std::find(uses.begin(), uses.end(), use) != uses.end();
}

}  // namespace

WeightEdits::WeightEdits(const Lowered& lowered, EditableModel& model, int threads)
    : lowered_(lowered), model_(model), threads_(threads), values_(lowered.graph.constants.size(), graph::kNoValue) {
  const auto& values = lowered.graph.values;
  for (size_t v = 0; v < values.size(); ++v) {
    if (values[v].constant != graph::kNone) {
      values_[static_cast<size_t>(values[v].constant)] = static_cast<graph::ValueId>(v);
    }
  }
}

std::vector<WeightEdits::Version>& WeightEdits::versionsOf(graph::ConstantId constant) {
  auto& versions = versions_[constant];
  if (!versions.empty()) return versions;
  const auto& held = lowered_.graph.constant(constant);
  if (!held.volatileReason.empty()) throw EditRefused("'" + held.name + "' is not constant: " + held.volatileReason);
  if (!held.view.contiguous()) throw EditRefused("'" + held.name + "' is not stored as one piece");
  versions.push_back({lowered_.graph.value(values_.at(static_cast<size_t>(constant))).uses, held.view});
  return versions;
}

std::vector<WeightEdits::VersionRef> WeightEdits::versionsFor(graph::ConstantId constant,
                                                              const std::vector<graph::Use>* only) {
  auto& versions = versionsOf(constant);
  std::vector<VersionRef> out;
  const size_t count = versions.size();
  for (size_t v = 0; v < count; ++v) {
    std::vector<graph::Use> wanted, rest;
    for (const auto& use : versions[v].uses) (only == nullptr || contains(*only, use) ? wanted : rest).push_back(use);
    if (wanted.empty()) continue;
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

void WeightEdits::give(const VersionRef& ref, const std::shared_ptr<std::byte>& memory) {
  Version& version = at(ref);
  version.view.data = memory.get();
  version.view.owner = memory;
  version.changed = true;
  version.waiting = false;
}

void WeightEdits::scale(const fold::AbsorbScale& edit) {
  for (const auto& part : edit.parts) {
    for (const auto& ref : versionsFor(part.constant, nullptr)) {
      if (at(ref).waiting) flush();
      const auto view = at(ref).view;
      const auto memory = memoryFor(view);
      require(fold::scaleTensor(view, part.factor, part.addend, part.dim, spanOf(memory, view), threads_));
      give(ref, memory);
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
  std::vector<std::shared_ptr<std::byte>> memories;
  std::vector<fold::CenterJob> jobs;
  for (const auto& part : edit.parts) {
    const auto versions = versionsFor(part.constant, only);
    if (versions.size() != 1) {
      throw EditRefused("weights to be centered together ('" + lowered_.graph.constant(part.constant).name +
                        "' is one) have been split differently before");
    }
    const auto view = at(versions[0]).view;
    refs.push_back(versions[0]);
    memories.push_back(memoryFor(view));
    jobs.push_back({view, part.pattern, spanOf(memories.back(), view)});
  }
  require(fold::centerJointly(jobs, threads_));
  for (size_t i = 0; i < refs.size(); ++i) give(refs[i], memories[i]);
}

void WeightEdits::queue(const VersionRef& ref, const ops::Pattern& pattern) {
  if (at(ref).waiting) flush();
  at(ref).waiting = true;
  waiting_.push_back({ref, pattern});
}

void WeightEdits::flush() {
  std::vector<std::shared_ptr<std::byte>> memories;
  std::vector<fold::CenterJob> jobs;
  for (const auto& job : waiting_) {
    const auto view = at(job.version).view;
    memories.push_back(memoryFor(view));
    jobs.push_back({view, job.pattern, spanOf(memories.back(), view)});
  }
  require(fold::centerTensors(jobs, threads_));
  for (size_t i = 0; i < jobs.size(); ++i) give(waiting_[i].version, memories[i]);
  waiting_.clear();
}

void WeightEdits::finish() {
  flush();
  for (const auto& [constant, versions] : versions_) {
    if (std::any_of(versions.begin(), versions.end(), [](const Version& v) { return v.changed; })) place(constant);
  }
}

}  // namespace normlens::formats::onnx
