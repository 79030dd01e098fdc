// A model cut along its residual stream, and a fold proved so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "core/analysis/analysis.h"
#include "core/analysis/streams/streams.h"
#include "core/run/inputs/draw.h"
#include "core/run/proof/section_plan.h"
#include "core/run/proof/section_proof.h"
#include "tests/formats/onnx/edit/folded_model.h"
#include "tests/support/worst_of.h"

namespace normlens::formats::onnx {
namespace {

using Names = std::vector<std::string>;

// Two residual blocks, with what the first one's norm gives as an output beside the last.
ModelProto twoBlocks() {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[batch, 3, 8] x) => (float[batch, 3, 4] k, float[batch, 3, 4] y) {
      h0 = MatMul(x, e)
      n0 = LayerNormalization <axis = -1, epsilon = 0.01> (h0, g0, b0)
      a = MatMul(n0, w0)
      k = MatMul(n0, u)
      h1 = Add(h0, a)
      n1 = LayerNormalization <axis = -1, epsilon = 0.01> (h1, g1, b1)
      c = MatMul(n1, w1)
      h2 = Add(h1, c)
      n2 = LayerNormalization <axis = -1, epsilon = 0.01> (h2, g2, b2)
      y = MatMul(n2, v)
    })");
  int seed = 0;
  for (const char* square : {"w0", "w1"}) addTensor(model, square, {6, 6}, ++seed);
  for (const char* vector : {"g0", "b0", "g1", "b1", "g2", "b2"}) addTensor(model, vector, {6}, ++seed);
  addTensor(model, "e", {8, 6}, ++seed);
  addTensor(model, "u", {6, 4}, ++seed);
  addTensor(model, "v", {6, 4}, ++seed);
  return model;
}

std::unique_ptr<OnnxModel> opened(const ModelProto& model) { return openedModel(model, /*largeBytes=*/64); }

Cut cutAt(const std::string& value) { return {value, graph::DType::Float32, {2, 3, 6}, {-1}, false, false}; }
std::vector<Cut> cutsAt(const Names& values) {
  std::vector<Cut> cuts;
  for (const std::string& value : values) cuts.push_back(cutAt(value));
  return cuts;
}

std::string opsOfSection(const OnnxModel& model, const std::vector<Cut>& cuts, const Names& outputs) {
  const auto section = model.section(cuts, outputs, {}, {});
  if (!section) return section.error().message;
  return opsOf(dynamic_cast<const OnnxModel&>(*section->model).source().skeleton->graph());
}

TEST(OnnxSections, OneForEachCutAndForTheOutputsBehindThem) {
  const auto model = opened(twoBlocks());
  EXPECT_EQ(model->sectionsAt(cutsAt({"h0", "h1", "h2"})).value(),
            (std::vector<Names>{{"h0"}, {"h1"}, {"h2"}, {"k"}, {"y"}}));
  EXPECT_EQ(model->sectionsAt(cutsAt({"h2"})).value(), (std::vector<Names>{{"h2"}, {"k"}, {"y"}}));
  EXPECT_EQ(model->sectionsAt({}).value(), (std::vector<Names>{{"k", "y"}}));
}

TEST(OnnxSections, OnlyValuesOfTheMainGraphAreCut) {
  const auto model = opened(twoBlocks());
  for (const char* name : {"x", "w0", "nothing"}) {
    const auto sections = model->sectionsAt(cutsAt({name}));
    ASSERT_FALSE(sections) << name;
    EXPECT_EQ(sections.error().message, "the model cannot be cut at '" + std::string(name) + "'");
    EXPECT_FALSE(model->section({}, {name}, {}, {}));
  }
}

TEST(OnnxSections, ASectionHasItsOwnNodesAndWeightsAlone) {
  const auto model = opened(twoBlocks());
  auto cuts = cutsAt({"h0", "h1", "h2"});
  EXPECT_EQ(opsOfSection(*model, cuts, {"h0"}), "MatMul");
  EXPECT_EQ(opsOfSection(*model, cuts, {"h1"}), "Identity,LayerNormalization,MatMul,Add");
  cuts[0].centeredIn = cuts[1].centeredOut = true;
  EXPECT_EQ(opsOfSection(*model, cuts, {"h1"}), "ReduceMean,Sub,LayerNormalization,MatMul,Add,ReduceMean,Sub");
  const auto section = model->section(cuts, {"h1"}, {}, {});
  const auto& source = dynamic_cast<const OnnxModel&>(*section->model).source();
  EXPECT_EQ(source.skeleton->graph().initializer_size(), 3);  // w0, g0, b0
  EXPECT_EQ(source.weights->count("w0"), 1U);
  EXPECT_EQ(source.weights->count("w1"), 0U);
  EXPECT_EQ(section->cuts, std::vector<size_t>{0});
}

// All that a fold under policy "all" is made of.
struct Fold {
  std::unique_ptr<OnnxModel> model;
  Tensors inputs;
  std::unique_ptr<analysis::Analysis> analysis;
  fold::FoldPlan plan;

  explicit Fold(const ModelProto& proto) : model(opened(proto)) {
    inputs = run::drawInputs(model->inferInputs().value(), 3).value();
    if (!model->probe(inputs, {})) throw std::runtime_error("it cannot be run");
    analysis = std::move(analysis::analyze(model->graph(), {}).value());
    plan = analysis::narrowed(analysis::makePlan(*analysis, {analysis::Policy::All, 1000, {}, {}}), {});
  }

  [[nodiscard]] std::unique_ptr<Model> of(const OnnxModel& original) const {
    return std::move(original.apply(plan, analysis->norms.layerNorms, NormFlavour::Portable, {}).value());
  }
  [[nodiscard]] run::Verification verify(const Model& folded) const {
    return run::verifyFoldInSections({*model, folded, plan, analysis->norms.layerNorms}, {}, inputs, {}, {}).value();
  }
};

TEST(OnnxSections, ARunInSectionsGivesWhatTheWholeDoes) {
  const Fold fold(twoBlocks());
  const graph::Graph& graph = fold.model->graph();
  std::vector<graph::ValueId> seen;
  for (const auto& norm : fold.analysis->norms.layerNorms) seen.push_back(norm.input);
  const auto whole = fold.model->runSeeing(fold.inputs, seen, {}).value();
  const auto cuts = cutsAt({graph.value(seen[0]).name, graph.value(seen[1]).name, graph.value(seen[2]).name});
  for (size_t i = 1; i < seen.size(); ++i) {
    const auto section = fold.model->section(cuts, {cuts[i].value}, {}, {});
    const auto& inner = section->model->graph();
    Tensors given = fold.inputs;  // which it does not read
    given.push_back({inner.value(inner.inputs().back()).name, whole.values[i - 1].view});
    const auto out = section->model->run(given, {});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_LT(run::worstOf(run::compareOutputs({whole.values[i]}, *out).value()).maxAbs, 1e-6);
  }
}

TEST(OnnxSections, ARightFoldIsProved) {
  const Fold fold(twoBlocks());
  const auto proof = fold.verify(*fold.of(*fold.model));
  EXPECT_EQ(proof.exact, true) << proof.algebra.reason << proof.file.reason;
  EXPECT_EQ(proof.sections, 5);
  EXPECT_EQ(proof.algebra.reason, "");
  EXPECT_LT(proof.algebra.worst.value().maxRel, 1e-13);
  EXPECT_TRUE(proof.algebra.telling);
}

// Each edit of the plan left out: the section in which it is wanting shows it.
TEST(OnnxSections, APlanThatLacksAnEditIsNotProved) {
  const Fold whole(twoBlocks());
  int tried = 0;
  for (size_t i = 0; i < whole.plan.edits.size(); ++i) {
    if (!std::holds_alternative<fold::CenterConstant>(whole.plan.edits[i])) continue;
    Fold fold(twoBlocks());
    fold.plan.edits.erase(fold.plan.edits.begin() + static_cast<std::ptrdiff_t>(i));
    const auto proof = fold.verify(*fold.of(*fold.model));
    EXPECT_EQ(proof.exact, false) << "without edit " << i;
    EXPECT_TRUE(proof.firstDiverging.starts_with("the section that gives 'h")) << proof.firstDiverging;
    ++tried;
  }
  EXPECT_EQ(tried, 3);  // e, w0, w1
}

// The plan is right, and what is to be written is not what it makes.
TEST(OnnxSections, AnotherWeightInTheFileIsNotProved) {
  const Fold fold(twoBlocks());
  for (const char* name : {"w1", "v", "u", "g0"}) {
    ModelProto other = twoBlocks();
    auto& graph = *other.mutable_graph();
    for (auto& tensor : *graph.mutable_initializer()) {
      if (tensor.name() != name) continue;
      auto& bytes = *tensor.mutable_raw_data();
      float number = 0;
      std::memcpy(&number, bytes.data(), sizeof number);
      number += 0.01F;
      std::memcpy(bytes.data(), &number, sizeof number);
    }
    const auto proof = fold.verify(*fold.of(*opened(other)));
    EXPECT_EQ(proof.exact, false) << name;
    EXPECT_TRUE(proof.firstDiverging.starts_with("the section that gives")) << proof.firstDiverging;
  }
}

TEST(OnnxSections, ANormBehindAStepAloneIsNotShown) {
  ModelProto model = twoBlocks();
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.output(0) == "y") node.set_output(0, "fine");
  }
  auto& ceil = *model.mutable_graph()->add_node();
  ceil.set_op_type("Ceil");
  ceil.add_input("fine");
  ceil.add_output("y");
  const Fold fold(model);
  const auto proof = fold.verify(*fold.of(*fold.model));
  EXPECT_EQ(proof.exact, std::nullopt);
  EXPECT_TRUE(proof.file.reason.starts_with("the outputs do not show")) << proof.file.reason;
}

TEST(OnnxSections, NormsThatTakeAnAddInCannotBeParted) {
  const Fold fold(twoBlocks());
  const auto folded = fold.of(*fold.model);
  run::VerifyOptions options;
  options.flavour = NormFlavour::Ort;
  const auto proof = run::verifyFoldInSections({*fold.model, *folded, fold.plan, fold.analysis->norms.layerNorms}, {},
                                               fold.inputs, options, {});
  ASSERT_TRUE(proof);
  EXPECT_EQ(proof->exact, std::nullopt);
  EXPECT_NE(proof->algebra.reason.find("fold with portable norms"), std::string::npos);
}

// A stream that is said to have no mean, and has one: the norms behind it would be drawn only what suits them.
TEST(OnnxSections, AMeanThatIsNotZeroIsNotBelieved) {
  Fold fold(twoBlocks());
  // Nothing is centered: all norms are replaced as they are.
  std::erase_if(fold.plan.edits, [](const auto& edit) { return !std::holds_alternative<fold::ReplaceNorm>(edit); });
  std::vector<graph::ValueId> all;
  for (const auto& norm : fold.analysis->norms.layerNorms) all.push_back(norm.input);
  const auto folded = fold.of(*fold.model);
  const auto proof = run::verifyFoldInSections({*fold.model, *folded, fold.plan, fold.analysis->norms.layerNorms}, all,
                                               fold.inputs, {}, {});
  ASSERT_TRUE(proof);
  EXPECT_NE(proof->exact, true);
}

// What a norm reads is dropped for it, because a mean over one element is all of it: no cut there.
TEST(OnnxSections, AValueThatTheNormDoesNotReadIsNotCut) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[batch, 3, 8] x) => (float[batch, 3, 4] y) {
      h = MatMul(x, e)
      ones = Constant <value_ints = [0, 3, 6, 1]> ()
      t = Reshape(h, ones)
      n = LayerNormalization <axis = -1, epsilon = 0.01> (t, g0)
      rows = Constant <value_ints = [0, 3, 6]> ()
      r = Reshape(n, rows)
      y = MatMul(r, v)
    })");
  addTensor(model, "e", {8, 6}, 1);
  addTensor(model, "g0", {1}, 2);
  addTensor(model, "v", {6, 4}, 3);
  const Fold fold(model);
  const auto proof = fold.verify(*fold.of(*fold.model));
  EXPECT_EQ(proof.exact, true) << proof.file.reason;
}

// One node makes what is cut and what a section needs.
TEST(OnnxSections, ANodeMayMakeTwoOfThem) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[batch, 3, 8] x) => (float[batch, 3, 6] y) {
      wide = MatMul(x, e)
      h, other = Split <axis = -1> (wide)
      n = LayerNormalization <axis = -1, epsilon = 0.01> (h, g0)
      m = MatMul(n, w)
      y = Add(m, other)
    })");
  addTensor(model, "e", {8, 12}, 1);
  addTensor(model, "g0", {6}, 2);
  addTensor(model, "w", {6, 6}, 3);
  const Fold fold(model);
  const auto proof = fold.verify(*fold.of(*fold.model));
  EXPECT_EQ(proof.exact, true) << proof.algebra.reason << proof.file.reason;
  EXPECT_EQ(proof.sections, 2);
}

// The input is centered at run time for a read that stands where the model is cut: no read of the section behind.
TEST(OnnxSections, WhatIsGivenAtACutIsNotEdited) {
  ModelProto model = twoBlocks();
  auto& graph = *model.mutable_graph();
  for (int i = 0; i < graph.node_size(); ++i) {
    for (auto& input : *graph.mutable_node(i)->mutable_input()) {
      if (input == "h0") input = "x";
    }
  }
  graph.mutable_node()->DeleteSubrange(0, 1);
  auto& width = *graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(2);
  width.set_dim_value(6);
  const Fold fold(model);
  EXPECT_EQ(std::ranges::count_if(fold.plan.edits,
                                  [](const auto& edit) { return std::holds_alternative<fold::InsertCentering>(edit); }),
            1);
  const auto proof = fold.verify(*fold.of(*fold.model));
  EXPECT_EQ(proof.exact, true) << proof.algebra.reason << proof.file.reason;
}

// A weight that is an output as well would be no section's.
TEST(OnnxSections, AModelThatGivesAWeightIsNotCut) {
  ModelProto model = twoBlocks();
  auto& output = *model.mutable_graph()->add_output();
  output.set_name("w0");
  output.mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
  EXPECT_EQ(opened(model)->sectionsAt(cutsAt({"h0"})).error().message, "the model cannot be cut at 'w0'");
}

// What a section has nothing of is left out of its plan.
TEST(OnnxSections, APlanOfASectionIsAboutIt) {
  const Fold fold(twoBlocks());
  const auto section = fold.model->section(cutsAt({"h0", "h1", "h2"}), {"h1"}, {}, {});
  const auto norms = analysis::findNorms(section->model->graph()).layerNorms;
  ASSERT_EQ(norms.size(), 1U);
  const auto plan = run::planOfSection(fold.plan, {fold.model->graph(), fold.analysis->norms.layerNorms},
                                       {section->model->graph(), norms});
  int centered = 0, replaced = 0;
  for (const auto& edit : plan.edits) {
    if (const auto* center = std::get_if<fold::CenterConstant>(&edit)) {
      ++centered;
      EXPECT_EQ(section->model->graph().constant(center->parts.at(0).constant).name, "w0");
    }
    if (const auto* replace = std::get_if<fold::ReplaceNorm>(&edit)) {
      ++replaced;
      EXPECT_EQ(replace->norm, 0);
    }
  }
  EXPECT_EQ(centered, 1);
  EXPECT_EQ(replaced, 1);
}

}  // namespace
}  // namespace normlens::formats::onnx
