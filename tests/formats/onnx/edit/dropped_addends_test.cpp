// Addends and fills that are constant along a norm's channels, from the file to the folded file.
#include <gtest/gtest.h>

#include "core/run/inputs/draw.h"
#include "tests/formats/onnx/edit/folded_model.h"
#include "tests/support/worst_of.h"

namespace normlens::formats::onnx {
namespace {

// A stream x out of a table, a number s for each token out of another one, and what becomes of them.
ModelProto model(const std::string& body) {
  ModelProto made = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (int64[B, T] ids) => (float[B, T, 8] y) {
      x = Gather <axis = 0> (table, ids)
      z = Gather <axis = 0> (other, ids)
      s = MatMul(z, w)
      zero = Constant <value_float = 0.0> ()
)" + body + R"(
      [norm] y = LayerNormalization <axis = -1, epsilon = 0.01> (h, gamma, beta)
    })");
  addTensor(made, "table", {11, 8}, 1);
  addTensor(made, "other", {11, 6}, 6);
  addTensor(made, "w", {6, 1}, 2);
  addTensor(made, "gamma", {8}, 3);
  addTensor(made, "beta", {8}, 4);
  addTensor(made, "positions", {1, 1, 8}, 5);
  return made;
}

// At sizes that neither has seen. -1: could not be run.
double differenceAt(int64_t batch, int64_t tokens, const ModelProto& before, const ModelProto& after) {
  std::vector<Tensors> outputs;
  for (const auto* proto : {&before, &after}) {
    const auto opened = OnnxModel::fromSource(sourceOf(*proto), {});
    if (!opened) throw std::runtime_error(opened.error().message);
    auto specs = (*opened)->inferInputs().value();
    for (auto& spec : specs) {
      spec.shape[0] = batch;
      spec.shape[1] = tokens;
    }
    auto ran = (*opened)->run(run::drawInputs(specs, 9).value(), {});
    if (!ran) return -1;
    outputs.push_back(std::move(*ran));
  }
  return run::worstOf(run::compareOutputs(outputs[0], outputs[1]).value()).maxRel;
}

Folded folded(const std::string& body, NormFlavour flavour = NormFlavour::Primitives) {
  const ModelProto before = model(body);
  Folded out = foldText(before, flavour, analysis::Policy::Free);
  EXPECT_EQ(out.norms, 1U) << body;
  if (flavour == NormFlavour::Primitives) expectSound(out, 1);
  for (const auto& [batch, tokens] : {std::pair{3, 7}, {1, 4}})
    EXPECT_LT(differenceAt(batch, tokens, before, out.model), 1e-5) << body;
  return out;
}

TEST(OnnxDroppedAddends, AnAdditionGoesWithAllThatOnlyItRead) {
  for (const char* body : {"h = Add(x, s)", "h = Add(s, x)", "h = Sub(x, s)"}) {
    for (const auto flavour : {NormFlavour::Portable, NormFlavour::Ort, NormFlavour::Fast}) {
      const Folded out = folded(body, flavour);
      EXPECT_EQ(out.ops.find("MatMul"), std::string::npos) << out.ops;
      EXPECT_EQ(out.ops.find("Sub"), std::string::npos) << out.ops;
    }
  }
}

TEST(OnnxDroppedAddends, WhatStaysReadsZeros) {
  for (const char* body : {"h = Sub(s, x)", "m = Greater(s, zero)\n h = Where(m, x, s)", "h = Add(positions, s)",
                           "m = Greater(s, zero) three = Constant <value_float = 3.0> () h = Where(m, x, three)",
                           "a = Add(x, s)\n b = Sub(a, s)\n h = Add(b, s)"})
    folded(body);
}

// Whichever of the sums is left out first, what is left reads the table.
TEST(OnnxDroppedAddends, AnAddendOfTwoSumsAndOfAnother) {
  const Folded out = folded(R"(
      two = Constant <value_float = 2.0> ()
      m = Mul(s, two)
      a = Add(x, s)
      h = Add(a, m)
)");
  EXPECT_EQ(out.ops.find("MatMul"), std::string::npos) << out.ops;
}

}  // namespace
}  // namespace normlens::formats::onnx
