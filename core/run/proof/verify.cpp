#include "core/run/proof/verify.h"

#include <algorithm>

#include "core/run/compare/compare_models.h"
#include "core/run/proof/algebra_proof.h"
#include "core/run/proof/file_proof.h"
#include "core/run/proof/hidden_norms.h"

namespace normlens::run {
namespace {

using formats::Model;
using formats::Tensors;

void decide(Verification& result) {
  const AlgebraOutcome& algebra = result.algebra;
  FileOutcome& file = result.file;
  const auto vacuous = std::ranges::find_if(file.outputs, &TensorDiff::vacuous);
  if (algebra.refuted || (file.worst && !file.passes)) {
    result.exact = false;
  } else if (algebra.worst && !algebra.reason.empty()) {
    result.exact.reset();  // float64 was measured, and something is wrong with it
  } else if (vacuous != file.outputs.end()) {
    file.reason = "'" + vacuous->name + "' is not finite anywhere, in the original as in the folded model, " +
                  "which proves nothing";
  } else if (file.worst && !algebra.telling && !file.telling) {
    file.reason =
        "no output holds a floating-point number on these inputs, nor could what decides them be "
        "compared: nothing is proved";
  } else if (!algebra.unseen.empty() || !file.unseen.empty()) {
    file.reason = whyHidden(algebra.unseen.empty() ? file.unseen : algebra.unseen);
  } else if (file.worst && file.reason.empty()) {
    result.exact = true;  // where float64 is impossible the files alone decide
  }
}

const fold::ReplaceNorm* replacement(const fold::Edit& edit) { return std::get_if<fold::ReplaceNorm>(&edit); }

// Norms outside of branches and loops run whenever the model does.
std::vector<std::string> replacedNormsNotRun(const FoldUnderTest& fold, const Tensors& sample, const Task& task) {
  const graph::Graph& graph = fold.original.graph();
  std::vector<const analysis::LayerNorm*> norms;
  std::vector<graph::ValueId> outputs;
  for (const fold::Edit& edit : fold.plan.edits) {
    const auto* replace = replacement(edit);
    if (replace == nullptr) continue;
    const auto& norm = fold.norms.at(static_cast<size_t>(replace->norm));
    if (graph.node(norm.node).block == 0) continue;
    norms.push_back(&norm);
    outputs.push_back(norm.output);
  }
  if (norms.empty()) return {};
  const auto captured = fold.original.runCapturing(sample, outputs, task);
  std::vector<std::string> names;
  for (size_t i = 0; captured && i < norms.size(); ++i) {
    if ((*captured)[i].view.dtype == graph::DType::Unknown) names.push_back(norms[i]->name);
  }
  return names;
}

// Returns whether this read is of a norm's gamma or beta, in the norm or in the ops behind it.
bool isAtNorm(const graph::Graph& graph, const graph::Use& use, const analysis::LayerNorm& norm) {
  if (use.node == graph::kNone) return false;
  if (use.node == norm.node) return true;
  return std::ranges::any_of(graph.node(use.node).operands, [&](graph::ValueId operand) {
    if (operand == graph::kNoValue) return false;
    if (operand == norm.output) return true;
    const graph::NodeId before = graph.value(operand).producer;
    if (before == graph::kNone) return false;
    const auto& read = graph.node(before).operands;
    return std::ranges::find(read, norm.output) != read.end();
  });
}

// A plan may center a norm's own beta: its output is another one then.
void addOutputs(const FoldUnderTest& fold, ChangeUnderTest& change) {
  change.otherOutputs.emplace();
  for (const fold::Edit& edit : fold.plan.edits) {
    const auto* replace = replacement(edit);
    if (replace == nullptr) continue;
    const auto& norm = fold.norms.at(static_cast<size_t>(replace->norm));
    const bool centered = std::ranges::any_of(fold.plan.edits, [&](const fold::Edit& other) {
      const auto* center = std::get_if<fold::CenterConstant>(&other);
      return center != nullptr && std::ranges::any_of(center->uses, [&](const graph::Use& use) {
               return isAtNorm(fold.original.graph(), use, norm);
             });
    });
    (centered ? *change.otherOutputs : change.keptOutputs).push_back(norm.output);
  }
}

}  // namespace

Result<Verification> verifyFold(const FoldUnderTest& fold, const Tensors& sample, const VerifyOptions& options,
                                const Task& task) {
  const auto apply = [&](const Model& twin) { return twin.apply(fold.plan, fold.norms, options.flavour, task); };
  ChangeUnderTest change{fold.original, fold.folded, apply, fold.norms};
  addOutputs(fold, change);
  auto verification = verifyChange(change, sample, options, task);
  if (verification) verification->notRun = replacedNormsNotRun(fold, sample, task);
  return verification;
}

Result<Verification> verifyChange(const ChangeUnderTest& change, const Tensors& sample, const VerifyOptions& options,
                                  const Task& task) {
  const InnerSites inner(change);
  ASSIGN_OR_RETURN(auto algebra, proveAlgebra(change, inner, sample, options, task));
  auto file = compareFiles(change, inner, sample, options, algebra, task);
  algebra.inputs.clear();
  algebra.outputs.clear();
  if (!file) return tl::unexpected(file.error());
  if (file->worst && !file->passes && algebra.firstDiverging.empty()) {
    algebra.firstDiverging = firstDiverging(change.original, change.norms, change.changed, sample, file->limit, task);
  }
  Verification result;
  result.firstDiverging = std::move(algebra.firstDiverging);
  result.algebra = std::move(algebra);
  result.file = std::move(*file);
  result.fileType = change.original.facts().dtype;
  decide(result);
  return result;
}

}  // namespace normlens::run
