// Plain words for what the analysis found: one sentence per verdict, one line per edit, the zero-mean graph of a norm.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/analysis/analysis.h"
#include "core/analysis/norms/group_norms.h"

namespace normlens::analysis {

// "addmm" of "aten::addmm"
[[nodiscard]] std::string opLabel(const graph::Node& node);
// "transformer.h.0.attn.c_proj (addmm)"; a value by the node that makes it.
[[nodiscard]] std::string describeNode(const graph::Graph& graph, graph::NodeId id);
[[nodiscard]] std::string describeValue(const graph::Graph& graph, graph::ValueId id);
struct EditWords {
  std::string text;     // "center wte.weight (a copy: its other readers keep the original)"
  std::string subject;  // "wte.weight"
  std::string because;  // The brackets hold it; it may be empty.
};
[[nodiscard]] EditWords describeEdit(const graph::Graph& graph, const std::vector<LayerNorm>& norms,
                                     const PlannedEdit& planned);
// The node that an edit is best shown at; kNone if there is none.
[[nodiscard]] graph::NodeId placeOfEdit(const graph::Graph& graph, const std::vector<LayerNorm>& norms,
                                        const fold::Edit& edit);

// Fills reason, blockerPath and blocker of every verdict. A blocked norm becomes unknown where only missing shapes are
// in its way.
void explainVerdicts(Analysis& analysis);

// Whether the gamma of an RMSNorm can move into the linears behind it, and what shows it or is in the way: a sentence
// without its capital. nullopt: it is no RMSNorm, or has no gamma.
[[nodiscard]] std::optional<OtherVerdict> gammaVerdict(const graph::Graph& graph, const OtherNorm& norm);

// Makes a sentence a reason that can follow "because": without capital and full stop.
[[nodiscard]] std::string asReason(std::string sentence);
// Returns what keeps the norm from being folded without a centering, as such a reason; empty: nothing does.
[[nodiscard]] std::string blockerInWords(const Analysis& analysis, int norm);
// By how many percent of all its constants a copy makes the file grow.
[[nodiscard]] double growthPercent(const Analysis& analysis, int64_t bytes);
// "13%"
[[nodiscard]] std::string percentText(double percent);

// Definition 4.2 of paper 001 for one norm: what decides it.
struct ZeroMeanVertex {
  graph::NodeId node = graph::kNone;
  NodeClass vertexClass = NodeClass::Opaque;
  std::string note;
};
struct ZeroMeanGraph {
  std::vector<ZeroMeanVertex> vertices;
  std::vector<graph::ValueId> values;
  std::vector<std::string> leaves;
};
[[nodiscard]] ZeroMeanGraph zeroMeanGraph(const Analysis& analysis, int norm);

}  // namespace normlens::analysis
