// A FoldPlan, told in graph ids, turned into edits of a model's nodes; its tensors are place_weights'. Private to
// formats/onnx.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/fold/plan.h"
#include "core/formats/dropped_reads.h"
#include "core/formats/model.h"
#include "core/formats/onnx/edit/apply_norm.h"
#include "core/formats/onnx/edit/editable_model.h"
#include "core/formats/onnx/lower/lower.h"

namespace normlens::formats::onnx {

// What the norms of the result look like.
struct Dialect {
  NormFlavour flavour = NormFlavour::Portable;
  int opset = 0;  // of the result's main graph

  // bodyOpset: of the body that the norm stands in, in the result. Throws EditRefused.
  [[nodiscard]] NormStyle styleAt(int bodyOpset, bool insideFunction) const;
};

// Edits that cannot be made exactly throw EditRefused.
class PlanTranslator {
 public:
  // usualType: of values whose type is not known; everyType: of all floats (a float64 twin).
  PlanTranslator(const Lowered& lowered, EditableModel& model, const fold::FoldPlan& plan,
                 const std::vector<analysis::LayerNorm>& norms, Dialect dialect, graph::DType usualType,
                 std::optional<graph::DType> everyType)
      : lowered_(lowered),
        graph_(lowered.graph),
        model_(model),
        dropped_(plan),
        norms_(norms),
        dialect_(dialect),
        usualType_(usualType),
        everyType_(everyType) {}

  void add(const fold::AbsorbScale& edit);
  // A norm of its own op loses its input when it is replaced.
  void add(const fold::AbsorbShift& edit);
  void add(const fold::InsertCentering& edit);
  void dropAddends();
  void add(const fold::ReplaceNorm& edit);
  // A value that exists only inside a fused operation: the operation has to be written out to get at it.
  [[nodiscard]] bool readsInside(const fold::InsertCentering& edit) const;
  void checkComplete() const;

 private:
  // The readers of the node's output read this operand of it.
  void bypass(graph::NodeId id, size_t operand);
  void drop(const graph::Use& use);
  void leaveOut(graph::NodeId id, size_t operand);  // the same where shapes may differ: the reader broadcasts
  [[nodiscard]] int inputOf(graph::NodeId node, size_t operand) const;
  ReadSite siteOf(graph::NodeId node, size_t operand);
  ReadSite siteOf(const graph::Use& use, const std::string& valueName);
  ReadSite returnSite(const graph::Use& use);
  [[nodiscard]] int opsetOf(const Body& body) const;
  [[nodiscard]] graph::DType dtypeOf(graph::ValueId value, graph::DType otherwise) const;
  [[nodiscard]] NormToWrite describe(const analysis::LayerNorm& norm, const ReadSite& at, bool keepsBeta) const;
  void fillTypes(const analysis::LayerNorm& norm, NormToWrite& out) const;
  void write(const NormToWrite& norm);
  // The sum or the look-ups in front of a fused norm become nodes; the norm itself a LayerNormalization.
  void writeOut(const ReadSite& at);
  void replaceFused(const analysis::LayerNorm& norm, const ReadSite& at, bool keepsBeta);
  // The Mul that applies gamma to the norm's output, where that is all that happens to it.
  struct Scaling {
    ReadSite site;
    std::string gamma;
  };
  std::optional<Scaling> scalingOf(const analysis::LayerNorm& norm, const ReadSite& end);
  void replaceDecomposed(const analysis::LayerNorm& norm);
  void replaceWhole(const analysis::LayerNorm& norm);
  // What the norm's subtraction, or the first node of one that is written anew, reads by now.
  std::string inputName(const analysis::LayerNorm& norm, const Body& body);
  // x - mean becomes x for the norm's own nodes, mean(x^2) - mean(x)^2 the former; whatever only the mean needed is
  // removed later.
  void dropSubtraction(const analysis::LayerNorm& norm);

  const Lowered& lowered_;
  const graph::Graph& graph_;
  EditableModel& model_;
  DroppedReads dropped_;
  const std::vector<analysis::LayerNorm>& norms_;
  Dialect dialect_;
  graph::DType usualType_;
  std::optional<graph::DType> everyType_;
  std::set<int> withoutBeta_;  // norms whose beta has moved, until they are replaced
};

}  // namespace normlens::formats::onnx
