#include "tests/formats/onnx/edit/folded_model.h"

#include <gtest/gtest.h>

#include "core/analysis/analysis.h"
#include "core/analysis/streams/streams.h"
#include "core/run/inputs/draw.h"
#include "tests/support/must.h"
#include "tests/support/worst_of.h"

namespace normlens::formats::onnx {
namespace {

const OnnxModel& asOnnx(const Model& model) { return dynamic_cast<const OnnxModel&>(model); }

}  // namespace

std::unique_ptr<OnnxModel> openedModel(const ModelProto& model, size_t largeBytes) {
  return must(OnnxModel::fromSource(sourceOf(model, largeBytes), {}));
}

Tensors drawn(const std::vector<graph::Shape>& shapes, uint64_t seed) {
  std::vector<InputSpec> specs(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    specs[i].name = "in_" + std::to_string(i);
    specs[i].dtype = graph::DType::Float32;
    specs[i].shape = shapes[i];
  }
  return must(run::drawInputs(specs, seed));
}

double differenceOf(const Model& a, const Model& b, const Tensors& inputs) {
  return run::worstOf(must(run::compareOutputs(must(a.run(inputs, {})), must(b.run(inputs, {}))))).maxRel;
}

Folded foldText(const ModelProto& model, NormFlavour flavour, analysis::Policy policy, size_t largeBytes,
                const std::string& centered) {
  const auto opened = openedModel(model, largeBytes);
  const auto inputs = must(run::drawInputs(must(opened->inferInputs()), 3));
  static_cast<void>(opened->probe(inputs, {}));
  const auto analysis = must(analysis::analyze(opened->graph(), {}));
  analysis::PlanOptions options{policy, 1000, {}, {}};
  const auto& names = opened->lowered().valuePath;
  for (size_t id = 0; id < names.size(); ++id) {
    if (!centered.empty() && names[id] == centered) options.centerValues.push_back(static_cast<graph::ValueId>(id));
  }
  const auto plan = analysis::makePlan(*analysis, options);
  const auto folded = must(opened->apply(analysis::narrowed(plan, {}), analysis->norms.layerNorms, flavour, {}));
  Folded out{wholeModel(asOnnx(*folded).source()), "", plan.folded.size(), differenceOf(*opened, *folded, inputs)};
  out.ops = opsOf(out.model.graph());
  return out;
}

void expectSound(const Folded& folded, size_t norms) {
  EXPECT_EQ(folded.norms, norms);
  EXPECT_EQ(checkerSays(folded.model), "");
  EXPECT_LT(folded.difference, 1e-5);
}

EditedFile editedFile(const ModelProto& model, const EditOfNorms& edit,
                      const std::vector<std::vector<graph::Shape>>& inputs, double tolerance) {
  const auto opened = openedModel(model);
  must(opened->probe(drawn(inputs.front(), 1), {}));
  const auto norms = analysis::findNorms(opened->graph());
  const auto result = must(edit(*opened, norms));
  const auto twin = must(opened->toFloat64());
  const auto editedTwin = must(edit(asOnnx(*twin), norms));
  EXPECT_EQ(editedTwin.fused, result.fused) << "the copy in double stands for the model";
  if (!result.model) return {model, opsOf(model.graph()), {}};
  for (const auto& shapes : inputs) {
    EXPECT_LT(differenceOf(*opened, *result.model, drawn(shapes, 2)), tolerance);
    EXPECT_LT(differenceOf(*twin, *editedTwin.model, drawn(shapes, 3)), 1e-12);
  }
  EditedFile out{wholeModel(asOnnx(*result.model).source()), "", result.fused};
  out.ops = opsOf(out.model.graph());
  return out;
}

ModelProto decomposed(int opset) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 14]>
    g (float[2, 3, 8] x) => (float[2, 3, 6] y) {
      h = MatMul(x, w)
      mean = ReduceMean <axes = [-1]> (h)
      centered = Sub(h, mean)
      two = Constant <value_float = 2.0> ()
      square = Pow(centered, two)
      variance = ReduceMean <axes = [-1]> (square)
      eps = Constant <value_float = 0.01> ()
      shifted = Add(variance, eps)
      root = Sqrt(shifted)
      [norm] normal = Div(centered, root)
      scaled = Mul(normal, gamma)
      y = Add(scaled, beta)
    })");
  model.mutable_opset_import(0)->set_version(opset);
  addTensor(model, "w", {8, 6}, 1);
  addTensor(model, "gamma", {6}, 2);
  addTensor(model, "beta", {6}, 3);
  return model;
}

}  // namespace normlens::formats::onnx
