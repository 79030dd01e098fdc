// Turns a plan's edits, which name graph ids, into edits of a model's nodes. Private to formats/onnx. Thread: one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/formats/edit/edit_target.h"
#include "core/formats/model.h"
#include "core/formats/onnx/edit/apply_centering.h"
#include "core/formats/onnx/edit/editable_model.h"
#include "core/formats/onnx/edit/norms/apply_norm.h"
#include "core/formats/onnx/lower/lower.h"

namespace normlens::formats::onnx {

// Describes how the norms of the result are written.
struct Dialect {
  NormFlavour flavour = NormFlavour::Portable;
  int opset = 0;  // of the result's main graph

  // bodyOpset: of the body that the norm is in, in the result. Throws EditRefused.
  [[nodiscard]] NormStyle styleAt(int bodyOpset, bool insideFunction) const;
};

class NodeEdits final : public EditTarget {
 public:
  // usualType: of values whose type is not known; everyType: of all floats (a float64 twin).
  NodeEdits(const Lowered& lowered, EditableModel& model, Dialect dialect, graph::DType usualType,
            std::optional<graph::DType> everyType)
      : lowered_(lowered),
        graph_(lowered.graph),
        model_(model),
        dialect_(dialect),
        usualType_(usualType),
        everyType_(everyType) {}

  [[nodiscard]] bool isInside(const graph::Use& read) const override;
  void bypass(graph::NodeId node, size_t operand) override { leaveOut(node, operand); }
  void insert(graph::ValueId value, const graph::Uses& uses, const ReadCode& code) override;
  void drop(const graph::Use& use, std::optional<size_t> sum) override;
  void resize(const fold::ResizeAxis& edit) override;
  void replaceOp(const analysis::LayerNorm& norm, bool keepsBeta, const fold::Channels& narrow) override;
  void replaceDecomposed(const analysis::LayerNorm& norm) override;

 private:
  void tellSize(const fold::ResizeAxis& edit, const ReadSite& query);
  // The readers of the node's output read this operand of it, and broadcast it where the shapes differ.
  void leaveOut(graph::NodeId id, size_t operand);
  [[nodiscard]] int siteInput(graph::NodeId node, size_t operand) const;
  ReadSite siteOf(graph::NodeId node, size_t operand);
  ReadSite siteOf(const graph::Use& use, const std::string& valueName);
  ReadSite returnSite(const graph::Use& use);
  [[nodiscard]] int opsetOf(const Body& body) const;
  [[nodiscard]] graph::DType dtypeOf(graph::ValueId value, graph::DType otherwise) const;
  // Describes a norm without gamma and beta, in the place of the node.
  [[nodiscard]] NormToWrite describe(const analysis::LayerNorm& norm, const ReadSite& at, std::string input) const;
  [[nodiscard]] NormStyle styleIn(const Body& body) const;
  void write(const NormToWrite& norm);
  void writeOperator(const analysis::LayerNorm& norm, const ReadSite& at, bool keepsBeta, const fold::Channels& narrow);
  // The sum or the look-ups in front of a fused norm become nodes; the norm itself a LayerNormalization.
  void writeOut(const ReadSite& at);
  void replaceFused(const analysis::LayerNorm& norm, const ReadSite& at, bool keepsBeta);
  // The Mul that applies gamma to the norm's output, where that is all that happens to it.
  struct Scaling {
    ReadSite site;
    std::string gamma;
  };
  std::optional<Scaling> scalingOf(const analysis::LayerNorm& norm, const ReadSite& end);
  // Returns the name that the norm's subtraction, or the first node of one that is written anew, reads by now.
  std::string inputName(const analysis::LayerNorm& norm, const Body& body);
  // x - mean becomes x for the norm's own nodes, mean(x^2) - mean(x)^2 the former; whatever only the mean needed is
  // removed later.
  void dropSubtraction(const analysis::LayerNorm& norm);

  const Lowered& lowered_;
  const graph::Graph& graph_;
  EditableModel& model_;
  Dialect dialect_;
  graph::DType usualType_;
  std::optional<graph::DType> everyType_;
};

}  // namespace normlens::formats::onnx
