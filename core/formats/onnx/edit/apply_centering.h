// Computes before some reads what they are to see in a value's place: run-time centerings, x - mean(groups of x), and
// what narrows a stream. Private to formats/onnx.
//
// Sizes of the probe run are never written into the file except those of summed factors, which the plan fixes: kept
// axes are copied or left to -1, so that the result works for the sizes that the original works for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/fold/stream_edits.h"
#include "core/formats/onnx/edit/node_maker.h"
#include "core/graph/types.h"
#include "core/ops/pattern.h"

namespace normlens::formats::onnx {

// Reads in a called function, where it reads its input in no other way, become the call's read of what it hands in.
void leaveToCallers(EditableModel& model, std::vector<ReadSite>& reads);

struct ReadCode {
  std::string suffix;  // of the names of its nodes
  std::function<std::string(NodeMaker& nodes, const std::string& x)> emit;
};
// Throws EditRefused.
[[nodiscard]] ReadCode centeringCode(const graph::Shape& shape, const ops::Pattern& pattern);
// A channel less, or all of them again. rank: of the value.
[[nodiscard]] ReadCode channelsCode(const fold::RewriteReads& edit, size_t rank);

// Writes the code for the value that all `reads` read (under one name of one body) once, before the first of them, and
// redirects them. Throws EditRefused.
void insertCode(EditableModel& model, const std::vector<ReadSite>& reads, int opset, const ReadCode& code);

}  // namespace normlens::formats::onnx
