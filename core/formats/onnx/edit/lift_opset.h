// Brings a model to a newer version of the standard operators, node by node. Private to formats/onnx.
//
// onnx's version converter works on whole models and drops functions, metadata and value_info on the way. Here it sees
// one node at a time, in a model of its own, and only nodes whose definition changed between the versions; where the
// new form differs, it is put back in the place of the old one. Equal nodes are converted once.
// Thread: one.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "core/formats/onnx/edit/editable_model.h"
#include "core/formats/onnx/lower/lower.h"

namespace normlens::formats::onnx {

struct OpsetLift {
  // The new forms of all nodes as they are now; nothing is changed. Errors: Unsupported, why it cannot be done.
  [[nodiscard]] static Result<OpsetLift> plan(EditableModel& model, const Lowered& lowered, int target);

  // After EditableModel::finishNodes: new forms in their places, the version set. Nodes made by us are left alone.
  void apply(EditableModel& model) const;

  using Form = std::vector<NodeProto>;  // inputs and outputs are called i0, o0 ...; other names are local to it
  int target = 0;
  std::unordered_map<const NodeProto*, std::shared_ptr<const Form>> forms;  // of nodes that change
};

}  // namespace normlens::formats::onnx
