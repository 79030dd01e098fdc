// Which functions of operators the reader names for the analysis.
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "core/formats/onnx/lower/lower.h"
#include "tests/formats/onnx/onnx_fixture.h"

namespace normlens::formats::onnx {
namespace {

using graph::Function;

// One operator of that domain or the standard one: input types, then the text of the nodes.
Lowered one(const std::string& inputs, const std::string& nodes, const std::string& domain = "com.microsoft") {
  return lowerModel(sourceOf(modelFromText(R"(<ir_version: 8, opset_import: ["": 17, ")" + domain + "\": 1]> m (" +
                                           inputs + ") => (float[A, B] y) { " + nodes + " }")),
                    nullptr);
}

TEST(OpFunctions, FunctionsThatAnAnalysisAsksForAreNamed) {
  const std::tuple<const char*, const char*, Function> cases[] = {
      {"float[2, 8] x, float p", "y = Pow(x, p)", Function::Power},
      {"float[2, 8] x", "y = Sqrt(x)", Function::SquareRoot},
      {"float[2, 8] x", "y = Reciprocal(x)", Function::Reciprocal},
      {"float[2, 8] x", "y = Relu(x)", Function::Relu},
      {"float[2, 8] x, float[2, 8] z", "y = Max(x, z)", Function::Maximum},
      {"float[2, 8] x, float[2, 8] z", "y = Min(x, z)", Function::Other},
      {"float[2, 8] x", "y = Round(x)", Function::Step},
      {"float[2, 8] x", "y = Cast<to = 1>(x)", Function::Cast},
      {"float[2, 8] x", "y = Cast<to = 11>(x)", Function::Cast},
      {"float[2, 8] x, float z", "y = CastLike(x, z)", Function::Cast},
      {"float[2, 8] x, int64[1] a", "y = Unsqueeze(x, a)", Function::Unsqueeze},
      {"float[2, 8] x", "y = ReduceProd(x)", Function::Product},
      {"float[2, 8] x", "y = ReduceMax(x)", Function::Other},
      {"float[2, 8] x", "y = Shape(x)", Function::Sizes},
      {"float[2, 8] x", "y = Size(x)", Function::Other},
      {"float[2, 8] x", "y = com.microsoft.QuickGelu(x)", Function::Other}};
  for (const auto& [inputs, node, function] : cases) {
    EXPECT_EQ(graph::functionName(one(inputs, node).graph.nodes.back().function), graph::functionName(function))
        << node;
  }
  // Another's operator of the same name may compute anything.
  const auto own = one("float[2, 8] x", "y = acme.Sqrt(x)", "acme");
  EXPECT_EQ(own.graph.nodes.back().kind, graph::OpKind::Opaque);
  EXPECT_EQ(own.graph.nodes.back().function, Function::Other);
}

TEST(OpFunctions, ABatchNormThatIsWrittenOutTakesARoot) {
  const auto model = one("float[2, 8, 4] x, float[8] g, float[8] b, float[8] m, float[8] v",
                         "a = Abs(m) c = Abs(v) y = BatchNormalization(x, g, b, a, c)");
  const auto root = std::ranges::find(model.part, "root") - model.part.begin();
  ASSERT_LT(static_cast<size_t>(root), model.part.size());
  EXPECT_EQ(model.graph.nodes[static_cast<size_t>(root)].function, Function::SquareRoot);
}

}  // namespace
}  // namespace normlens::formats::onnx
