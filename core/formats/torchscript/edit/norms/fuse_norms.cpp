// joinNorms: norms that are written out become normlens::layer_norm and normlens::rms_norm;
// fuseNorms: residual add and norm as one op. Nothing is folded.
#include <bit>
#include <cstdint>
#include <functional>

#include "core/analysis/norms/whole_norm.h"
#include "core/formats/torchscript/edit/apply.h"
#include "core/formats/torchscript/edit/apply_new_nodes.h"
#include "core/formats/torchscript/edit/norms/fusable_norms.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/fast_norm.h"

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
  OperandSite x;
  std::optional<OperandSite> gamma, beta;
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
  explicit NormFinder(const LoweredModel& model) : model_(model) {}

  // nullopt unless the norm is over the last axis, and all of it is in one block of one body.
  [[nodiscard]] std::optional<NormInBody> find(const WholeNorm& norm) const {
    if (model_.lowered.programValue[static_cast<size_t>(norm.output)] == kNone) return std::nullopt;  // inside an op
    const ProgramNode& end = model_.programNode(model_.graph().value(norm.output).producer);
    if (norm.axes.size() != 1 || end.node->outputs().size() != 1 || !standsTogether(norm, end)) return std::nullopt;
    const auto x = readIn(end.frame, norm, norm.input);
    const NormInBody found{end.frame,
                           end.node,
                           x.value_or(OperandSite{}),
                           readIn(end.frame, norm, norm.gamma),
                           readIn(end.frame, norm, norm.beta),
                           norm.eps,
                           norm.centers};
    const bool complete = x && (norm.gamma == kNoValue || found.gamma) && (norm.beta == kNoValue || found.beta);
    return complete ? std::optional(found) : std::nullopt;
  }

 private:
  [[nodiscard]] bool standsTogether(const WholeNorm& norm, const ProgramNode& end) const {
    const Node* first = end.node;
    for (const NodeId member : norm.members) {
      const ProgramNode& place = model_.programNode(member);
      if (place.frame != end.frame || place.node->owningBlock() != end.node->owningBlock()) return false;
      if (place.node->isBefore(first)) first = place.node;
    }
    return isUndisturbed(first, end.node);
  }

  [[nodiscard]] std::optional<OperandSite> readIn(int frame, const WholeNorm& norm, ValueId value) const {
    const auto use = value == kNoValue ? std::nullopt : analysis::readOf(model_.graph(), norm, value);
    if (!use) return std::nullopt;
    const OperandSite& site = model_.lowered.siteOf(*use);
    return site.node != nullptr && site.frame == frame ? std::optional(site) : std::nullopt;
  }

  const LoweredModel& model_;
};

BodyEdit joinNorm(const NormInBody& norm) {
  const std::string op = norm.centers ? "normlens::layer_norm" : "normlens::rms_norm";
  std::string all = signature("join", op, norm.end, std::bit_cast<uint64_t>(norm.eps));
  for (const auto& site : {std::optional(norm.x), norm.gamma, norm.beta})
    all += site ? signature(site->node, site->input) : "none ";
  return {all,
          [norm, op](GraphCopy& copy) {
            Node* end = copy.at(norm.end);
            const torch::jit::WithInsertPoint here(end);
            const auto constant = [&](const std::optional<OperandSite>& site) {
              return site ? copy.read(*site) : copy.graph()->insertConstant(c10::IValue());
            };
            Value* x = copy.read(norm.x);
            Value* gamma = constant(norm.gamma);
            Value* beta = constant(norm.beta);
            Value* y = copy.graph()->insert(c10::Symbol::fromQualString(op), {x, gamma, beta, norm.eps});
            end->output(0)->replaceAllUsesWith(y);
            removeUnused({end});
          },
          journal::ReplaceNode{norm.end, /*readsOperands=*/false}};
}

const char* fusedOp(const Node& norm) {
  return isLayerNormOp(norm) ? "normlens::add_layer_norm" : "normlens::add_rms_norm";
}

// `edit` adds to the edits of the bodies and returns the names of the norms that it edits; `failed` is what cannot be
// done where it throws. Errors: Unsupported where there is no library of operators, Refused.
Result<RecordedEdits> editsOfNorms(const LoweredModel& model, const std::string& failed,
                                   const std::function<std::vector<std::string>(FrameEdits&)>& edit) {
  if (!fastNormAvailable()) {
    return fail(ErrorCode::Unsupported, "the operators of libnormlens_ops.so are not available here",
                "build NormLens with its kernels");
  }
  try {
    const c10::InferenceMode noGradients(false);
    RecordedEdits made{FrameEdits(model.program.frames.size()), {}, model.source.pending, {}};
    made.fused = edit(made.frames);
    return made;
  } catch (...) {
    return tl::unexpected(torchEditError(failed));
  }
}

}  // namespace

Result<RecordedEdits> recordJoins(const LoweredModel& model, const analysis::Norms& norms, const Task& task) {
  const auto joinable = analysis::joinableNorms(model.graph(), norms, /*rmsWithBeta=*/true);
  if (joinable.empty()) return RecordedEdits{};
  task.report("joining norms that are written out");
  return editsOfNorms(model, kNotJoined, [&](FrameEdits& frames) {
    std::vector<std::string> joined;
    for (const auto& [name, norm] : joinable) {
      const auto found = NormFinder(model).find(norm);
      if (!found) continue;
      frames[static_cast<size_t>(found->frame)].push_back(joinNorm(*found));
      joined.push_back(name);
    }
    return joined;
  });
}

Result<RecordedEdits> recordFusions(const LoweredModel& model, const analysis::Norms& norms, const Task& task) {
  task.report("fusing adds and norms");
  return editsOfNorms(model, kNotFused, [&](FrameEdits& frames) {
    std::vector<std::string> fused;
    FusableNorms fusable(model, frames, {});
    for (const auto& norm : analysis::normsOfOneOp(norms)) {
      const auto taken = fusable.take(norm.node);
      if (!taken) continue;
      fuseNorm(*taken, fusedOp(*taken->norm), frames);
      fused.push_back(norm.name);
    }
    return fused;
  });
}

}  // namespace normlens::formats::torchscript
