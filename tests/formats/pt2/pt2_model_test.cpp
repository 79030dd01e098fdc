// A small exported program from the file to the folded file. No torch header: what everybody else sees of the format.
#include <cmath>
#include <numeric>

#include "core/analysis/analysis.h"
#include "core/analysis/norms/norms.h"
#include "core/formats/norm_fuser.h"
#include "core/formats/pt2/open.h"
#include "tests/formats/pt2/archive_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::pt2 {
namespace {

using formats::test::buildZip;
using test::ExportedFileTest;
using test::linearAndNorm;
using test::ProgramText;
using test::says;

Tensors rows(int64_t batch, int64_t width) {
  const auto values = std::make_shared<std::vector<float>>();
  for (int64_t i = 0; i < batch * width; ++i) values->push_back(std::cos(0.9F * static_cast<float>(i)) + 0.3F);
  graph::TensorView view;
  view.dtype = graph::DType::Float32;
  view.shape = {batch, width};
  view.strides = {width, 1};
  view.data = reinterpret_cast<const std::byte*>(values->data());
  view.owner = values;
  return {{"x", view}};
}

double largest(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0,
                         [](double a, double b) { return std::max(a, std::abs(b)); });
}

// max|a - b| / max|a| of the only output.
double difference(const Model& a, const Model& b, const Tensors& inputs) {
  const auto x = toDoubles(a.run(inputs, {}).value()[0].view).value(),
             y = toDoubles(b.run(inputs, {}).value()[0].view).value();
  EXPECT_EQ(x.size(), y.size());
  std::vector<double> gap(x.size());
  for (size_t i = 0; i < x.size(); ++i) gap[i] = x[i] - y[i];
  return largest(gap) / largest(x);
}

class Pt2ModelTest : public ExportedFileTest {
 protected:
  static std::unique_ptr<Model> open(const std::filesystem::path& file) { return must(openPt2(file, {})); }
  std::unique_ptr<Model> open(const ProgramText& text) { return open(path(buildZip(text.entries()))); }
  std::string refusal(const ProgramText& text) {
    const auto model = openPt2(path(buildZip(text.entries())), {});
    return model ? std::string() : model.error().message;
  }

  struct Folded {
    std::unique_ptr<Model> model;
    std::vector<int> norms;
  };
  static Folded folded(Model& model, const Tensors& inputs, NormFlavour flavour) {
    EXPECT_TRUE(model.probe(inputs, {}));
    const auto analysis = analysis::analyze(model.graph(), {}).value();
    fold::FoldPlan plan;
    for (const auto& edit : analysis->best.edits) plan.edits.push_back(edit.edit);
    return {must(model.apply(plan, analysis->norms.layerNorms, flavour, {})), analysis->best.folded};
  }
};

TEST_F(Pt2ModelTest, SaysWhereItsNodesWereWritten) {
  const auto model = open(linearAndNorm());
  const auto& graph = model->graph();
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.node(0).op, "aten::linear");
  EXPECT_EQ(graph.node(0).name, "fc");
  EXPECT_EQ(graph.scope(graph.node(1).scope).path, "ln");
  EXPECT_EQ(graph.scope(graph.node(1).scope).type, "LayerNorm");
  EXPECT_EQ(graph.node(1).source, "model.py:7");
  EXPECT_EQ(graph.value(graph.inputs()[0]).name, "x");
  EXPECT_EQ(model->facts().format, "pt2");
  EXPECT_EQ(model->facts().parameters, 28);
}

TEST_F(Pt2ModelTest, RunsAsTorchDoes) {
  const auto model = open(linearAndNorm());
  const auto got = toDoubles(model->run(rows(3, 4), {}).value()[0].view).value();
  const auto weight = [](int record, int i) { return std::sin(static_cast<double>(record) + 1.7 * i); };
  const auto x = toDoubles(rows(3, 4)[0].view).value();
  for (int row = 0; row < 3; ++row) {
    std::vector<double> h(4);
    for (int i = 0; i < 4; ++i) {
      h[static_cast<size_t>(i)] = weight(1, i);
      for (int k = 0; k < 4; ++k)
        h[static_cast<size_t>(i)] += weight(0, 4 * i + k) * x[static_cast<size_t>(int64_t{4} * row + k)];
    }
    const double mean = std::accumulate(h.begin(), h.end(), 0.0) / 4;
    double square = 0;
    for (const double each : h) square += (each - mean) * (each - mean) / 4;
    for (int i = 0; i < 4; ++i) {
      const double y = (h[static_cast<size_t>(i)] - mean) / std::sqrt(square + 1e-5) * weight(2, i) + weight(3, i);
      EXPECT_NEAR(got[static_cast<size_t>(4 * row + i)], y, 2e-6);
    }
  }
}

// A static export never runs at another size: in the translated program nothing else would keep it from that.
TEST_F(Pt2ModelTest, KeepsToTheSizesOfTheExport) {
  const auto fixed = open(linearAndNorm());
  const Error refused = failureOf(fixed->run(rows(5, 4), {}));
  EXPECT_EQ(refused.code, ErrorCode::BadInput);
  EXPECT_TRUE(says(refused.message, "axis 0 of the model's input 'x' is 5"));
  EXPECT_FALSE(fixed->probe(rows(5, 4), {}));
  const auto dynamic = open(linearAndNorm(4, true));
  EXPECT_TRUE(dynamic->run(rows(5, 4), {}));
  EXPECT_FALSE(dynamic->run(rows(1, 4), {}));
  EXPECT_FALSE(dynamic->run(rows(65, 4), {}));
  const auto specs = dynamic->inferInputs().value();
  EXPECT_EQ(specs[0].shape, (graph::Shape{3, 4}));
  EXPECT_EQ(specs[0].freeAxes, std::vector<int>{0});
  EXPECT_EQ(dynamic->graph().value(dynamic->graph().inputs()[0]).declared, (graph::Shape{-1, 4}));
}

TEST_F(Pt2ModelTest, FoldsAndWritesWhatItFolded) {
  for (const bool dynamic : {false, true}) {
    for (const NormFlavour flavour : {NormFlavour::Portable, NormFlavour::Primitives, NormFlavour::Fast}) {
      const ProgramText text = linearAndNorm(4, dynamic);
      const auto model = open(text);
      const auto inputs = rows(3, 4);
      const auto made = folded(*model, inputs, flavour);
      EXPECT_EQ(made.norms.size(), 1U);
      EXPECT_LT(difference(*model, *made.model, inputs), 1e-6);
      const auto out = folder_ / "folded.pt2";
      const Status saved = made.model->save(out, {});
      ASSERT_TRUE(saved) << saved.error().message;
      const auto again = open(out);
      EXPECT_EQ(difference(*made.model, *again, inputs), 0);
      EXPECT_EQ(again->run(rows(5, 4), {}).has_value(), dynamic);
      const auto archive = Archive::open(MappedFile::open(out).value()).value();
      const auto program = archive->read(*archive->find("m/models/model.json"), 1 << 20).value();
      EXPECT_EQ(program.find("layer_norm.default"), std::string::npos);
      EXPECT_EQ(program.find("aten.rms_norm.default") != std::string::npos, flavour == NormFlavour::Portable);
      EXPECT_EQ(program.find("normlens.rms_norm.default") != std::string::npos, flavour == NormFlavour::Fast);
      // What was not edited is byte for byte what it was: gamma and beta, and the form of the archive.
      for (const char* name : {"data/weights/weight_2", "data/weights/weight_3"})
        EXPECT_EQ(archive->read(*archive->find("m/" + std::string(name)), 1 << 20).value(), text.records.at(name));
      EXPECT_EQ(archive->read(*archive->find("m/archive_version"), 9).value(), "0");
      EXPECT_NE(archive->read(*archive->find("m/data/weights/weight_0"), 1 << 20).value(),
                text.records.at("data/weights/weight_0"));
    }
  }
}

TEST_F(Pt2ModelTest, FoldsTheChosenModelAndLeavesTheOthers) {
  const auto entries = linearAndNorm().entriesOfTwo();
  const auto file = path(buildZip(entries));
  auto model = openPt2(file, {}, {.strict = false, .model = "other", .isBeside = false});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_TRUE(says((*model)->facts().note, "this is 'other', beside model"));
  const auto inputs = rows(3, 4);
  const auto made = folded(**model, inputs, NormFlavour::Portable);
  EXPECT_EQ(made.norms.size(), 1U);
  ASSERT_TRUE(made.model->save(folder_ / "folded.pt2", {}));
  const auto archive = Archive::open(MappedFile::open(folder_ / "folded.pt2").value()).value();
  for (const auto& entry : entries) {
    const bool isOthers =
        entry.name == "m/models/other.json" || entry.name == "m/data/weights/other_weights_config.json";
    const auto now = archive->read(*archive->find(entry.name), 1 << 20).value();
    EXPECT_EQ(now == entry.content, !isOthers) << entry.name;
  }
  EXPECT_EQ(archive->records().size(), entries.size() + 2) << "a record for each tensor that is another now";
  const auto unfolded = open(folder_ / "folded.pt2");
  EXPECT_EQ(difference(**model, *unfolded, inputs), 0);
  const auto again = must(openPt2(folder_ / "folded.pt2", {}, {.strict = false, .model = "other", .isBeside = false}));
  EXPECT_EQ(difference(*made.model, *again, inputs), 0);
}

// Extra files are of all models in the archive.
TEST_F(Pt2ModelTest, SaysOfWhichModelAConditionIs) {
  auto file = path(buildZip(linearAndNorm().entriesOfTwo()));
  for (const std::string name : {"model", "other", "model"}) {
    auto model = must(openPt2(file, {}, {.strict = false, .model = name, .isBeside = false}));
    model->annotate({{"normlens.holds_if", "x is long"}});
    const auto out = folder_ / (name + file.filename().string());
    ASSERT_TRUE(model->save(out, {}));
    file = out;
  }
  EXPECT_EQ(extraFile(*Archive::open(MappedFile::open(file).value()).value(), "normlens.holds_if"),
            "model: x is long; other: x is long");
}

// x -> linear -> + x -> layer_norm, with the sum as a second result where it is read beside the norm.
ProgramText normOfSum(bool sumIsRead) {
  ProgramText text = linearAndNorm();
  const std::string sum = R"({"as_tensor": {"name": "add"}})", norm = R"({"as_tensor": {"name": "layer_norm"}})";
  text.bend(R"("arg": {"as_tensor": {"name": "linear"}})", R"("arg": )" + sum);
  text.bend(
      R"({"target": "torch.ops.aten.layer_norm)",
      R"({"target": "torch.ops.aten.add.Tensor", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "linear"}}, "kind": 1}, {"name": "other", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}], "outputs": [)" +
          sum +
          R"(], "metadata": {}, "is_hop_single_tensor_return": null, "name": "add"}, {"target": "torch.ops.aten.layer_norm)");
  text.bend(R"("tensor_values": {)", R"("tensor_values": {"add": )" + test::tensorMeta({3, 4}) + ", ");
  if (!sumIsRead) return text;
  text.bend(R"("outputs": [)" + norm + R"(], "nodes")", R"("outputs": [)" + norm + ", " + sum + R"(], "nodes")");
  return text.bend(R"({"user_output": {"arg": )" + norm + "}}",
                   R"({"user_output": {"arg": )" + norm + R"(}}, {"user_output": {"arg": )" + sum + "}}");
}

TEST_F(Pt2ModelTest, FusesAnAddWithItsNorm) {
  for (const bool sumIsRead : {false, true}) {
    const auto model = open(normOfSum(sumIsRead));
    ASSERT_TRUE(model);
    const auto inputs = rows(3, 4);
    ASSERT_TRUE(model->probe(inputs, {}));
    const auto* fuser = dynamic_cast<const NormFuser*>(model.get());
    ASSERT_TRUE(fuser);
    const auto norms = analysis::findNorms(model->graph());
    EXPECT_TRUE(fuser->joinNorms(norms, {})->fused.empty());
    const auto made = must(fuser->fuseNorms(norms, {}));
    EXPECT_EQ(made.fused, std::vector<std::string>{"ln"});
    EXPECT_LT(difference(*model, *made.model, inputs), 1e-6);
    ASSERT_TRUE(made.model->save(folder_ / "fused.pt2", {}));
    const auto again = open(folder_ / "fused.pt2");
    EXPECT_EQ(difference(*made.model, *again, inputs), 0);
    ASSERT_TRUE(again->probe(inputs, {}));
    EXPECT_EQ(analysis::findNorms(again->graph()).layerNorms.at(0).name, "ln");
    const auto archive = Archive::open(MappedFile::open(folder_ / "fused.pt2").value()).value();
    const auto program = archive->read(*archive->find("m/models/model.json"), 1 << 20).value();
    EXPECT_TRUE(says(program, R"({"target": "torch.ops.normlens.add_layer_norm.default", "inputs": [{"name": "x", )"));
    EXPECT_TRUE(says(program, R"("outputs": [{"as_tensor": {"name": "add_layer_norm_sum"}}, )"
                              R"({"as_tensor": {"name": "add_layer_norm_y"}}])"));
    EXPECT_EQ(program.find("aten.add.Tensor"), std::string::npos);
  }
}

// Each branch of a cond has the norm for its own, and names that the graph around it has, too.
ProgramText normInBothBranches() {
  ProgramText text = linearAndNorm();
  const std::string start = R"({"target": "torch.ops.aten.layer_norm)", end = R"(null, "name": "layer_norm"})";
  const size_t at = text.program.find(start), stop = text.program.find(end, at) + end.size();
  const std::string node = text.program.substr(at, stop - at);
  const auto tensor = [](const std::string& name) { return R"({"as_tensor": {"name": ")" + name + R"("}})"; };
  const std::string inputs = tensor("linear") + ", " + tensor("p_ln_weight") + ", " + tensor("p_ln_bias");
  const std::string square = test::tensorMeta({3, 4}), vector = test::tensorMeta({4});
  const std::string values = R"("linear": )" + square + R"(, "layer_norm": )" + square + R"(, "p_ln_weight": )" +
                             vector + R"(, "p_ln_bias": )" + vector;
  const auto branch = [&](const std::string& name) {
    return R"({"name": "", "arg": {"as_graph": {"name": ")" + name + R"(", "graph": {"inputs": [)" + inputs +
           R"(], "outputs": [)" + tensor("layer_norm") + R"(], "nodes": [)" + node + R"(], "tensor_values": {)" +
           values + R"(}, "sym_int_values": {}}}}, "kind": 1})";
  };
  const std::string cond =
      R"({"target": "torch.ops.higher_order.cond", "inputs": [{"name": "", "arg": )" + tensor("p") +
      R"(, "kind": 1}, )" + branch("yes") + ", " + branch("no") +
      R"(, {"name": "", "arg": {"as_tensors": [{"name": "linear"}, {"name": "p_ln_weight"}, {"name": "p_ln_bias"}]}, "kind": 1}], "outputs": [)" +
      tensor("layer_norm") + R"(], "metadata": {}, "is_hop_single_tensor_return": false, "name": "cond"})";
  text.program.replace(at, stop - at, cond);
  text.bend(R"({"as_tensor": {"name": "x"}}], "outputs")", tensor("x") + ", " + tensor("p") + R"(], "outputs")");
  text.bend(R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}}])",
            R"({"user_input": {"arg": )" + tensor("x") + R"(}}, {"user_input": {"arg": )" + tensor("p") + "}}]");
  // The values of the program's own graph stand behind those of the branches.
  const size_t own = text.program.rfind(R"("tensor_values": {)");
  text.program.insert(own + std::string(R"("tensor_values": {)").size(), R"("p": )" + test::tensorMeta({}, 12) + ", ");
  return text;
}

TEST_F(Pt2ModelTest, FoldsInsideBranches) {
  const auto model = open(normInBothBranches());
  for (const bool yes : {true, false}) {
    auto inputs = rows(3, 4);
    const auto truth = std::make_shared<bool>(yes);
    graph::TensorView view;
    view.dtype = graph::DType::Bool;
    view.data = reinterpret_cast<const std::byte*>(truth.get());
    view.owner = truth;
    inputs.push_back({"p", view});
    const auto made = folded(*model, inputs, NormFlavour::Portable);
    EXPECT_EQ(made.norms.size(), 2U);
    EXPECT_LT(difference(*model, *made.model, inputs), 1e-6);
    ASSERT_TRUE(made.model->save(folder_ / "folded.pt2", {}));
    const auto again = open(folder_ / "folded.pt2");
    EXPECT_EQ(difference(*made.model, *again, inputs), 0);
    const auto archive = Archive::open(MappedFile::open(folder_ / "folded.pt2").value()).value();
    const auto program = archive->read(*archive->find("m/models/model.json"), 1 << 20).value();
    EXPECT_EQ(program.find("layer_norm.default"), std::string::npos);
  }
}

TEST_F(Pt2ModelTest, ATwinFoldsInFloat64) {
  const auto model = open(linearAndNorm());
  const auto twin = must(model->toFloat64());
  const auto inputs = rows(3, 4);
  const auto made = folded(*twin, inputs, NormFlavour::Portable);
  EXPECT_LT(difference(*twin, *made.model, inputs), 1e-13);
  EXPECT_EQ(made.model->narrowOp(inputs, {}).value(), "");
  EXPECT_FALSE(made.model->save(folder_ / "twin.pt2", {}));
}

TEST_F(Pt2ModelTest, SavesAnUneditedModelAsItWas) {
  const ProgramText text = linearAndNorm();
  const auto model = open(text);
  ASSERT_TRUE(model->save(folder_ / "copy.pt2", {}));
  const auto archive = Archive::open(MappedFile::open(folder_ / "copy.pt2").value()).value();
  for (const auto& entry : text.entries())
    EXPECT_EQ(archive->read(*archive->find(entry.name), 1 << 20).value(), entry.content);
}

// A custom operator, one of a newer torch, an overload of a newer one, one that takes graphs.
TEST_F(Pt2ModelTest, ShowsOperatorsThatLibTorchDoesNotHave) {
  for (const auto& [target, op] :
       std::map<std::string, std::string>{{"mylib.mix.default", "mylib::mix"},
                                          {"mylib.mix.out", "mylib::mix.out"},
                                          {"aten.unheard_of.default", "aten::unheard_of"},
                                          {"aten.linear.unheard_of", "aten::linear.unheard_of"},
                                          {"higher_order.map_impl", "higher_order::map_impl"}}) {
    const auto model = open(linearAndNorm(4, true).bend("torch.ops.aten.linear.default", "torch.ops." + target));
    ASSERT_TRUE(model) << target;
    EXPECT_TRUE(says(model->facts().note, "does not run " + op));
    EXPECT_TRUE(says(model->facts().cannotRun, "does not run " + op));
    const auto specs = model->inferInputs().value();
    EXPECT_EQ(specs[0].shape, (graph::Shape{3, 4}));
    EXPECT_TRUE(model->probe(rows(3, 4), {}));
    const graph::Node& opaque = model->graph().node(0);
    EXPECT_EQ(opaque.op, op);
    EXPECT_EQ(opaque.kind, graph::OpKind::Opaque);
    EXPECT_EQ(opaque.operands.size(), 3U) << "what it reads is seen";
    EXPECT_EQ(model->graph().value(opaque.outputs[0]).shape, (graph::Shape{3, 4}));
    const auto analysis = analysis::analyze(model->graph(), {}).value();
    EXPECT_TRUE(analysis->best.folded.empty());
    for (const Status& refused : {model->probe(rows(5, 4), {}), Status(model->run(rows(3, 4), {}).map([](auto&&) {})),
                                  Status(model->apply({}, {}, NormFlavour::Portable, {}).map([](auto&&) {}))}) {
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
      EXPECT_TRUE(says(refused.error().message, "uses the operator " + op + ", which this engine does not run"));
    }
  }
}

TEST_F(Pt2ModelTest, CallsResultsByTheirNames) {
  ProgramText text = linearAndNorm();
  text.bend(R"("module_call_graph": [])",
            R"("module_call_graph": [{"fqn": "", "signature": {"out_spec": "[1, {\"type\": \"builtins.dict\", )"
            R"(\"context\": \"[\\\"logits\\\"]\", \"children_spec\": [{\"type\": null, \"context\": null, )"
            R"(\"children_spec\": []}]}]"}}])");
  const auto model = open(text);
  const auto isNamed = [](const Model& each) {
    EXPECT_EQ(each.graph().outputNames, std::vector<std::string>{"logits"});
    EXPECT_EQ(each.run(rows(3, 4), {}).value()[0].name, "logits");
    EXPECT_EQ(each.runSeeing(rows(3, 4), {}, {}).value().outputs[0].name, "logits");
  };
  isNamed(*model);
  isNamed(**model->toFloat64());
  const auto made = folded(*model, rows(3, 4), NormFlavour::Portable);
  isNamed(*made.model);
}

TEST_F(Pt2ModelTest, RefusesProgramsThatMeanNothing) {
  EXPECT_TRUE(says(refusal(linearAndNorm().bend("aten.linear.default", "normlens.unheard_of.default")),
                   "which this engine does not run"));
  EXPECT_TRUE(
      says(refusal(linearAndNorm().bend("torch.ops.aten.linear.default", "torch.ops.prim.RaiseException.default")),
           "damaged"));
  EXPECT_TRUE(says(refusal(linearAndNorm().bend("torch.ops.aten.linear.default", "_operator.matmul")), "does not run"));
  EXPECT_TRUE(says(refusal(linearAndNorm().bend(R"("arg": {"as_tensor": {"name": "linear"}})",
                                                R"("arg": {"as_tensor": {"name": "nothing"}})")),
                   "read before it is made"));
  EXPECT_TRUE(says(
      refusal(linearAndNorm().bend(R"("name": "eps", "arg": {"as_float")", R"("name": "epsilon", "arg": {"as_float")")),
      "does not take"));
  EXPECT_EQ(refusal(linearAndNorm().bend(R"({"as_float": 1e-05})", R"({"as_string": "x"})")), "") << "an opaque node";
  EXPECT_TRUE(says(refusal(linearAndNorm().bend(R"("outputs": [{"as_tensor": {"name": "linear"}}])",
                                                R"("outputs": [{"as_tensor": {"name": "x"}}])")),
                   "two values are called x"));
  EXPECT_TRUE(says(refusal(linearAndNorm().bend(R"("p_fc_weight": {"dtype": 7)", R"("p_fc_weight": {"dtype": 5)")),
                   "says otherwise"));
  EXPECT_TRUE(
      says(refusal(linearAndNorm().bend(R"("parameter_name": "fc.bias")", R"("parameter_name": "fc.weight.x")")),
           "damaged"));
}

}  // namespace
}  // namespace normlens::formats::pt2
