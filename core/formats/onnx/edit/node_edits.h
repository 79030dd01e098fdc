// Turns a plan's edits, which name graph ids, into edits of a model's nodes. Private to formats/onnx. Thread: one.
#pragma once

#include <memory>
#include <optional>

#include "core/formats/edit/edit_target.h"
#include "core/formats/model.h"
#include "core/formats/onnx/edit/editable_model.h"
#include "core/formats/onnx/lower/lower.h"

namespace normlens::formats::onnx {

// Describes how the norms of the result are written.
struct Dialect {
  NormFlavour flavour = NormFlavour::Portable;
  int opset = 0;  // of the result's main graph
};

// usualType: of values whose type is not known; everyType: of all floats (a float64 twin).
[[nodiscard]] std::unique_ptr<EditTarget> nodeEdits(const Lowered& lowered, EditableModel& model, Dialect dialect,
                                                    graph::DType usualType, std::optional<graph::DType> everyType);

}  // namespace normlens::formats::onnx
