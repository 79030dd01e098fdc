// Computes before some reads what they are to see in a value's place: run-time centerings, x - mean(groups of x), and
// what narrows a stream. Private to formats/onnx.
//
// Sizes of the probe run are never written into the file except those of summed factors, which the plan fixes: kept
// axes are copied or left to -1, so that the result works for the sizes that the original works for.
#pragma once

#include <vector>

#include "core/formats/edit/read_code.h"
#include "core/formats/onnx/edit/node_maker.h"

namespace normlens::formats::onnx {

// Reads in a called function, where it reads its input in no other way, become the call's read of what it hands in.
void leaveToCallers(EditableModel& model, std::vector<ReadSite>& reads);

// Writes the code for the value that all `reads` read (under one name of one body) once, before the first of them, and
// redirects them. dtype: the value's. Throws EditRefused.
void insertCode(EditableModel& model, const std::vector<ReadSite>& reads, int opset, graph::DType dtype,
                const ReadCode& code);

}  // namespace normlens::formats::onnx
