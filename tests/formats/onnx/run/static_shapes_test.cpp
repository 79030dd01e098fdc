// What is inferred of a model's shapes is checked by its run, and given up where the run differs; which weights a probe
// may replace by zeros without a change of the shapes it finds.
#include <gtest/gtest.h>

#include "core/formats/onnx/model/onnx_model.h"
#include "core/formats/onnx/run/session.h"
#include "core/formats/onnx/run/stand_ins.h"
#include "core/formats/onnx/run/static_shapes.h"
#include "core/run/tensors.h"
#include "tests/formats/onnx/onnx_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::onnx {
namespace {

// The onnx library follows sizes through Cast as if every type could hold them: 200 is -56 as int8.
constexpr const char* kContradicted = R"(<ir_version: 8, opset_import: ["" : 17]>
  agraph (float[n, 3] x) => (float[a, b] y) {
    sizes = Shape(x)
    small = Cast<to = 3>(sizes)
    back = Cast<to = 7>(small)
    sixty = Constant<value = int64[2] {60, 0}>()
    wanted = Add(back, sixty)
    zeros = ConstantOfShape(wanted)
    y = Relu(zeros)
  })";

Tensors rows(int64_t count) {
  return {
      {"x", run::fromDoubles(graph::DType::Float32, {count, 3}, std::vector<double>(3 * static_cast<size_t>(count)))}};
}

graph::Shape shapeOf(const OnnxModel& model, const std::string& name) {
  for (const auto& value : model.graph().values) {
    if (value.name == name) return value.shape.value_or(graph::Shape{});
  }
  ADD_FAILURE() << "there is no value " << name;
  return {};
}

TEST(StaticShapes, AreGivenUpWhereTheRunContradictsThem) {
  const OnnxSource source = sourceOf(modelFromText(kContradicted));
  const StaticShapes inferred = staticShapes(source, rows(200));
  ASSERT_EQ(inferred.shapes.at("zeros").shape, (graph::Shape{260, 3})) << "the library has learned; find another case";
  auto model = must(OnnxModel::fromSource(source, {}));
  ASSERT_TRUE(model->probe(rows(200), {}));
  EXPECT_EQ(shapeOf(*model, "zeros"), (graph::Shape{4, 3}));
  EXPECT_EQ(shapeOf(*model, "y"), (graph::Shape{4, 3}));
  EXPECT_EQ(shapeOf(*model, "wanted"), (graph::Shape{2}));
}

TEST(StaticShapes, StandWhereTheRunAgrees) {
  const OnnxSource source = sourceOf(modelFromText(kContradicted));
  auto model = must(OnnxModel::fromSource(source, {}));
  ASSERT_TRUE(model->probe(rows(100), {}));
  EXPECT_EQ(shapeOf(*model, "zeros"), (graph::Shape{160, 3}));
}

// The same behind as many nodes as make a run long.
std::string contradictedAfter(int nodes) {
  const std::string text = kContradicted, first = "sizes = Shape(x)";
  std::string chain, at = "x";
  for (int i = 0; i < nodes; ++i) {
    const std::string next = "r" + std::to_string(i);
    chain += next + " = Relu(" + at + ")\n";
    at = next;
  }
  const size_t place = text.find(first);
  return text.substr(0, place) + chain + "sizes = Shape(" + at + ")" + text.substr(place + first.size());
}

TEST(InferredShapes, AreThereBeforeTheRunOfALongModelAndMendedByIt) {
  auto model = must(OnnxModel::fromSource(sourceOf(modelFromText(contradictedAfter(4000))), {}));
  ASSERT_TRUE(model->inferShapes(rows(200), {}));
  EXPECT_EQ(shapeOf(*model, "r3999"), (graph::Shape{200, 3}));
  EXPECT_EQ(shapeOf(*model, "y"), (graph::Shape{260, 3})) << "the run has not been asked";
  ASSERT_TRUE(model->probe(rows(200), {}));
  EXPECT_EQ(shapeOf(*model, "y"), (graph::Shape{4, 3}));
}

// A table is cut at a size that onnx does not follow: that number is run, and nothing else.
TEST(InferredShapes, FollowWhatOnlyANumberTells) {
  std::string text = contradictedAfter(4000);
  const std::string tail = "small = Cast";
  text.replace(text.find(tail), text.size() - text.find(tail), R"(zero = Constant<value = int64[1] {0}>()
    one = Constant<value = int64[1] {1}>()
    rows = Gather(sizes, zero)
    table = ConstantOfShape(sizes)
    part = Slice(table, zero, rows, zero)
    y = Add(r3999, part)
  })");
  auto model = must(OnnxModel::fromSource(sourceOf(modelFromText(text)), {}));
  ASSERT_TRUE(model->inferShapes(rows(5), {}));
  EXPECT_EQ(shapeOf(*model, "part"), (graph::Shape{5, 3}));
  EXPECT_EQ(shapeOf(*model, "y"), (graph::Shape{5, 3}));
}

TEST(InferredShapes, AreNotAskedForWhereARunIsQuick) {
  auto model = must(OnnxModel::fromSource(sourceOf(modelFromText(kContradicted)), {}));
  EXPECT_FALSE(model->inferShapes(rows(200), {}));
}

using Axes = std::vector<int64_t>;

// Gather's indices may be counted from the end of a list that was picked itself.
TEST(StaticShapes, LetASizeBeReadFromTheEndOfAPickedList) {
  const auto computedBy =
      [](const std::string& index) {
        auto model = OnnxModel::fromSource(sourceOf(modelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
      agraph (float[n, 3] x) => (float[a, b] y)
        <int64[2] both = {0, 1}, int64[1] picked = {)" + index + R"(}, int64[1] rest = {-1}> {
        sizes = Shape(x) two = Gather(sizes, both) size = Gather(two, picked)
        wanted = Concat<axis = 0>(size, rest) y = Reshape(x, wanted)
      })")),
                                           {});
        EXPECT_TRUE(model) << model.error().message;
        EXPECT_TRUE((*model)->probe(rows(4), {}));
        for (const auto& node : (*model)->graph().nodes) {
          if (node.op == "Reshape") return graph::intsAttribute(node, "computed").value_or(Axes{});
        }
        ADD_FAILURE() << "there is no Reshape";
        return Axes{};
      };
  EXPECT_EQ(computedBy("-2"), Axes{}) << "the rows of x";
  EXPECT_EQ(computedBy("0"), Axes{});
}

using graph::DType;

// A large weight w, and what `tail` makes of h = x w.
OnnxSource sourceWith(const std::string& tail) {
  auto model = modelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (float[n, 128] x) => (y) {
      h = MatMul(x, w)
      )" + tail + "}");
  addTensor(model, "w", {128, 256}, 3);
  return sourceOf(model);
}

Tensors inputs() {
  std::vector<double> numbers(size_t{3} * 128);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i % 7) - 2.5;
  return {{"x", run::fromDoubles(DType::Float32, {3, 128}, numbers)}};
}

std::unordered_set<std::string> onlyForShape(const OnnxSource& source) {
  return weightsOnlyForShape(source, inferredTypes(source, {{"x", {DType::Float32, {3, 128}}}}));
}

TEST(StandIns, WeightsBehindShapesThatHangOnNumbersAreKept) {
  const std::unordered_set<std::string> w{"w"};
  EXPECT_EQ(onlyForShape(sourceWith("y = Relu(h)")), w);
  EXPECT_EQ(onlyForShape(sourceWith("s = Shape(h) z = ConstantOfShape(s) y = Add(h, z)")), w)
      << "a shape is no number of the weights";
  const std::unordered_set<std::string> none;
  EXPECT_EQ(onlyForShape(sourceWith("y = NonZero(h)")), none);
  EXPECT_EQ(onlyForShape(sourceWith("y = OneHot(ids, depth, h)")), none) << "how many values is a number of theirs";
  EXPECT_EQ(onlyForShape(sourceWith("i = Cast<to = 7>(h) y = Reshape(h, i)")), none);
  EXPECT_EQ(onlyForShape(sourceWith("i = ArgMax(h) y = Gather(h, i)")), none);
  EXPECT_EQ(onlyForShape(sourceWith(R"(c = Constant<value = bool {1}>()
      y = If (c) <then_branch = a () => (p) { p = NonZero(h) }, else_branch = b () => (q) { q = NonZero(x) }>)")),
            none);
}

TEST(StandIns, ASessionSeesZeros) {
  const OnnxSource source = sourceWith("y = Relu(h)");
  SessionOptions options;
  options.onlyForShape = {"w"};
  const auto session = must(Session::open(source, options));
  const auto outputs = must(session->run(inputs(), {}));
  EXPECT_EQ(outputs.at(0).view.shape, (graph::Shape{3, 256}));
  EXPECT_EQ(graph::toDoubles(outputs.at(0).view), std::vector<double>(size_t{3} * 256, 0.0));
}

TEST(StandIns, AProbeFindsTheShapesOfTheModel) {
  for (const auto& [tail, shape] : std::vector<std::pair<std::string, graph::Shape>>{
           {"y = Relu(h)", {3, 256}}, {"z = NonZero(h) y = Identity(z)", {2, 768}}}) {
    auto model = must(OnnxModel::fromSource(sourceWith(tail), {}));
    ASSERT_TRUE(model->probe(inputs(), {}));
    const auto& graph = model->graph();
    const auto& output = graph.value(graph.outputs().at(0));
    ASSERT_TRUE(output.shape) << tail;
    EXPECT_EQ(*output.shape, shape) << tail;
  }
}

}  // namespace
}  // namespace normlens::formats::onnx
