// Run-time centerings: x - mean(groups of x), put before the reads that want it. Private to formats/onnx.
//
// Sizes of the probe run are never written into the file except those of summed factors, which the plan fixes: kept
// axes are copied or left to -1, so that the result works for the sizes that the original works for.
#pragma once

#include <string>
#include <vector>

#include "core/formats/onnx/edit/editable_model.h"
#include "core/graph/types.h"
#include "core/ops/pattern.h"

namespace normlens::formats::onnx {

// Reads in a called function, where it reads its input in no other way, become the call's read of what it hands in.
void leaveToCallers(EditableModel& model, std::vector<ReadSite>& reads);

// Centers the value that all `reads` read (under one name of one body) once, before the first of them, and redirects
// them. Throws EditRefused.
void insertCentering(EditableModel& model, const std::vector<ReadSite>& reads, int opset, const graph::Shape& shape,
                     const ops::Pattern& pattern);

}  // namespace normlens::formats::onnx
