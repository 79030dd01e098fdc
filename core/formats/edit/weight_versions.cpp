#include "core/formats/edit/weight_versions.h"

#include <algorithm>
#include <tuple>

#include "core/base/parallel.h"
#include "core/formats/edit/edit_refused.h"
#include "core/graph/contains.h"
#include "core/graph/queries.h"

namespace normlens::formats {
namespace {

// Smaller ones are computed at once: what looks at numbers (a norm's β, a scale) can then look at them.
constexpr int64_t kWorthWaiting = int64_t{256} << 10;  // bytes

// A query of the shape or the type is right with any version, so that it never stands in the way of placing one (a
// function of torch.nn.functional asks for its weight's size before it reads it).
void dropShapeQueries(const graph::Graph& graph, std::vector<WeightVersion>& versions) {
  const auto& shape = versions.front().view.shape;
  if (std::ranges::any_of(versions, [&](const WeightVersion& each) { return each.view.shape != shape; })) return;
  for (auto& version : versions) {
    graph::Uses reading;
    for (const auto& use : version.uses) {
      if (use.node == graph::kNone || graph.node(use.node).kind != graph::OpKind::ShapeQuery) reading.push_back(use);
    }
    version.uses = std::move(reading);
  }
}

}  // namespace

size_t versionToHold(const std::vector<WeightVersion>& versions, const std::vector<size_t>& wanted) {
  const auto rank = [&](size_t v) { return std::tuple(wanted[v] > 0, !versions[v].changed(), wanted[v]); };
  size_t best = 0;
  for (size_t v = 1; v < versions.size(); ++v) {
    if (rank(v) > rank(best)) best = v;
  }
  return best;
}

WeightVersions::WeightVersions(const graph::Graph& graph, OpenedFiles files, ReadElsewhere readElsewhere)
    : graph_(graph),
      files_(std::move(files)),
      threads_(hardwareThreads()),
      readElsewhere_(std::move(readElsewhere)),
      values_(graph::valuesOfConstants(graph)) {}

void WeightVersions::add(const fold::FoldPlan& plan) {
  for (const auto& edit : plan.edits) {
    if (const auto* scaling = std::get_if<fold::AbsorbScale>(&edit)) scale(*scaling);
    if (const auto* centering = std::get_if<fold::CenterConstant>(&edit)) center(*centering);
  }
  for (const auto& edit : plan.edits) {
    if (const auto* shift = std::get_if<fold::AbsorbShift>(&edit)) absorb(*shift);
  }
  for (const auto& edit : plan.edits) {
    if (const auto* gain = std::get_if<fold::AbsorbGain>(&edit)) absorb(*gain);
  }
  narrow(plan.streams);
  std::erase_if(versions_, [](const auto& item) { return std::ranges::none_of(item.second, &WeightVersion::changed); });
  giveViews();
  for (auto& [constant, versions] : versions_) dropShapeQueries(graph_, versions);
}

std::vector<WeightVersion>& WeightVersions::versionsOf(graph::ConstantId constant) {
  auto& versions = versions_[constant];
  if (!versions.empty()) return versions;
  const auto& held = graph_.constant(constant);
  if (!held.volatileReason.empty()) throw EditRefused("'" + held.name + "' is not constant: " + held.volatileReason);
  WeightVersion all;
  all.uses = graph_.value(values_.at(static_cast<size_t>(constant))).uses;
  all.source.view = held.view;
  versions.push_back(std::move(all));
  if (readElsewhere_(constant)) {
    WeightVersion kept;
    kept.source.view = held.view;
    kept.keptForOthers = true;
    versions.push_back(std::move(kept));
  }
  return versions;
}

std::vector<fold::WeightSource*> WeightVersions::sourcesFor(graph::ConstantId constant, const graph::Uses* only) {
  auto& versions = versionsOf(constant);
  std::vector<size_t> chosen;
  const size_t count = versions.size();
  for (size_t v = 0; v < count; ++v) {
    if (versions[v].keptForOthers) continue;
    graph::Uses wanted, rest;
    for (const auto& use : versions[v].uses) (only == nullptr || contains(*only, use) ? wanted : rest).push_back(use);
    if (wanted.empty() && !(only == nullptr && versions[v].uses.empty())) continue;
    if (rest.empty()) {
      chosen.push_back(v);
      continue;
    }
    WeightVersion split = versions[v];
    split.uses = std::move(wanted);
    versions[v].uses = std::move(rest);
    chosen.push_back(versions.size());
    versions.push_back(std::move(split));
  }
  std::vector<fold::WeightSource*> sources;
  for (const size_t v : chosen) sources.push_back(&versions[v].source);
  return sources;
}

const fold::WeightSource& WeightVersions::sourceFor(graph::ConstantId constant, const graph::Use& use) {
  for (const auto& version : versionsOf(constant)) {
    if (contains(version.uses, use)) return version.source;
  }
  throw EditRefused("the plan names a read of '" + graph_.constant(constant).name + "' that does not exist");
}

void WeightVersions::scale(const fold::AbsorbScale& edit) {
  for (const auto& part : edit.parts) {
    for (auto* source : sourcesFor(part.constant, nullptr))
      *source = fold::scale(*source, {part.factor, part.addend, part.dim});
  }
}

void WeightVersions::center(const fold::CenterConstant& edit) {
  const auto* only = edit.split ? &edit.uses : nullptr;
  if (edit.parts.size() == 1) {
    const auto& part = edit.parts[0];
    for (auto* source : sourcesFor(part.constant, only)) *source = fold::center(*source, part.pattern);
    return;
  }
  std::vector<fold::WeightSource*> sources;
  std::vector<fold::JointPart> parts;
  for (const auto& part : edit.parts) {
    const auto found = sourcesFor(part.constant, only);
    if (found.size() != 1) {
      throw EditRefused("weights to be centered together ('" + graph_.constant(part.constant).name +
                        "' is one) have been split differently before");
    }
    sources.push_back(found[0]);
    parts.push_back({*found[0], part.pattern});
  }
  auto centered = fold::centerJointly(parts);
  for (size_t i = 0; i < sources.size(); ++i) *sources[i] = std::move(centered[i]);
}

std::vector<double> WeightVersions::numbersOf(const graph::Use& read, const char* what) {
  const auto& node = graph_.node(read.node);
  const auto constant = graph_.value(node.operands.at(static_cast<size_t>(read.operand))).constant;
  if (constant == graph::kNone)
    throw EditRefused(std::string("the ") + what + " of '" + node.name + "' is not a constant");
  const auto held = sourceFor(constant, read).inMemory(threads_);
  auto numbers = held ? graph::toDoubles(*held) : std::nullopt;
  if (!numbers)
    throw EditRefused(std::string("the ") + what + " of '" + node.name + "' is not of a real floating type");
  return std::move(*numbers);
}

void WeightVersions::absorb(const fold::AbsorbShift& edit) {
  const auto beta = numbersOf({edit.shiftNode, edit.shiftOperand, graph::kNone}, "shift");
  if (std::ranges::all_of(beta, [](double x) { return x == 0; })) return;
  for (const auto& part : edit.parts) {
    const fold::WeightSource weight = sourceFor(part.weight, part.weightUse);
    for (auto* source : sourcesFor(part.bias, nullptr)) *source = fold::shift(*source, weight, part.inputDim, beta);
  }
}

void WeightVersions::absorb(const fold::AbsorbGain& edit) {
  const graph::Use read{edit.gainNode, edit.gainOperand, graph::kNone};
  const auto gamma = numbersOf(read, "scale");
  for (const auto& part : edit.parts) {
    for (auto* source : sourcesFor(part.weight, nullptr)) *source = fold::scale(*source, {gamma, {}, part.inputDim});
  }
  const auto& node = graph_.node(edit.gainNode);
  if (node.kind == graph::OpKind::Mul) return;  // it is left out
  const auto constant = graph_.value(node.operands.at(static_cast<size_t>(edit.gainOperand))).constant;
  const graph::Uses only{read};
  const auto axis = static_cast<int>(graph_.constant(constant).view.shape.size()) - 1;
  const std::vector<double> zeros(gamma.size(), 0.0), ones(gamma.size(), 1.0);
  for (auto* source : sourcesFor(constant, &only)) *source = fold::scale(*source, {zeros, ones, axis});
}

void WeightVersions::narrow(const fold::StreamEdits& streams) {
  for (const auto& edit : streams.constants) {
    const fold::Narrowing how{edit.channels, edit.dim, factorOf(edit)};
    for (auto* source : sourcesFor(edit.constant, &edit.uses)) *source = fold::narrow(*source, how);
  }
}

std::vector<double> WeightVersions::factorOf(const fold::NarrowConstant& edit) {
  const double scale = edit.channels.scale();
  std::vector<double> factor(static_cast<size_t>(edit.channels.full), edit.readsNorm ? 1 / scale : scale);
  if (edit.gamma.node == graph::kNone) return factor;
  const auto gamma = numbersOf(edit.gamma, "scale");
  for (size_t i = 0; i < factor.size(); ++i) factor[i] *= gamma.at(i);
  return factor;
}

// Small ones side by side, each on one thread. What versions share (split, and not edited since) is computed once.
void WeightVersions::giveViews() {
  std::map<const fold::EditedWeight*, graph::TensorView> views;
  std::vector<fold::WeightSource> small;
  std::vector<std::shared_ptr<const fold::EditedWeight>> large;
  for (auto& [constant, versions] : versions_) {
    for (auto& version : versions) {
      version.view = version.source.view;
      if (!version.changed() || !views.try_emplace(version.source.edited.get()).second) continue;
      if (graph::byteCount(version.view) < kWorthWaiting) {
        small.push_back(version.source);
      } else {
        large.push_back(version.source.edited);
      }
    }
  }
  std::vector<Result<graph::TensorView>> computed(small.size());
  parallelFor(threads_, static_cast<int64_t>(small.size()), [&](int64_t i) {
    const auto& source = small[static_cast<size_t>(i)];
    computed[static_cast<size_t>(i)] = source.inMemory(1);
    letGoOfOrigins(*source.edited, files_);
  });
  for (size_t i = 0; i < small.size(); ++i) {
    if (!computed[i]) throw EditRefused(computed[i].error().message);
    views[small[i].edited.get()] = std::move(*computed[i]);
  }
  if (!large.empty()) pending_ = fold::PendingWeights::reserve(large);
  for (size_t i = 0; i < large.size(); ++i) views[large[i].get()] = pending_->view(i);
  for (auto& [constant, versions] : versions_) {
    for (auto& version : versions) {
      if (version.changed()) version.view = views.at(version.source.edited.get());
    }
  }
}

}  // namespace normlens::formats
