// TorchScriptModel::joinNorms: norms that are written out become normlens::layer_norm and normlens::rms_norm.
#include <bit>
#include <cstdint>

#include "core/analysis/norms/whole_norm.h"
#include "core/formats/torchscript/edit/norms/apply_fused_norm.h"
#include "core/formats/torchscript/edit/norms/edited_norms.h"

namespace normlens::formats::torchscript {
namespace {

using analysis::WholeNorm;
using graph::kNoValue;
using graph::NodeId;
using graph::ValueId;
using torch::jit::Node;
using torch::jit::Value;

// A norm in the code of one body: what reads x, gamma and beta there, and the node whose output the norm's becomes.
struct NormInBody {
  int frame = 0;
  Node* end = nullptr;
  ReadSite x;
  std::optional<ReadSite> gamma, beta;
  double eps = 0;
  bool centers = false;
};

// From the first node to the last nothing is done but to compute: x is the same at both.
bool isUndisturbed(const Node* first, const Node* last) {
  const auto computes = [](const Node& node) { return node.blocks().empty() && onlyComputes(node); };
  while (first != last && computes(*first)) first = first->next();
  return first == last && computes(*last);
}

class NormFinder {
 public:
  explicit NormFinder(const TorchScriptModel& model) : model_(model) {}

  // nullopt unless the norm is over the last axis, and all of it stands in one block of one body.
  [[nodiscard]] std::optional<NormInBody> find(const WholeNorm& norm) const {
    if (model_.lowered().programValue[static_cast<size_t>(norm.output)] == kNone) return std::nullopt;  // inside an op
    const ProgramNode& end = programNode(model_.graph().value(norm.output).producer);
    if (norm.axes.size() != 1 || end.node->outputs().size() != 1 || !standsTogether(norm, end)) return std::nullopt;
    const auto x = readIn(end.frame, norm, norm.input);
    const NormInBody found{end.frame,
                           end.node,
                           x.value_or(ReadSite{}),
                           readIn(end.frame, norm, norm.gamma),
                           readIn(end.frame, norm, norm.beta),
                           norm.eps,
                           norm.centers};
    const bool complete = x && (norm.gamma == kNoValue || found.gamma) && (norm.beta == kNoValue || found.beta);
    return complete ? std::optional(found) : std::nullopt;
  }

 private:
  [[nodiscard]] const ProgramNode& programNode(NodeId node) const {
    return model_.program().nodes[static_cast<size_t>(model_.lowered().programNode[static_cast<size_t>(node)])];
  }

  [[nodiscard]] bool standsTogether(const WholeNorm& norm, const ProgramNode& end) const {
    const Node* first = end.node;
    for (const NodeId member : norm.members) {
      const ProgramNode& place = programNode(member);
      if (place.frame != end.frame || place.node->owningBlock() != end.node->owningBlock()) return false;
      if (place.node->isBefore(first)) first = place.node;
    }
    return isUndisturbed(first, end.node);
  }

  [[nodiscard]] std::optional<ReadSite> readIn(int frame, const WholeNorm& norm, ValueId value) const {
    const auto use = value == kNoValue ? std::nullopt : analysis::readOf(model_.graph(), norm, value);
    if (!use) return std::nullopt;
    const OperandSite& site =
        model_.lowered().operandSites[static_cast<size_t>(use->node)][static_cast<size_t>(use->operand)];
    return site.node != nullptr && site.frame == frame ? std::optional(ReadSite{site.node, site.input}) : std::nullopt;
  }

  const TorchScriptModel& model_;
};

std::string idOf(const std::optional<ReadSite>& site) {
  return site ? torchscript::idOf(site->node) + "." + std::to_string(site->input) : "none";
}

BodyEdit joinNorm(const NormInBody& norm) {
  const std::string op = norm.centers ? "normlens::layer_norm" : "normlens::rms_norm";
  const std::string signature = "join " + op + " " + torchscript::idOf(norm.end) + " " + idOf(norm.x) + " " +
                                idOf(norm.gamma) + " " + idOf(norm.beta) + " " +
                                std::to_string(std::bit_cast<uint64_t>(norm.eps));
  return {signature, [norm, op](GraphCopy& copy) {
            Node* end = copy.at(norm.end);
            const torch::jit::WithInsertPoint here(end);
            const auto read = [&](const ReadSite& site) {
              return copy.at(site.node)->input(static_cast<size_t>(site.input));
            };
            const auto constant = [&](const std::optional<ReadSite>& site) {
              return site ? read(*site) : copy.graph()->insertConstant(c10::IValue());
            };
            Value* x = read(norm.x);
            Value* gamma = constant(norm.gamma);
            Value* beta = constant(norm.beta);
            Value* y = copy.graph()->insert(c10::Symbol::fromQualString(op), {x, gamma, beta, norm.eps});
            end->output(0)->replaceAllUsesWith(y);
            removeUnused(end);
          }};
}

}  // namespace

Result<FusedModel> TorchScriptModel::joinNorms(const analysis::Norms& norms, const Task& task) const {
  const auto joinable = analysis::joinableNorms(graph(), norms, /*rmsWithBeta=*/true);
  if (joinable.empty()) return FusedModel{};
  task.report("joining norms that are written out");
  return withEditedNorms(*this, "the norms cannot be joined", [&](FrameEdits& frames) {
    std::vector<std::string> joined;
    for (const auto& [name, norm] : joinable) {
      const auto found = NormFinder(*this).find(norm);
      if (!found) continue;
      frames[static_cast<size_t>(found->frame)].push_back(joinNorm(*found));
      joined.push_back(name);
    }
    return joined;
  });
}

}  // namespace normlens::formats::torchscript
