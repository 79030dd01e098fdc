// recordPlan: records the edits of a FoldPlan, which names graph ids.
#include "core/formats/torchscript/edit/apply.h"

#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/edit/plan_translator.h"
#include "core/formats/torchscript/edit/apply_new_nodes.h"
#include "core/formats/torchscript/edit/carry_means.h"
#include "core/formats/torchscript/edit/centering_bodies.h"
#include "core/formats/torchscript/edit/norms/fusable_norms.h"
#include "core/formats/torchscript/edit/place_weights.h"
#include "core/formats/torchscript/program/error_text.h"
#include "core/formats/torchscript/program/fast_norm.h"
#include "core/formats/torchscript/program/hidden_calls.h"
#include "core/formats/torchscript/program/memory_sharing.h"
#include "core/graph/queries.h"

namespace normlens::formats::torchscript {
namespace {

using analysis::LayerNorm;
using graph::kNoValue;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

// The edits of the code; those of the weights are in `frames` and run before these.
class CodeEdits final : public EditTarget {
 public:
  CodeEdits(const LoweredModel& model, NormFlavour flavour, FrameEdits& frames, EditsByInstance& instances)
      : model_(model), flavour_(flavour), frames_(frames), instances_(instances) {}

  [[nodiscard]] bool isInside(const graph::Use& read) const override {
    return siteOf(read).node == nullptr && (entersFusedNorm(read) || entersSumOfProduct(read));
  }

  void bypass(NodeId id, size_t operand) override {
    const auto& node = model_.graph().node(id);
    const auto& site = siteOf({id, static_cast<int>(operand)});
    const auto& torchNode = programNode(id);
    const bool inSum = addsProduct(*torchNode.node) && (node.kind != OpKind::Add || site.node == nullptr);
    if (inSum) {  // the product inside, or the sum, is left out; the other stays
      const bool isProduct = site.node == nullptr;
      inside_.emplace_back(torchNode.frame,
                           isProduct ? productAlone(torchNode.node) : addWithoutFactor(torchNode.node, site.input));
      return;
    }
    const bool wholeOp = torchNode.outputs.size() == node.outputs.size();
    if (site.node != torchNode.node || !wholeOp)
      throw EditRefused("'" + node.name + "' does not read its operand directly");
    redirected_.insert(model_.lowered.programNode[static_cast<size_t>(id)]);
    edits(torchNode.frame).push_back(bypassNode(torchNode.node, site.input));
  }

  void insert(ValueId read, const graph::Uses& uses, const ReadCode& code) override {
    const int value = model_.lowered.programValue[static_cast<size_t>(read)];
    CenteredReads reads{model_.program.value(value).frame, {}, isWrittenInto(value), code};
    bool inside = false;
    for (const auto& use : uses) {
      if (use.node != graph::kNone) redirected_.insert(model_.lowered.programNode[static_cast<size_t>(use.node)]);
      const auto& site = siteOf(use);
      if (site.node != nullptr) {
        reads.writtenInto = reads.writtenInto || writesInto(*site.node, static_cast<size_t>(site.input));
        reads.reads.push_back(readAt(site));
      } else {
        inside = true;
        reads.reads.push_back(writeOutFor(use, read));
      }
    }
    if (!inside) return centerAcrossBodies(model_.program, reads, frames_);
    FrameEdits later(frames_.size());
    centerAcrossBodies(model_.program, reads, later);
    for (size_t f = 0; f < later.size(); ++f) {
      for (auto& made : later[f]) inside_.emplace_back(static_cast<int>(f), std::move(made));
    }
  }

  void restore(const std::vector<fold::RestoreMean>& edits) override {
    for (const auto& edit : edits) {
      for (const graph::Use& use : edit.uses) {
        if (use.node != graph::kNone) redirected_.insert(model_.lowered.programNode[static_cast<size_t>(use.node)]);
      }
    }
    carryMeans(model_, edits, frames_, instances_);
  }

  void resize(const fold::ResizeAxis& edit) override {
    const auto& node = programNode(edit.node);
    const auto& of = model_.graph().node(edit.node);
    if (of.kind != OpKind::ShapeQuery)
      return edits(node.frame).push_back(resizeAxis(node.node, edit.axis, edit.channels));
    const auto rank = static_cast<int>(model_.graph().value(of.operands.at(0)).shape.value().size());
    edits(node.frame).push_back(tellSize(node.node, edit.axis, rank, edit.channels));
  }

  void drop(const graph::Use& use, std::optional<size_t> sum) override {
    const auto& site = siteOf(use);
    if (site.node == nullptr) throw EditRefused("an addend that is to be dropped has no place of its own in the code");
    if (use.node != graph::kNone) redirected_.insert(model_.lowered.programNode[static_cast<size_t>(use.node)]);
    if (sum && isPlainSum(programNode(use.node)) && site.node == programNode(use.node).node) {
      leftOut_[site.frame].push_back(site.node);
      return edits(site.frame).push_back(bypassNode(site.node, static_cast<int>(*sum), /*stays=*/true));
    }
    edits(site.frame).push_back(readZeros(site));
  }

  void replaceOp(const LayerNorm& norm, KeptVectors kept, int64_t narrow) override {
    const auto& node = programNode(norm.node);
    if (!isLayerNormOp(*node.node)) {
      throw EditRefused("'" + norm.name + "' is part of a fused operation, " + node.node->kind().toQualString());
    }
    replacements_.push_back({norm.node, node.frame, describe(norm, node.node, kept, narrow)});
  }

  // x - mean becomes x, a variance of x or mean(x^2) - mean(x)^2 its mean square; whatever only the mean needed is
  // removed.
  void replaceDecomposed(const LayerNorm& norm, KeptVectors /*kept*/) override {
    const auto& graph = model_.graph();
    for (const auto& leftOut : norm.leftOut) leaveOut(leftOut);
    if (norm.anew) return;
    for (const NodeId member : norm.members) {
      const auto& node = graph.node(member);
      const auto& torchNode = programNode(member);
      if (node.kind == OpKind::Sub && node.operands[0] == norm.input) {
        leaveOut({member, 0});
      } else if (node.kind == OpKind::Reduce && graph::stringAttribute(node, "op") == "var") {
        edits(torchNode.frame).push_back(varianceToMeanSquare(torchNode.node));
      }
    }
  }

  void finish() {
    for (auto& [frame, edit] : inside_) edits(frame).push_back(std::move(edit));
    std::optional<FusableNorms> fusable;
    if (flavour_ == NormFlavour::Fast) fusable.emplace(model_, frames_, redirected_);
    for (const Replacement& replacement : replacements_) replace(replacement, fusable ? &*fusable : nullptr);
    for (auto& [frame, nodes] : leftOut_) edits(frame).push_back(removeNodes(std::move(nodes)));
  }

 private:
  struct Replacement {
    NodeId norm;
    int frame;
    NormReplacement how;
  };

  // The sum of an op that adds and normalizes.
  [[nodiscard]] bool entersFusedNorm(const graph::Use& use) const {
    return use.node != graph::kNone && use.operand == 0 && model_.graph().node(use.node).kind == OpKind::LayerNorm &&
           programNode(use.node).node->outputs().size() == 2;
  }

  // The product of an op that adds it to something.
  [[nodiscard]] bool entersSumOfProduct(const graph::Use& use) const {
    return use.node != graph::kNone && use.operand == 1 && addsProduct(*programNode(use.node).node);
  }

  // Its operands are its first two inputs, and nothing would show whether its result is one of them.
  [[nodiscard]] bool isPlainSum(const ProgramNode& at) const {
    if (at.node->kind() != c10::aten::add && at.node->kind() != c10::aten::sub) return false;
    return std::ranges::none_of(model_.program.nodes, [](const ProgramNode& each) {
      return mayMutate(*each.node) || runsHiddenCode(*each.node);
    });
  }

  [[nodiscard]] bool isWrittenInto(int value) const {
    const auto& renamed = model_.program.inPlace.renamed;
    return std::ranges::any_of(renamed, [&](const auto& values) { return std::ranges::count(values, value) > 0; });
  }

  // After all edits that go by the inputs of the fused op; the op's part that is read is its own then.
  CenteredReads::Read writeOutFor(const graph::Use& use, ValueId value) {
    const bool inNorm = entersFusedNorm(use);
    if (!inNorm && !entersSumOfProduct(use))
      throw EditRefused("'" + model_.graph().value(value).name +
                        "' is read out of a list and cannot be centered there");
    const ProgramNode& at = programNode(use.node);
    inside_.emplace_back(at.frame, inNorm ? writeOutAddNorm(at.node) : writeOutProduct(at.node));
    return {{at.frame, at.node, use.operand}, inNorm ? at.node->output(0) : nullptr};
  }

  // Last of all edits: what they do to a norm and to what it reads decides whether it can be fused. The fast flavour
  // takes the add before the norm into its op.
  void replace(const Replacement& replacement, FusableNorms* fusable) {
    const NormReplacement& how = replacement.how;
    auto fused = fusable && how.narrow == 0 ? fusable->take(replacement.norm) : std::nullopt;
    if (!fused) return edits(replacement.frame).push_back(replaceNorm(how));
    if (!how.beta) fused->beta.reset();
    fuseNorm(*fused, "normlens::add_rms_norm", frames_);
    if (!fused->crossesBodies()) return;
    edits(replacement.frame).push_back(replaceNorm(how));
    edits(replacement.frame).back().use = BodyUse::Alone;
  }

  std::vector<BodyEdit>& edits(int frame) { return frames_[static_cast<size_t>(frame)]; }

  [[nodiscard]] const ProgramNode& programNode(NodeId node) const { return model_.programNode(node); }
  [[nodiscard]] const OperandSite& siteOf(const graph::Use& use) const { return model_.lowered.siteOf(use); }

  [[nodiscard]] graph::DType dtypeOf(ValueId value) const {
    return value == kNoValue ? graph::DType::Unknown : model_.graph().value(value).dtype;
  }

  NormReplacement describe(const LayerNorm& norm, torch::jit::Node* node, KeptVectors kept, int64_t narrow) const {
    NormReplacement out;
    out.node = node;
    out.axes = static_cast<int>(norm.axes.size());
    if (norm.type != NormType::LayerNorm) {
      out.groups = norm.groups;
      out.sizes = norm.normalizedShape;
      const graph::Shape& shape = model_.graph().value(norm.input).shape.value();
      if (shape.size() > 2) {
        out.affine.assign(shape.size() - 1, 1);
        out.affine.front() = shape[1];
      }
    }
    // The fast norm works over the last axis only.
    out.flavour = flavour_ == NormFlavour::Fast && out.axes != 1 ? NormFlavour::Portable : flavour_;
    out.narrow = narrow;
    out.gamma = norm.gamma != kNoValue && kept.gamma;
    out.beta = norm.beta != kNoValue && kept.beta;
    auto input = dtypeOf(norm.input);
    if (input == graph::DType::Unknown) input = model_.facts.dtype;
    out.computeInFloat32 = input == graph::DType::Float16 || input == graph::DType::BFloat16;
    const auto differs = [&](ValueId value) {
      const auto dtype = dtypeOf(value);
      return dtype != graph::DType::Unknown && dtype != input;
    };
    out.castBack = ((out.gamma && differs(norm.gamma)) || (out.beta && differs(norm.beta))) &&
                   out.flavour != NormFlavour::Primitives;
    return out;
  }

  void leaveOut(const LayerNorm::LeftOut& leftOut) {
    const auto& torchNode = programNode(leftOut.node);
    const auto& site = siteOf({leftOut.node, static_cast<int>(leftOut.operand)});
    edits(torchNode.frame).push_back(bypassNode(torchNode.node, site.input));
  }

  const LoweredModel& model_;
  NormFlavour flavour_;
  std::map<int, std::vector<torch::jit::Node*>> leftOut_;  // by frame: sums without their addend
  std::set<int> redirected_;                               // program nodes that read something else, or are left out
  std::vector<Replacement> replacements_;
  std::vector<std::pair<int, BodyEdit>> inside_;  // by frame
  FrameEdits& frames_;
  EditsByInstance& instances_;
};

}  // namespace

Result<RecordedEdits> recordPlan(const LoweredModel& model, const fold::FoldPlan& plan,
                                 const std::vector<analysis::LayerNorm>& norms, NormFlavour flavour, const Task& task) {
  if (flavour == NormFlavour::Fast && replacesNorms(plan) && !fastNormAvailable()) {
    return fail(ErrorCode::Unsupported, "the operator normlens::rms_norm of libnormlens_ops.so is not available here",
                {"build NormLens with its kernels, or fold", HintKey::PortableNorm});
  }
  RETURN_IF_ERROR(model.source.computeWeights(task));
  try {
    const c10::InferenceMode noGradients(false);
    task.report("centering weights");
    const auto& archive = model.source.archive;
    const OpenedFiles files{archive ? archive->sharedFile() : nullptr};
    WeightVersions weights(model.graph(), files, [&](graph::ConstantId constant) {
      return std::ranges::any_of(model.constantTensor(constant).sites,
                                 [&](const TensorSite& site) { return model.program.isReadElsewhere(site); });
    });
    weights.add(plan);
    if (auto status = task.check(); !status) return tl::unexpected<Error>(status.error());

    // Reads are redirected first: the code edits may remove the nodes that read.
    RecordedEdits made{FrameEdits(model.program.frames.size()), {}, weights.pending(), {}};
    placeWeights(model, weights, made.frames, made.instances);
    CodeEdits code(model, flavour, made.frames, made.instances);
    translate(plan, model.graph(), norms, code);
    code.finish();
    task.report("rewriting the code");
    return made;
  } catch (...) {
    return tl::unexpected(torchEditError(kNotApplied));
  }
}

}  // namespace normlens::formats::torchscript
