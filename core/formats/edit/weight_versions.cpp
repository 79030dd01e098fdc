#include "core/formats/edit/weight_versions.h"

#include <algorithm>
#include <tuple>

#include "core/base/parallel.h"
#include "core/fold/absorb.h"
#include "core/fold/center.h"
#include "core/fold/weight_memory.h"
#include "core/formats/edit/edit_refused.h"

namespace normlens::formats {
namespace {

void require(const Status& status) {
  if (!status) throw EditRefused(status.error().message);
}

// Where changed weights are to stand, each as large as its view.
class FreshMemory {
 public:
  explicit FreshMemory(const std::vector<graph::TensorView>& views) {
    for (const auto& view : views) sizes_.push_back(static_cast<size_t>(graph::byteCount(view)));
    memory_ = fold::allocateWeights(sizes_);
  }
  [[nodiscard]] std::span<std::byte> bytes(size_t i) const { return {memory_[i].get(), sizes_[i]}; }
  [[nodiscard]] const std::shared_ptr<std::byte>& memory(size_t i) const { return memory_[i]; }

 private:
  std::vector<size_t> sizes_;
  std::vector<std::shared_ptr<std::byte>> memory_;
};

bool contains(const graph::Uses& uses, const graph::Use& use) {
  return std::find(uses.begin(), uses.end(), use) != uses.end();
}

}  // namespace

size_t versionToHold(const std::vector<WeightVersion>& versions, const std::vector<size_t>& wanted) {
  const auto rank = [&](size_t v) { return std::tuple(wanted[v] > 0, !versions[v].changed, wanted[v]); };
  size_t best = 0;
  for (size_t v = 1; v < versions.size(); ++v) {
    if (rank(v) > rank(best)) best = v;
  }
  return best;
}

WeightVersions::WeightVersions(const graph::Graph& graph, ReadElsewhere readElsewhere)
    : graph_(graph),
      threads_(hardwareThreads()),
      readElsewhere_(std::move(readElsewhere)),
      values_(graph.constants.size(), graph::kNoValue) {
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const auto constant = graph.values[v].constant;
    if (constant != graph::kNone) values_[static_cast<size_t>(constant)] = static_cast<graph::ValueId>(v);
  }
}

void WeightVersions::add(const fold::FoldPlan& plan) {
  std::vector<const fold::AbsorbShift*> shifts;
  for (const auto& edit : plan.edits) {
    if (const auto* scaling = std::get_if<fold::AbsorbScale>(&edit)) scale(*scaling);
    if (const auto* centering = std::get_if<fold::CenterConstant>(&edit)) center(*centering);
    if (const auto* shift = std::get_if<fold::AbsorbShift>(&edit)) shifts.push_back(shift);
  }
  flush();
  absorb(shifts);
  std::erase_if(versions_, [](const auto& item) {
    return std::none_of(item.second.begin(), item.second.end(), [](const WeightVersion& v) { return v.changed; });
  });
}

std::vector<WeightVersion>& WeightVersions::versionsOf(graph::ConstantId constant) {
  auto& versions = versions_[constant];
  if (!versions.empty()) return versions;
  const auto& held = graph_.constant(constant);
  if (!held.volatileReason.empty()) throw EditRefused("'" + held.name + "' is not constant: " + held.volatileReason);
  WeightVersion all;
  all.uses = graph_.value(values_.at(static_cast<size_t>(constant))).uses;
  all.view = held.view;
  versions.push_back(std::move(all));
  if (readElsewhere_(constant)) {
    WeightVersion kept;
    kept.view = held.view;
    kept.keptForOthers = true;
    versions.push_back(std::move(kept));
  }
  return versions;
}

std::vector<WeightVersions::Ref> WeightVersions::versionsFor(graph::ConstantId constant, const graph::Uses* only) {
  auto& versions = versionsOf(constant);
  std::vector<Ref> out;
  const size_t count = versions.size();
  for (size_t v = 0; v < count; ++v) {
    if (versions[v].keptForOthers) continue;
    graph::Uses wanted, rest;
    for (const auto& use : versions[v].uses) (only == nullptr || contains(*only, use) ? wanted : rest).push_back(use);
    if (wanted.empty() && !(only == nullptr && versions[v].uses.empty())) continue;
    if (rest.empty()) {
      out.push_back({constant, v});
      continue;
    }
    if (versions[v].waiting) flush();
    WeightVersion split = versions[v];
    split.uses = std::move(wanted);
    versions[v].uses = std::move(rest);
    versions.push_back(std::move(split));
    out.push_back({constant, versions.size() - 1});
  }
  return out;
}

graph::TensorView WeightVersions::viewFor(graph::ConstantId constant, const graph::Use& use) {
  for (const auto& version : versionsOf(constant)) {
    if (contains(version.uses, use)) return version.view;
  }
  throw EditRefused("the plan names a read of '" + graph_.constant(constant).name + "' that does not exist");
}

std::vector<graph::TensorView> WeightVersions::viewsOf(const std::vector<Ref>& refs) {
  std::vector<graph::TensorView> views;
  views.reserve(refs.size());
  for (const auto& ref : refs) views.push_back(at(ref).view);
  return views;
}

void WeightVersions::give(const Ref& ref, std::shared_ptr<std::byte> memory) {
  WeightVersion& version = at(ref);
  version.view.strides = fold::outputStrides(version.view);
  version.view.data = memory.get();
  version.view.owner = std::move(memory);
  version.changed = true;
  version.waiting = false;
}

void WeightVersions::scale(const fold::AbsorbScale& edit) {
  for (const auto& part : edit.parts) {
    for (const auto& ref : versionsFor(part.constant, nullptr)) {
      if (at(ref).waiting) flush();
      const auto view = at(ref).view;
      const FreshMemory fresh({view});
      require(fold::scaleTensor(view, part.factor, part.addend, part.dim, fresh.bytes(0), threads_));
      give(ref, fresh.memory(0));
    }
  }
}

void WeightVersions::center(const fold::CenterConstant& edit) {
  const auto* only = edit.split ? &edit.uses : nullptr;
  if (edit.parts.size() == 1) {
    for (const auto& ref : versionsFor(edit.parts[0].constant, only)) queue(ref, edit.parts[0].pattern);
    return;
  }
  flush();
  std::vector<Ref> refs;
  for (const auto& part : edit.parts) {
    const auto versions = versionsFor(part.constant, only);
    if (versions.size() != 1) {
      throw EditRefused("weights to be centered together ('" + graph_.constant(part.constant).name +
                        "' is one) have been split differently before");
    }
    refs.push_back(versions[0]);
  }
  const FreshMemory fresh(viewsOf(refs));
  std::vector<fold::CenterJob> jobs;
  for (size_t i = 0; i < refs.size(); ++i) jobs.push_back({at(refs[i]).view, edit.parts[i].pattern, fresh.bytes(i)});
  require(fold::centerJointly(jobs, threads_));
  for (size_t i = 0; i < refs.size(); ++i) give(refs[i], fresh.memory(i));
}

void WeightVersions::absorb(const std::vector<const fold::AbsorbShift*>& edits) {
  std::vector<Ref> refs;
  std::vector<fold::ShiftJob> jobs;
  for (const auto* edit : edits) {
    const auto& node = graph_.node(edit->shiftNode);
    const auto shift = graph_.value(node.operands.at(static_cast<size_t>(edit->shiftOperand))).constant;
    if (shift == graph::kNone) throw EditRefused("the shift of '" + node.name + "' is not a constant");
    const auto beta = viewFor(shift, {edit->shiftNode, edit->shiftOperand, graph::kNone});
    const auto numbers = graph::toDoubles(beta);
    if (numbers && std::all_of(numbers->begin(), numbers->end(), [](double x) { return x == 0; })) continue;
    for (const auto& part : edit->parts) {
      const auto weight = viewFor(part.weight, part.weightUse);
      for (const auto& ref : versionsFor(part.bias, nullptr)) {
        refs.push_back(ref);
        jobs.push_back({weight, part.inputDim, beta, at(ref).view, {}});
      }
    }
  }
  const FreshMemory fresh(viewsOf(refs));
  for (size_t i = 0; i < jobs.size(); ++i) jobs[i].out = fresh.bytes(i);
  require(fold::absorbShifts(jobs, threads_));
  for (size_t i = 0; i < refs.size(); ++i) give(refs[i], fresh.memory(i));
}

void WeightVersions::queue(const Ref& ref, const ops::Pattern& pattern) {
  if (at(ref).waiting) flush();
  at(ref).waiting = true;
  waiting_.push_back({ref, pattern});
}

void WeightVersions::flush() {
  std::vector<Ref> refs;
  for (const auto& job : waiting_) refs.push_back(job.ref);
  const FreshMemory fresh(viewsOf(refs));
  std::vector<fold::CenterJob> jobs;
  for (size_t i = 0; i < refs.size(); ++i) jobs.push_back({at(refs[i]).view, waiting_[i].pattern, fresh.bytes(i)});
  require(fold::centerTensors(jobs, threads_));
  for (size_t i = 0; i < refs.size(); ++i) give(refs[i], fresh.memory(i));
  waiting_.clear();
}

}  // namespace normlens::formats
