#include "core/service/plans/checkpoint_export.h"

#include <algorithm>
#include <set>

#include "core/base/stopwatch.h"
#include "core/formats/safetensors/write.h"
#include "core/protocol/json.h"

namespace normlens::service {
namespace {

namespace safetensors = formats::safetensors;
using protocol::CheckpointRecipe;
using Fold = CheckpointExport::Fold;

std::vector<protocol::CheckpointTensor> tensorsOf(const safetensors::Checkpoint& checkpoint,
                                                  const safetensors::CheckpointEdits& edits) {
  std::vector<protocol::CheckpointTensor> all;
  for (const auto& tensor : edits.tensors) {
    const auto& held = checkpoint.at(tensor.place);
    protocol::CheckpointTensor told{
        tensor.name, checkpoint.shards[tensor.place.shard].name, held.type, held.shape, tensor.constant, tensor.added,
        {}};
    for (const auto& change : tensor.changes)
      told.changes.push_back({change.kind, change.axes, change.pattern, change.norm});
    all.push_back(std::move(told));
  }
  return all;
}

std::string moduleOf(const graph::Graph& graph, const analysis::LayerNorm& norm) {
  return graph.scope(graph.node(norm.node).scope).path;
}

// Modules that a LayerNorm of the model stays in: one that is called more than once is one module.
std::set<std::string> modulesThatStay(const Fold& fold) {
  const graph::Graph& graph = fold.model.graph();
  const auto& folded = fold.told.plan.folded;
  std::set<std::string> modules;
  for (const auto& norm : fold.norms) {
    if (std::ranges::find(folded, norm.index) == folded.end()) modules.insert(moduleOf(graph, norm));
  }
  return modules;
}

std::vector<protocol::CheckpointNorm> normsOf(const Fold& fold, const safetensors::CheckpointEdits& edits) {
  const auto stay = modulesThatStay(fold);
  std::vector<protocol::CheckpointNorm> all;
  for (const auto& tensors : edits.norms) {
    const auto& norm = fold.norms.at(static_cast<size_t>(tensors.norm));
    const std::string module = moduleOf(fold.model.graph(), norm);
    // Nodes that stand in no module of their own are told apart by their norm.
    const bool stays = norm.form == analysis::NormForm::Op && !module.empty() && stay.contains(module);
    all.push_back({norm.title, module, stays ? "LayerNorm" : "RMSNorm", norm.normalizedShape, norm.eps, tensors.gamma,
                   tensors.beta, tensors.hasBeta && !tensors.betaMoved ? "kept" : "none"});
  }
  return all;
}

std::vector<std::string> classChanges(const Fold& fold, const CheckpointRecipe& recipe) {
  std::vector<std::string> changes;
  const auto kept = std::ranges::count(recipe.norms, "kept", &protocol::CheckpointNorm::bias_is);
  changes.emplace_back("where `norms` says RMSNorm, torch.nn.RMSNorm(normalized_shape, eps=eps) with the same weight");
  if (kept > 0)
    changes.emplace_back(
        "where bias_is is kept, the bias is added to what the RMSNorm gives; elsewhere it is zeros and goes");
  for (const auto& edit : fold.told.plan.edits) {
    if (edit.kind == "insert_centering" || edit.kind == "drop_addend") changes.push_back(edit.text);
  }
  return changes;
}

void addNotes(const safetensors::Checkpoint& checkpoint, const safetensors::CheckpointEdits& edits,
              CheckpointRecipe& recipe) {
  const bool ties = safetensors::mayTie(checkpoint);
  if (edits.untied)
    recipe.notes.emplace_back(
        ties ? "config.json now says \"tie_word_embeddings\": false, because the embedding and its head differ"
             : "the embedding and its head differ now: what loads them must not tie them");
  for (const auto& table : edits.tables) {
    if (!edits.untied && ties)
      recipe.notes.push_back("the model has no head that shares '" + table +
                             "', whose rows are centered now: a class that ties one to it gives other outputs");
  }
  const bool rounds = std::ranges::any_of(
      recipe.tensors, [](const auto& tensor) { return tensor.dtype == "BF16" || tensor.dtype == "F16"; });
  if (rounds)
    recipe.notes.emplace_back(
        "edited numbers are rounded once to the type that the checkpoint has, and outputs move by as much");
}

}  // namespace

Result<CheckpointExport> CheckpointExport::prepare(const CheckpointFolder& folder, const Fold& fold) {
  CheckpointExport made;
  auto checkpoint = safetensors::openCheckpoint(folder.path, folder.files);
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  made.checkpoint_ = std::move(*checkpoint);
  // An ONNX file has one name for a tensor, whoever reads it.
  const safetensors::EditSource source{fold.model.graph(), fold.norms, fold.model.facts().format != "onnx"};
  auto edits = safetensors::editCheckpoint(fold.plan, source, made.checkpoint_);
  if (!edits) return tl::unexpected(edits.error());
  made.edits_ = std::move(*edits);
  CheckpointRecipe& recipe = made.recipe_;
  recipe.normlens = NORMLENS_VERSION;
  recipe.model = fold.model.facts().path.filename().string();
  recipe.checkpoint = std::filesystem::path(folder.path / "").parent_path().filename().string();
  recipe.policy = fold.told.plan.policy;
  recipe.tensors = tensorsOf(made.checkpoint_, made.edits_);
  recipe.norms = normsOf(fold, made.edits_);
  recipe.class_changes = classChanges(fold, recipe);
  recipe.untied = made.edits_.untied;
  addNotes(made.checkpoint_, made.edits_, recipe);
  recipe.left_out = made.checkpoint_.left;
  recipe.holds_if = fold.told.holds_if;
  return made;
}

Result<protocol::CheckpointResult> CheckpointExport::write(const std::filesystem::path& out, const Task& task) const {
  const Stopwatch watch;
  const std::string text =
      protocol::toJson(recipe_).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  const auto written = safetensors::writeCheckpoint(checkpoint_, edits_, out, text, task);
  if (!written) return tl::unexpected(written.error());
  return protocol::CheckpointResult{out.string(), static_cast<int64_t>(written->bytes),
                                    static_cast<int64_t>(written->files), watch.ms(), recipe_};
}

}  // namespace normlens::service
