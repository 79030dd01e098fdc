// A small model folded, joined or fused, and how far it is from what it was.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/analysis/plan/planner.h"
#include "tests/formats/onnx/onnx_fixture.h"

namespace normlens::formats::onnx {

// Throws std::runtime_error where the model is refused.
std::unique_ptr<OnnxModel> openedModel(const ModelProto& model, size_t largeBytes = 1024);
// float32, by the names in_0, in_1 ...
Tensors drawn(const std::vector<graph::Shape>& shapes, uint64_t seed);
// The largest of any output, relative. Throws std::runtime_error where one of them does not run.
double differenceOf(const Model& a, const Model& b, const Tensors& inputs);

struct Folded {
  ModelProto model;
  std::string ops;
  size_t norms = 0;
  double difference = 0;  // of the outputs, on a drawn input
};

// centered: a value, by its name in the main graph, that had better be centered at run time. Throws std::runtime_error
// where that fails.
Folded foldText(const ModelProto& model, NormFlavour flavour, analysis::Policy policy = analysis::Policy::All,
                size_t largeBytes = 1024, const std::string& centered = "");
// So many norms are folded, the checker is content, and the outputs are the same.
void expectSound(const Folded& folded, size_t norms);

struct EditedFile {
  ModelProto model;
  std::string ops;
  std::vector<std::string> names;  // of the norms
};
using EditOfNorms = std::function<Result<FusedModel>(const OnnxModel&, const analysis::Norms&)>;
// Probed at the first shapes; compared there and at the others, in double and in ONNX Runtime's own kernels.
EditedFile editedFile(const ModelProto& model, const EditOfNorms& edit,
                      const std::vector<std::vector<graph::Shape>>& inputs, double tolerance);

// x W -> LN -> y with the norm written out in ops.
ModelProto decomposed(int opset);

}  // namespace normlens::formats::onnx
