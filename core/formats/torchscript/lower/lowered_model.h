// An opened model as the rooms of this format see it: the module, its flat program and its graph. They are functions of
// it; the class that is the format's Model stands on top of them (model/torchscript_model.h).
//
// A value: made by lowered() or by what copies or edits one. Only shapes come later, by what a probe or the file says.
// Private to formats/torchscript: includes torch.
#pragma once

#include <optional>

#include "core/formats/model.h"
#include "core/formats/torchscript/lower/lower.h"
#include "core/formats/torchscript/program/module_source.h"

namespace normlens::formats::torchscript {

struct LoweredModel {
  ModuleSource source;
  Program program;
  ModelFacts facts;
  Lowered lowered{};
  std::optional<Error> neverRun{};  // instead of any run: forward() has an op that no model may run (forbidden_ops.h)
  std::optional<ProbeRecords> records{};  // The last successful probe's.

  [[nodiscard]] const graph::Graph& graph() const { return lowered.graph; }
  // Return what a node and a constant of the graph are in the program.
  [[nodiscard]] const ProgramNode& programNode(graph::NodeId node) const {
    return program.node(lowered.programNode[static_cast<size_t>(node)]);
  }
  [[nodiscard]] const ConstantTensor& constantTensor(graph::ConstantId constant) const {
    return program.constants[static_cast<size_t>(lowered.programConstant[static_cast<size_t>(constant)])];
  }

  // Shapes and types from a probe, or from who knows them without a run. made: by value of the program.
  void adoptRecords(ProbeRecords made);
  // Takes over what a probe of `twin` found. The two have the same program; `floats`: the type of all that is of a
  // floating type there, Unknown: its own.
  void adoptProbe(const LoweredModel& twin, graph::DType floats = graph::DType::Unknown);
};

// Walks the module's forward() and makes its graph; nothing is read from disk. `facts`: of the file it came from
// (path, fileBytes, modified); the rest is counted anew. Errors: Unsupported.
[[nodiscard]] Result<LoweredModel> lowered(ModuleSource source, ModelFacts facts);

}  // namespace normlens::formats::torchscript
