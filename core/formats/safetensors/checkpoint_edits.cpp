#include "core/formats/safetensors/checkpoint_edits.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/analysis/norms/whole_norm.h"
#include "core/base/printable.h"
#include "core/formats/edit/edit_refused.h"
#include "core/formats/safetensors/changes.h"
#include "core/formats/safetensors/match.h"
#include "core/formats/safetensors/moved_vectors.h"
#include "core/formats/safetensors/numbers.h"
#include "core/formats/safetensors/tied_names.h"
#include "core/graph/queries.h"

namespace normlens::formats::safetensors {
namespace {

using graph::ConstantId;
using graph::TensorView;
using Place = Checkpoint::Place;

bool sameOrder(const TensorView& a, const TensorView& b) {
  if (a.shape != b.shape) return false;
  for (size_t axis = 0; axis < a.shape.size(); ++axis) {
    if (a.shape[axis] > 1 && a.strides[axis] != b.strides[axis]) return false;
  }
  return true;
}

struct NotFound : EditRefused {
  NotFound(const std::string& what, std::string toDo) : EditRefused(what), hint(std::move(toDo)) {}
  std::string hint;
};

class Editor {
 public:
  Editor(const fold::FoldPlan& plan, const EditSource& source, const Checkpoint& checkpoint)
      : plan_(plan),
        source_(source),
        checkpoint_(checkpoint),
        matcher_(source.graph, checkpoint),
        moved_(movedVectors(plan, source.graph)),
        values_(graph::valuesOfConstants(source.graph)) {}

  CheckpointEdits run() {
    placeInCheckpoint();
    OpenedFiles files;
    for (const Shard& shard : checkpoint_.shards) files.push_back(shard.file);
    auto versions = std::make_shared<WeightVersions>(*graph_, std::move(files), [](ConstantId) { return false; });
    versions->add(plan_);
    versions_ = versions.get();
    for (const auto& [constant, all] : versions->changed()) edit(constant, all);
    for (const MovedVector& vector : moved_) fill(vector);
    collectNorms();
    noteEquals();
    if (edits_.untied) addOtherNames();
    for (const auto& [place, tensor] : edited_) edits_.tensors.push_back(tensor);
    for (auto& tensor : added_) edits_.tensors.push_back(std::move(tensor));
    edits_.graph = graph_;
    edits_.versions = std::move(versions);
    return std::move(edits_);
  }

 private:
  [[nodiscard]] const std::string& nameOf(ConstantId constant) const { return source_.graph.constant(constant).name; }
  [[nodiscard]] const graph::Uses& usesOf(ConstantId constant) const {
    return source_.graph.value(values_[static_cast<size_t>(constant)]).uses;
  }

  // The graph with the checkpoint's numbers in place of the model's, where an edit reads or changes them.
  void placeInCheckpoint() {
    auto graph = std::make_shared<graph::Graph>(source_.graph);
    for (const auto& [constant, why] : constantsOf(plan_, moved_, source_.graph)) {
      const Match& match = matcher_.match(constant);
      if (match.equal.empty()) throw NotFound(why + ", and " + matcher_.whyNotFound(constant), hintFor(constant));
      const Equal& first = match.chosen.empty() ? match.equal.front() : match.chosen.front();
      for (const Equal& other : match.chosen) {
        const bool alike = checkpoint_.at(other.place).type == checkpoint_.at(first.place).type;
        if (!alike)
          throw EditRefused("'" + checkpoint_.at(first.place).name + "' and '" + checkpoint_.at(other.place).name +
                            "' are one tensor of the model in two types");
      }
      graph->constants[static_cast<size_t>(constant)].view = first.view;
    }
    graph_ = std::move(graph);
  }

  // What can be done where it is not in the checkpoint.
  [[nodiscard]] std::string hintFor(ConstantId constant) const {
    for (const auto& edit : plan_.edits) {
      const auto* shift = std::get_if<fold::AbsorbShift>(&edit);
      if (shift != nullptr &&
          std::ranges::find(shift->parts, constant, &fold::AbsorbShift::Part::bias) != shift->parts.end())
        return "save a checkpoint that has this bias, or leave every β in its norm with --norm fast";
    }
    const int bits = graph::mantissaBits(source_.graph.constant(constant).view.dtype);
    const auto places = checkpoint_.places();
    const bool narrower = std::ranges::any_of(
        places, [&](const Place& place) { return graph::mantissaBits(checkpoint_.at(place).dtype) > bits; });
    return narrower ? "export the model in the type that the checkpoint has: narrower numbers are not equal to its own"
                    : "give the checkpoint that the model was exported from";
  }

  // Nothing of it is another number than before. What is not computed yet is taken for changed.
  [[nodiscard]] bool changesNothing(ConstantId constant, const std::vector<WeightVersion>& versions) const {
    const auto& pending = versions_->pending();
    const TensorView& before = graph_->constant(constant).view;
    return std::ranges::all_of(versions, [&](const WeightVersion& version) {
      return !version.changed() ||
             ((!pending || !pending->isAt(version.view.data)) && sameNumbers(version.view, before));
    });
  }

  // The tensors that it is, or a refusal.
  [[nodiscard]] std::vector<Equal> chosenFor(ConstantId constant) {
    const Match& match = matcher_.match(constant);
    if (!match.unsure.empty()) throw EditRefused("'" + nameOf(constant) + "' is to be edited, but " + match.unsure);
    std::set<Place> places;
    for (const Equal& equal : match.chosen) {
      if (!places.insert(equal.place).second)
        throw EditRefused(
            "'" + checkpoint_.at(equal.place).name +
            "' is to be edited along one axis, but is the same with its axes exchanged, so that it cannot be "
            "told along which");
    }
    return match.chosen;
  }

  void edit(ConstantId constant, const std::vector<WeightVersion>& versions) {
    if (changesNothing(constant, versions)) return;
    const auto chosen = chosenFor(constant);
    std::vector<Want> wants;
    for (const auto& version : versions) wants.push_back(wantOf(version.uses, version.changed() ? &version : nullptr));
    addTwins(constant, chosen, wants);
    if (wants.size() == 1) {
      for (const Equal& equal : chosen) set(equal, constant, wants[0]);
    } else {
      divide(constant, chosen, wants);
    }
  }

  // Some reads that want the same numbers.
  struct Want {
    std::vector<std::string> modules;
    bool table = false;                      // among them a lookup of rows
    const WeightVersion* version = nullptr;  // null: as it is
  };
  [[nodiscard]] Want wantOf(const graph::Uses& uses, const WeightVersion* version) const {
    const bool table = std::ranges::any_of(uses, [&](const graph::Use& use) {
      return use.node != graph::kNone && source_.graph.node(use.node).kind == graph::OpKind::Gather;
    });
    return {matcher_.modulesOf(uses), table, version};
  }

  // Constants of their own that the file of the model has for the same tensor (a tied head as ONNX has it), and that
  // are not edited.
  void addTwins(ConstantId constant, const std::vector<Equal>& chosen, std::vector<Want>& wants) {
    if (isUniform(source_.graph.constant(constant).view)) return;
    std::set<Place> places;
    for (const Equal& equal : chosen) places.insert(equal.place);
    for (const ConstantId twin : matcher_.twins(constant)) {
      const Match& match = matcher_.match(twin);
      const bool elsewhere = std::ranges::any_of(match.chosen.empty() ? match.equal : match.chosen,
                                                 [&](const Equal& equal) { return !places.contains(equal.place); });
      if (elsewhere) continue;
      if (versions_->changed().contains(twin))
        throw EditRefused("'" + nameOf(constant) + "' and '" + nameOf(twin) +
                          "' are both edited, and the checkpoint has '" + checkpoint_.at(chosen.front().place).name +
                          "' for both");
      wants.push_back(wantOf(usesOf(twin), nullptr));
    }
  }

  // A tied pair, an embedding and its head, of which one side keeps its numbers.
  void divide(ConstantId constant, const std::vector<Equal>& chosen, const std::vector<Want>& wants) {
    const std::string& first = checkpoint_.at(chosen.front().place).name;
    const auto tables = std::ranges::count_if(wants, &Want::table);
    if (wants.size() != 2 || tables != 1)
      throw EditRefused(
          "the places of the model that read '" + first +
          "' want different numbers, and it is no embedding with a head that is tied to it, so that its class "
          "has one tensor for all of them");
    std::vector<std::vector<std::string>> modules;
    for (const Want& want : wants) modules.push_back(want.modules);
    std::set<size_t> served;
    for (const Equal& equal : chosen) {
      const auto nearest = nearestModules(modules, checkpoint_.at(equal.place).name);
      if (!nearest)
        throw EditRefused("'" + checkpoint_.at(equal.place).name +
                          "' is to differ at the two places that read it, and no name tells which of them it is for");
      served.insert(*nearest);
      set(equal, constant, wants[*nearest]);
    }
    edits_.untied = true;
    for (size_t i = 0; i < wants.size(); ++i) {
      if (!served.contains(i)) add(constant, chosen.front(), wants[i]);
    }
  }

  // How names of the model are told in the checkpoint.
  [[nodiscard]] Fronts fronts(const std::string& tensor) const {
    std::vector<std::string> inModel, inCheckpoint;
    for (const auto& constant : source_.graph.constants) {
      inModel.push_back(constant.name);
      inModel.insert(inModel.end(), constant.aliases.begin(), constant.aliases.end());
    }
    for (const Place& place : checkpoint_.places()) inCheckpoint.push_back(checkpoint_.at(place).name);
    auto found = commonFronts(inModel, inCheckpoint);
    if (found) return std::move(*found);
    throw EditRefused("'" + tensor +
                      "' is to become two tensors, and no name of the model tells how the checkpoint would "
                      "call the other one");
  }

  void add(ConstantId constant, const Equal& equal, const Want& want) {
    const Tensor& tensor = checkpoint_.at(equal.place);
    const std::string inModel = want.modules.size() == 1 ? Matcher::inModule(want.modules[0], tensor.name) : "";
    const auto& aliases = source_.graph.constant(constant).aliases;
    const bool known = inModel == nameOf(constant) || std::ranges::find(aliases, inModel) != aliases.end();
    if (inModel.empty() || (source_.tellsAliases && !known))
      throw EditRefused(
          "'" + tensor.name +
          "' is to become two tensors, one for each place that reads it, but the model has one name for both");
    NewTensor made = tensorFor(equal, constant, want);
    made.name = asCheckpointTells(inModel, fronts(tensor.name));
    made.added = true;
    if (checkpoint_.find(made.name))
      throw EditRefused("'" + tensor.name + "' is to become two tensors, but the checkpoint has another '" + made.name +
                        "'");
    if (made.view.data == nullptr) made.view = checkpoint_.view(equal.place);
    added_.push_back(std::move(made));
  }

  [[nodiscard]] NewTensor tensorFor(const Equal& equal, ConstantId constant, const Want& want) const {
    NewTensor made;
    made.place = equal.place;
    made.name = checkpoint_.at(equal.place).name;
    made.constant = nameOf(constant);
    if (want.version == nullptr) return made;
    made.view = want.version->view;
    if (!sameOrder(made.view, equal.view))
      throw EditRefused("'" + made.name +
                        "' and another tensor of the same numbers have their axes in different orders");
    made.changes = changesOf(plan_, source_.norms, {constant, equal, checkpoint_.at(equal.place)}, want.version->uses);
    return made;
  }

  void set(const Equal& equal, ConstantId constant, const Want& want) {
    if (want.version == nullptr) return;
    if (!edited_.emplace(equal.place, tensorFor(equal, constant, want)).second)
      throw EditRefused("'" + checkpoint_.at(equal.place).name +
                        "' would be edited twice, as two constants of the model");
    if (want.table && std::ranges::all_of(usesOf(constant), [&](const graph::Use& use) {
          return use.node != graph::kNone && source_.graph.node(use.node).kind == graph::OpKind::Gather;
        }))
      edits_.tables.push_back(checkpoint_.at(equal.place).name);
  }

  [[nodiscard]] std::string normTitle(int norm) const { return source_.norms.at(static_cast<size_t>(norm)).title; }

  // A β that has moved becomes zeros, a scale ones.
  void fill(const MovedVector& vector) {
    const TensorView& own = graph_->constant(vector.constant).view;
    const bool ones = vector.norm < 0;
    const TensorView filled = filledLike(own, ones ? 1 : 0);
    if (sameNumbers(own, filled)) return;
    checkAllMoved(vector, source_.graph, usesOf(vector.constant));
    for (const Equal& equal : chosenFor(vector.constant)) {
      NewTensor made = tensorFor(equal, vector.constant, {});
      made.view = filled;
      made.changes.push_back({ones ? "ones" : "zeros", {}, {}, ones ? "" : normTitle(vector.norm)});
      edited_.insert_or_assign(equal.place, std::move(made));
    }
  }

  [[nodiscard]] std::string tensorOf(graph::ValueId value) {
    const ConstantId constant = value == graph::kNoValue ? graph::kNone : source_.graph.value(value).constant;
    if (constant == graph::kNone || source_.graph.constant(constant).view.data == nullptr) return {};
    const Match& match = matcher_.match(constant);
    return match.chosen.empty() ? std::string() : checkpoint_.at(match.chosen.front().place).name;
  }

  // Not only zeros.
  [[nodiscard]] bool hasShift(graph::ValueId beta) const {
    if (beta == graph::kNoValue) return false;
    const ConstantId constant = source_.graph.value(beta).constant;
    if (constant == graph::kNone) return true;
    const TensorView& view = source_.graph.constant(constant).view;
    return view.data == nullptr || !sameNumbers(view, filledLike(view, 0));
  }

  void collectNorms() {
    std::set<int> withoutBeta;
    for (const auto& edit : plan_.edits) {
      if (const auto* shift = std::get_if<fold::AbsorbShift>(&edit)) withoutBeta.insert(shift->norm);
    }
    for (const auto& edit : plan_.edits) {
      const auto* replaced = std::get_if<fold::ReplaceNorm>(&edit);
      if (replaced == nullptr) continue;
      const auto whole = analysis::wholeNorm(source_.graph, source_.norms.at(static_cast<size_t>(replaced->norm)));
      edits_.norms.push_back({replaced->norm, tensorOf(whole.gamma), tensorOf(whole.beta), hasShift(whole.beta),
                              withoutBeta.contains(replaced->norm)});
    }
  }

  // Tensors that were equal and no longer are: a class that ties them on loading would undo that.
  void noteEquals() {
    for (const auto& [place, tensor] : edited_) {
      const TensorView before = checkpoint_.view(place);
      if (before.shape.size() != 2 || isUniform(before)) continue;
      for (const Place& other : checkpoint_.places()) {
        if (!edited_.contains(other) && sameNumbers(before, checkpoint_.view(other))) edits_.untied = true;
      }
    }
  }

  // A configuration that ties nothing ties nothing else either (a head's bias to its decoder's): what the model has
  // under several names, and the checkpoint under one, is written under all of them.
  void addOtherNames() {
    for (size_t c = 0; c < source_.graph.constants.size(); ++c) {
      const auto constant = static_cast<ConstantId>(c);
      const auto& held = source_.graph.constants[c];
      if (values_[c] == graph::kNoValue || held.view.data == nullptr || !graph::isFloat(held.view.dtype)) continue;
      std::vector<std::string> names = held.aliases;
      names.push_back(held.name);
      if (names.size() == 1 && source_.tellsAliases) continue;
      const Match& match = matcher_.match(constant);
      if (match.chosen.empty()) continue;
      const Equal& equal = match.chosen.front();
      if (!source_.tellsAliases) names = namesOfReaders(constant, checkpoint_.at(equal.place).name);
      for (const auto& name : names) addUnder(asCheckpointTells(name, fronts(name)), constant, equal);
    }
  }

  // An ONNX file has one name: a module that reads the tensor, and is not where it has its name from, has it as well.
  [[nodiscard]] std::vector<std::string> namesOfReaders(ConstantId constant, const std::string& tensor) const {
    std::vector<std::string> names;
    for (const auto& module : matcher_.modulesOf(usesOf(constant))) {
      names.push_back(Matcher::inModule(module, tensor));
      if (commonEnd(names.back(), tensor) >= 2) return {};
    }
    return names;
  }

  void addUnder(const std::string& name, ConstantId constant, const Equal& equal) {
    const bool there = checkpoint_.find(name) || std::ranges::find(added_, name, &NewTensor::name) != added_.end();
    if (there) return;
    const auto edited = edited_.find(equal.place);
    NewTensor made = edited != edited_.end() ? edited->second : tensorFor(equal, constant, {});
    if (made.view.data == nullptr) made.view = checkpoint_.view(equal.place);
    made.name = name;
    made.added = true;
    added_.push_back(std::move(made));
  }

  const fold::FoldPlan& plan_;
  const EditSource& source_;
  const Checkpoint& checkpoint_;
  Matcher matcher_;
  std::vector<MovedVector> moved_;
  std::vector<graph::ValueId> values_;  // by constant
  std::shared_ptr<const graph::Graph> graph_;
  const WeightVersions* versions_ = nullptr;
  std::map<Place, NewTensor> edited_;
  std::vector<NewTensor> added_;
  CheckpointEdits edits_;
};

}  // namespace

Result<CheckpointEdits> editCheckpoint(const fold::FoldPlan& plan, const EditSource& source,
                                       const Checkpoint& checkpoint) {
  try {
    return Editor(plan, source, checkpoint).run();
  } catch (const NotFound& missing) {
    return fail(ErrorCode::Refused, printable("the checkpoint cannot be edited: " + std::string(missing.what())),
                missing.hint);
  } catch (const EditRefused& refused) {
    return fail(ErrorCode::Refused, printable("the checkpoint cannot be edited: " + std::string(refused.what())));
  }
}

}  // namespace normlens::formats::safetensors
