// Which weights a probe run may see as zeros, and that the shapes it finds are those of the model all the same.
#include "core/formats/onnx/run/stand_ins.h"

#include <gtest/gtest.h>

#include "core/formats/onnx/run/session.h"
#include "core/run/tensors.h"
#include "tests/formats/onnx/onnx_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::onnx {
namespace {

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
