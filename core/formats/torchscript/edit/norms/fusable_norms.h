// Which norms can take the residual add before them into one op. Private to formats/torchscript: includes torch.
//
// The op stands where the add stood, and what the norm read is handed on beside the sum: neither the sum nor its other
// readers notice. Thread: one at a time; the model must outlive what is here.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/formats/torchscript/edit/norms/apply_fused_norm.h"
#include "core/formats/torchscript/edit/sum_way.h"
#include "core/formats/torchscript/program/torchscript_model.h"

namespace normlens::formats::torchscript {

// What other edits of the same plan do.
struct OtherEdits {
  std::vector<bool> untouched;  // by frame: none changes its body; empty: there are no other edits
  std::set<int> reads;          // program nodes that are to read something else, or are left out
};

class FusableNorms {
 public:
  explicit FusableNorms(const TorchScriptModel& model, OtherEdits others = {})
      : model_(model), others_(std::move(others)), tracer_(model) {}

  // `norm`: a LayerNorm or RmsNorm of the graph; its shapes and types are those of the probe. nullopt unless
  // - it is over the last axis of a plain sum of two values of its own type and shape, gamma and beta too have that
  // type;
  // - add and norm run equally often, and nothing between them may write to memory or do anything else but compute;
  // - gamma and beta can be read where the add is, or handed to it by a caller;
  // - the op in the written file would be called as the norm is;
  // - no norm that was asked about before has taken this add.
  [[nodiscard]] std::optional<FusedNorm> take(graph::NodeId norm);

 private:
  [[nodiscard]] bool untouched(int frame) const {
    return others_.untouched.empty() || others_.untouched[static_cast<size_t>(frame)];
  }
  [[nodiscard]] SumReader outermostReader(const SumReader& norm) const;
  [[nodiscard]] bool sumsLike(const SumWay& way, graph::ValueId input) const;
  [[nodiscard]] bool canMoveUp(const SumWay& way, int norm) const;
  [[nodiscard]] bool readsUntouched(int frame) const;
  [[nodiscard]] bool findNumbers(const SumWay& way, const ProgramNode& norm, FusedNorm& fused) const;
  [[nodiscard]] bool keepsName(const SumWay& way, const ProgramNode& norm, bool gamma) const;

  const TorchScriptModel& model_;
  OtherEdits others_;
  SumTracer tracer_;
  std::set<int> taken_;  // adds
};

}  // namespace normlens::formats::torchscript
