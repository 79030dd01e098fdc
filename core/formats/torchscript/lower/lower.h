// Program -> graph::Graph, with the way back from each graph operand to the torch node that reads it.
//
// Lists and tuples are flattened away, in-place ops are renamed into SSA form where that is safe, and ops are mapped to
// kinds by the table in op_map.cpp. The structure (ids) depends on the program only; records of a probe run add shapes,
// dtypes and the attributes that need a rank. Private to formats/torchscript.
#pragma once

#include <compare>
#include <vector>

#include "core/formats/torchscript/program/probe_records.h"
#include "core/formats/torchscript/program/program.h"
#include "core/graph/graph.h"

namespace normlens::formats::torchscript {

// Names where torch reads an operand: input `input` of `node`, which lives in the graph of `frame`. `node` is the op
// itself, the prim::ListConstruct or prim::TupleConstruct that the op's list came from (`frame` is then that of the
// construct), or the return node of a block or graph. node == nullptr: the operand has no single place (an element of a
// list known only as a whole).
struct OperandSite {
  int frame = 0;
  torch::jit::Node* node = nullptr;
  int input = 0;
  int value = kNone;  // the program value that is read there; kNone: not known

  auto operator<=>(const OperandSite&) const = default;
};

struct Lowered {
  graph::Graph graph;
  // By graph node: the program node it stands for (always one).
  std::vector<int> programNode;
  // By graph node and operand.
  std::vector<std::vector<OperandSite>> operandSites;
  // By graph block and return.
  std::vector<std::vector<OperandSite>> returnSites;
  // By graph value: the program value whose run-time content it is; kNone for literals.
  std::vector<int> programValue;
  // By graph value: where in that content it is, when that is a tuple or list; empty: the content itself.
  std::vector<std::vector<int>> elementPath;
  // By graph constant: index in Program::constants.
  std::vector<int> programConstant;
  // By program value: the graph value; graph::kNoValue where it was flattened away or is bookkeeping of lists.
  std::vector<graph::ValueId> graphValue;

  [[nodiscard]] const OperandSite& siteOf(const graph::Use& use) const {
    const auto& sites = use.node != graph::kNone ? operandSites[static_cast<size_t>(use.node)]
                                                 : returnSites[static_cast<size_t>(use.block)];
    return sites[static_cast<size_t>(use.operand)];
  }
};

// records may be null: no shapes then.
[[nodiscard]] Lowered lowerProgram(const Program& program, const ProbeRecords* records);

}  // namespace normlens::formats::torchscript
