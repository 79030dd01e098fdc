// Finds which norms can take the residual add before them into one op. Private to formats/torchscript: includes torch.
//
// The op is where the add was, and what the norm read is handed on beside the sum: neither the sum nor its other
// readers notice. Thread: one at a time; the model must outlive what is here.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/formats/torchscript/edit/norms/apply_fused_norm.h"
#include "core/formats/torchscript/edit/sum_way.h"
#include "core/formats/torchscript/lower/lowered_model.h"

namespace normlens::formats::torchscript {

class FusableNorms {
 public:
  // `edits`: what else is done to the bodies, by now; `reads`: the program nodes that read something else by that, or
  // are left out.
  FusableNorms(const LoweredModel& model, const FrameEdits& edits, std::set<int> reads)
      : model_(model), reads_(std::move(reads)), tracer_(model) {
    for (const auto& ofBody : edits) untouched_.push_back(ofBody.empty());
  }

  // `norm`: a LayerNorm or RmsNorm of the graph; its shapes and types are those of the probe. nullopt unless
  // - it is over the last axis of a plain sum of two values of its own type and shape, gamma and beta too have that
  // type;
  // - add and norm run equally often, and nothing between them may write to memory or do anything else but compute;
  // - no other norm runs between them: by their order the norms of a fold are paired with the original's;
  // - gamma and beta can be read where the add is, or handed to it by a caller;
  // - the op in the written file would be called as the norm is;
  // - no norm that was tried before has taken this add.
  [[nodiscard]] std::optional<FusedNorm> take(graph::NodeId norm);

 private:
  [[nodiscard]] bool untouched(int frame) const { return untouched_[static_cast<size_t>(frame)]; }
  [[nodiscard]] OperandSite outermostReader(const OperandSite& norm) const;
  [[nodiscard]] bool sumsLike(const SumWay& way, graph::ValueId input) const;
  [[nodiscard]] bool canMoveUp(const SumWay& way, int norm) const;
  [[nodiscard]] bool readsUntouched(int frame) const;
  [[nodiscard]] bool findNumbers(const SumWay& way, const ProgramNode& norm, FusedNorm& fused) const;
  [[nodiscard]] bool keepsName(const SumWay& way, const ProgramNode& norm, bool gamma) const;

  const LoweredModel& model_;
  std::set<int> reads_;
  std::vector<bool> untouched_;  // by frame
  SumTracer tracer_;
  std::set<int> taken_;  // adds
};

}  // namespace normlens::formats::torchscript
