// Fused norms of random models: in double, at other sizes than those of the probe, the same outputs.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "core/analysis/analysis.h"
#include "core/analysis/streams/streams.h"
#include "tests/formats/onnx/edit/folded_model.h"
#include "tests/support/must.h"

namespace normlens::formats::onnx {
namespace {

constexpr int kModels = 80, kSteps = 8;
constexpr int64_t kWidth = 6;

// Values of the shape [batch, sequence, width], or of one that an Add stretches to that.
class RandomModel {
 public:
  explicit RandomModel(unsigned seed) : random_(seed) {
    proto_ = modelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[B, S, 6] x, float[B, S, 6] z) => () { a = MatMul(x, w) b = MatMul(z, v) })");
    for (const char* name : {"w", "v"}) addTensor(proto_, name, {kWidth, kWidth}, name[0]);
    for (const char* name : {"gamma", "beta"}) addTensor(proto_, name, {kWidth}, name[0]);
    for (int i = 0; i < kSteps; ++i) addStep();
    // Sometimes one in the middle is an output too.
    if (upTo(3) == 0) addOutput(full_[upTo(full_.size())]);
    addOutput(norm());
  }
  [[nodiscard]] const ModelProto& proto() const { return proto_; }

 private:
  size_t upTo(size_t count) { return random_() % count; }

  std::string node(const char* op, const std::vector<std::string>& inputs) {
    NodeProto& made = *proto_.mutable_graph()->add_node();
    made.set_op_type(op);
    for (const auto& input : inputs) made.add_input(input);
    made.add_output("v" + std::to_string(proto_.graph().node_size()));
    return made.output(0);
  }

  const std::string& recent() { return full_[full_.size() - 1 - upTo(std::min<size_t>(full_.size(), 4))]; }

  // Rows of one batch entry, of one place or of nothing: an Add repeats them.
  std::string narrow() {
    const std::string value = node("ReduceMean", {recent()});
    auto& axes = *proto_.mutable_graph()->mutable_node()->rbegin()->add_attribute();
    axes.set_name("axes");
    axes.set_type(::ONNX_NAMESPACE::AttributeProto::INTS);
    axes.add_ints(static_cast<int64_t>(upTo(3)));
    return value;
  }

  std::string norm() {
    const bool simple = upTo(3) == 0;
    std::vector<std::string> inputs = {upTo(4) == 0 ? recent() : full_.back(), "gamma"};
    if (!simple && upTo(2) == 0) inputs.emplace_back("beta");
    return node(simple ? "SimplifiedLayerNormalization" : "LayerNormalization", inputs);
  }

  std::string sum() {
    switch (upTo(6)) {
      case 0:
        return node("Add", {recent(), narrow()});
      case 1:
        return node("Add", {narrow(), recent()});
      case 2:
        return node("Add", {recent(), node("Add", {recent(), "beta"})});
      default:
        return node("Add", {recent(), recent()});
    }
  }

  // A sum that nothing but sums and norms reads can be centered; sometimes something else reads it.
  void addStep() {
    if (upTo(12) == 0) full_.push_back(node("Tanh", {recent()}));
    full_.push_back(sum());
    if (upTo(4) == 0) return;
    const std::string normed = norm();
    full_.push_back(upTo(8) == 0 ? normed : node("MatMul", {normed, upTo(2) == 0 ? "w" : "v"}));
  }

  void addOutput(const std::string& name) {
    for (const auto& output : proto_.graph().output()) {
      if (output.name() == name) return;
    }
    auto& output = *proto_.mutable_graph()->add_output();
    output.set_name(name);
    output.mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
  }

  std::mt19937 random_;
  ModelProto proto_;
  std::vector<std::string> full_ = {"a", "b"};
};

std::vector<graph::Shape> shapesOf(int64_t batch, int64_t length) {
  return {{batch, length, kWidth}, {batch, length, kWidth}};
}

constexpr std::array<std::pair<int64_t, int64_t>, 4> kSizes = {{{2, 3}, {1, 3}, {3, 1}, {1, 1}}};

// How many norms were fused.
size_t checkFusing(const OnnxModel& model) {
  const auto norms = analysis::findNorms(model.graph());
  const auto fused = must(model.fuseNorms(norms, {}));
  const auto twin = must(model.toFloat64());
  const auto fusedTwin = must(dynamic_cast<const OnnxModel&>(*twin).fuseNorms(norms, {}));
  EXPECT_EQ(fusedTwin.fused, fused.fused);
  for (const auto& [batch, length] : kSizes) {
    EXPECT_LT(differenceOf(*twin, *fusedTwin.model, drawn(shapesOf(batch, length), 2)), 1e-10)
        << batch << "," << length;
  }
  EXPECT_TRUE(fused.model->run(drawn(shapesOf(2, 3), 3), {})) << "ONNX Runtime takes it as it is";
  return fused.fused.size();
}

// Folded with ONNX Runtime's norms, adds taken in.
size_t checkFolding(const OnnxModel& model) {
  const auto analysis = must(analysis::analyze(model.graph(), {}));
  const auto edits = analysis::narrowed(analysis::makePlan(*analysis, {analysis::Policy::All, 1000, {}, {}}), {});
  const auto twin = must(model.toFloat64());
  const auto folded = must(twin->apply(edits, analysis->norms.layerNorms, NormFlavour::Ort, {}));
  for (const auto& [batch, length] : kSizes) {
    EXPECT_LT(differenceOf(*twin, *folded, drawn(shapesOf(batch, length), 2)), 1e-9) << batch << "," << length;
  }
  const auto ops = opsOf(dynamic_cast<const OnnxModel&>(*folded).source().skeleton->graph());
  return ops.find("SkipSimplified") == std::string::npos ? 0 : 1;
}

TEST(FuseAddsRandom, TheSameOutputsAtEverySize) {
  size_t fused = 0, foldedFused = 0;
  for (unsigned seed = 1; seed <= kModels; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomModel made(seed);
    const auto& [batch, length] = kSizes[seed % kSizes.size()];
    const auto model = openedModel(made.proto());
    must(model->probe(drawn(shapesOf(batch, length), 1), {}));
    fused += checkFusing(*model);
    foldedFused += checkFolding(*model);
    if (HasFailure()) return;
  }
  EXPECT_GT(fused, static_cast<size_t>(kModels)) << "the models have something to fuse";
  EXPECT_GT(foldedFused, static_cast<size_t>(kModels) / 4);
  RecordProperty("fused", static_cast<int>(fused));
}

}  // namespace
}  // namespace normlens::formats::onnx
