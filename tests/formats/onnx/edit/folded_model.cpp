#include "tests/formats/onnx/edit/folded_model.h"

#include <gtest/gtest.h>

#include "core/analysis/analysis.h"
#include "core/run/inputs/draw.h"
#include "tests/support/worst_of.h"

namespace normlens::formats::onnx {
namespace {

const OnnxModel& asOnnx(const Model& model) { return dynamic_cast<const OnnxModel&>(model); }

// Runs both models where ONNX Runtime is there.
double differenceOf(const Model& a, const Model& b, const Tensors& inputs) {
  const auto x = a.run(inputs, {});
  if (!x) return -1;
  const auto y = b.run(inputs, {});
  if (!y) throw std::runtime_error(y.error().message);
  const auto compared = run::compareOutputs(*x, *y);
  return compared ? run::worstOf(*compared).maxRel : 1e9;
}

}  // namespace

Folded foldText(const ModelProto& model, NormFlavour flavour, analysis::Policy policy, size_t largeBytes,
                const std::string& centered) {
  auto opened = OnnxModel::fromSource(sourceOf(model, largeBytes), {});
  if (!opened) throw std::runtime_error(opened.error().message);
  const auto specs = (*opened)->inferInputs();
  const auto inputs = run::drawInputs(specs.value(), 3);
  static_cast<void>((*opened)->probe(inputs.value(), {}));
  const auto analysis = analysis::analyze((*opened)->graph(), {});
  analysis::PlanOptions options{policy, 1000, {}, {}};
  const auto& names = (*opened)->lowered().valuePath;
  for (size_t id = 0; id < names.size(); ++id) {
    if (!centered.empty() && names[id] == centered) options.centerValues.push_back(static_cast<graph::ValueId>(id));
  }
  const auto plan = analysis::makePlan(**analysis, options);
  fold::FoldPlan edits{Policy::All, {}};
  for (const auto& planned : plan.edits) edits.edits.push_back(planned.edit);
  const auto folded = (*opened)->apply(edits, (*analysis)->norms.layerNorms, flavour, {});
  if (!folded) throw std::runtime_error(folded.error().message);
  Folded out{wholeModel(asOnnx(**folded).source()), "", plan.folded.size(), differenceOf(**opened, **folded, *inputs)};
  out.ops = opsOf(out.model.graph());
  return out;
}

void expectSound(const Folded& folded, size_t norms) {
  EXPECT_EQ(folded.norms, norms);
  EXPECT_EQ(checkerSays(folded.model), "");
  EXPECT_LT(folded.difference, 1e-5);
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
