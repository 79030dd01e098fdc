// The ModelProto that a session is made from, and what of it comes from the source unchanged. Private to formats/onnx;
// no ONNX Runtime.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/formats/onnx/source/onnx_source.h"
#include "core/formats/onnx/types/flatten_functions.h"

namespace normlens::formats::onnx {

struct SessionModel {
  ModelProto proto;  // weights have data_location EXTERNAL and no data
  std::shared_ptr<const Weights> weights;
  std::shared_ptr<const MappedFile> file;  // that weights without a location of their own are stored in; may be null
  std::vector<TapSite> sites;              // by tap index
};

struct SessionWishes {
  TapFilter taps;              // empty: no taps
  bool tapKnownOnly = false;   // only values known to be tensors; else unknown ones too, going by their operators
  bool ownKernels = false;     // nodes on doubles that ONNX Runtime cannot run go to our kernels; of a twin always
  bool turnedInPlace = false;  // products with a table's Transpose read it as it stands, see turnsTable()
};

// bfloat16 becomes float32; functions are written out, so that the runtime never sees any; see flatten_functions.h for
// taps. Errors: Unsupported.
[[nodiscard]] Result<SessionModel> makeSessionModel(const OnnxSource& source, const SessionWishes& wishes);

// Returns whether the node is the Transpose of a large matrix of weights, of a type that Gemm computes in.
[[nodiscard]] bool turnsTable(const NodeProto& node, const Weights& weights);

// Nodes of the main graph are called by their first output, which is one of Lowered::valuePath: in files their names
// are often missing or not unique.
void nameNodesByOutputs(SessionModel& model);

// The first operator of a domain that neither ONNX Runtime nor the model itself brings; empty: there is none.
[[nodiscard]] std::string unknownOperator(const ModelProto& model);

}  // namespace normlens::formats::onnx
