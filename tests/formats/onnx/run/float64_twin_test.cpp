// Copies of a model in another float type: wholly converted, or the operator that is not gets named.
#include <gtest/gtest.h>

#include "core/formats/onnx/float64/float64_ops.h"
#include "core/run/inputs/draw.h"
#include "core/run/tensors.h"
#include "tests/formats/onnx/run/session_fixture.h"
#include "tests/support/must.h"
#include "tests/support/worst_of.h"

namespace normlens::formats::onnx {
namespace {

using graph::DType;

TEST(Float64Twin, WidensTypesThatFunctionsAreGivenAsAttributes) {
  const auto model = modelOf(kFunctions);
  const Tensors inputs{{"x", run::fromDoubles(DType::Float64, {1, 4}, std::vector<double>{1 + 1e-12, 2, 3, 4})}};
  const auto twin = must(model->toFloat64());
  const auto outputs = must(twin->run(inputs, {}));
  EXPECT_EQ(outputs[0].view.dtype, DType::Float64);
  EXPECT_EQ(valuesOf(outputs)[0], 2 * (1 + 1e-12));
  EXPECT_EQ(twin->narrowOp(inputs, {}).value(), "");
}

// ONNX Runtime wants to know the shapes of what the body of a Scan gives, and asks no kernel of ours for them.
TEST(Float64Twin, RunsNormsOfTheRuntimeInTheBodyOfAScan) {
  for (const char* norm : {"next = SimplifiedLayerNormalization <axis = -1, epsilon = 0.01> (sum, gamma)",
                           "next = com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.01> (s, slice, gamma)",
                           "next = com.microsoft.FastGelu (sum)"}) {
    ModelProto proto = modelFromText(std::string(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[2, 4] start, float[3, 2, 4] x) => (float[2, 4] y, float[3, 2, 4] all) {
      y, all = Scan <num_scan_inputs = 1, body = step (float[2, 4] s, float[2, 4] slice)
                                                => (float[2, 4] next, float[2, 4] out) {
        sum = Add(s, slice)
        )") + norm + R"(
        out = Identity(next)
      }> (start, x)
    })");
    addTensor(proto, "gamma", {4}, 1);
    for (auto& attribute : *proto.mutable_graph()->mutable_node(0)->mutable_attribute()) {
      if (!attribute.has_g()) continue;
      for (auto& output : *attribute.mutable_g()->mutable_output())
        output.mutable_type()->mutable_tensor_type()->clear_shape();
    }
    const auto model = modelOf(proto);
    const Tensors inputs = run::drawInputs(model->inferInputs().value(), 3).value();
    ASSERT_TRUE(model->run(inputs, {}));
    const auto twin = must(model->toFloat64());
    const auto outputs = twin->run(inputs, {});
    EXPECT_TRUE(outputs) << outputs.error().message;
  }
}

TEST(Float64Twin, IsLookedIntoInBranchesToo) {
  const auto twin = must(modelOf(ifModel())->toFloat64());
  for (const bool flag : {false, true}) {
    const auto narrow = must(twin->narrowOp(ifInputs(flag), {}));
    EXPECT_EQ(narrow, "");
  }
}

TEST(Float64Twin, WidensConstantsDefaultsAndWeights) {
  ModelProto proto = modelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (float16[n, 4] x) => (float[n, 32] y) {
      zero = ConstantOfShape(sizes)
      third = Constant<value_float = 0.33333334>()
      some = Constant<value_floats = [0.1, 0.2, 0.3, 0.4]>()
      x32 = Cast<to = 1>(x)
      a = Add(x32, zero)
      b = Mul(a, third)
      c = Add(b, some)
      d = MatMul(c, w)
      y = Gelu(d)
    })");
  proto.mutable_opset_import(0)->set_version(20);
  addTensor(proto, "w", {4, 32}, 1);
  auto* sizes = proto.mutable_graph()->add_initializer();
  sizes->set_name("sizes");
  sizes->set_data_type(TensorProto::INT64);
  sizes->add_dims(1);
  sizes->add_int64_data(4);
  const auto model = modelOf(proto);
  const Tensors inputs{floats("x", {2, 4}, {0.1, -0.2, 0.3, 0.4, 0.5, -0.6, 0.7, 0.8})};
  const auto plain = must(model->run(inputs, {}));
  const auto twin = must(model->toFloat64());
  const auto wide = must(twin->run(inputs, {}));
  EXPECT_EQ(wide[0].view.dtype, DType::Float64);
  EXPECT_LT(run::worstOf(run::compareOutputs(wide, plain).value()).maxRel, 2e-3);  // float16 inputs
  EXPECT_EQ(twin->narrowOp(inputs, {}).value(), "");
  EXPECT_EQ(twin->facts().dtype, DType::Float64);
  EXPECT_EQ(twin->graph().nodes.size(), model->graph().nodes.size());
}

// A file of doubles, not a twin of floats: what ONNX Runtime lacks in double is seen by the types of what it reads, and
// the onnx library does not know those operators.
TEST(FileOfDoubles, RunsWhereTheTypeComesFromAnOperatorOfTheRuntime) {
  for (const char* normed : {"n = SimplifiedLayerNormalization<axis = -1>(x, g)", "n = com.microsoft.FusedMatMul(x, w)",
                             "n, a, b, s = com.microsoft.SkipLayerNormalization(x, x, g, g)"}) {
    ModelProto proto = modelFromText(std::string(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
      agraph (double[n, 4] x) => (double[n, 4] y) <double[4] g = {0.5, 2.0, 1.5, -1.0},
        double[4, 4] w = {1,2,3,4, 5,6,7,8, 1,0,1,0, 0,1,0,2}> { )") +
                                     normed + " e = Erf(n) y = Add(e, x) }");
    const auto model = modelOf(proto);
    const Tensors inputs{{"x", run::fromDoubles(DType::Float64, {1, 4}, std::vector<double>{0.1, -0.2, 0.3, 0.4})}};
    const auto ran = model->run(inputs, {});
    ASSERT_TRUE(ran) << normed << ": " << ran.error().message;
    const auto twin = must(model->toFloat64());
    const auto expected = must(twin->run(inputs, {}));
    EXPECT_LT(run::worstOf(run::compareOutputs(expected, *ran).value()).maxRel, 1e-14) << normed;
  }
}

TEST(Converted, EachTypeGivesNearlyTheSame) {
  ModelProto proto = modelFromText(R"(<ir_version: 10, opset_import: ["" : 17]>
    agraph (float[n, 32] x) => (float[n, 32] y) {
      lowest = Constant<value = float {-3.4028235e38}>()
      zero = Constant<value = float {0}>()
      a = MatMul(x, w)
      b = LayerNormalization<axis = -1>(a, gamma, beta)
      positive = Greater(b, zero)
      masked = Where(positive, b, lowest)
      y = Softmax(masked)
    })");
  addTensor(proto, "w", {32, 32}, 1);
  addTensor(proto, "gamma", {32}, 2);
  addTensor(proto, "beta", {32}, 3);
  const auto model = modelOf(proto);
  const Tensors inputs = run::drawLike({floats("x", {2, 2}, {0, 1, -1, 2})}, {{2, 32}}, 1).value();
  ASSERT_TRUE(model->probe(inputs, {}));
  const auto expected = must(model->run(inputs, {}));
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::Float16, 0.02}, {DType::BFloat16, 0.1}, {DType::Float64, 1e-5}}) {
    const auto made = must(model->converted(dtype));
    EXPECT_EQ(made->facts().dtype, dtype);
    EXPECT_EQ(made->facts().computedIn, dtype == DType::BFloat16 ? DType::Float32 : DType::Unknown);
    const auto outputs = must(made->run(inputs, {}));
    const auto diff = run::compareOutputs(expected, outputs).value();
    EXPECT_LT(diff[0].maxRel, tolerance) << graph::dtypeName(dtype);
    EXPECT_GT(diff[0].maxRel, 0) << "it was computed in another type, or with other weights";
    EXPECT_EQ(made->graph().nodes.size(), model->graph().nodes.size());
    const auto seen = must(made->runCapturing(inputs, {idAt(*model, "b")}, {}));
    EXPECT_NE(seen.front().view.data, nullptr);
  }
}

TEST(Float64Twin, NamesAnOperatorThatComputesInLess) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
    agraph (float[n, 2] x) => (float[n, 2] y) {
      a = Neg(x)
      b = ai.onnx.ml.Scaler<offset = [0.0, 1.0], scale = [1.0, 2.0]>(a)
      c = Cast<to = 1>(b)
      y = Neg(c)
    })");
  const Tensors inputs{floats("x", {1, 2}, {1, 2})};
  const auto twin = must(model->toFloat64());
  EXPECT_EQ(twin->narrowOp(inputs, {}).value(), "Scaler");
}

TEST(Float64Twin, AModelQuantisedByOperatorsOfTheirOwnHasNone) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    agraph (float[n, 4] x, float[4, 4] w) => (float[n, 4] y) { y = com.microsoft.DynamicQuantizeMatMul(x, w) })");
  const Error twin = failureOf(model->toFloat64());
  EXPECT_EQ(twin.code, ErrorCode::Unsupported);
  EXPECT_NE(twin.message.find("quantised"), std::string::npos);
}

TEST(Float64Twin, QuantisesWithScalesInDouble) {
  for (const char* zero : {"int8 {3}", "uint8 {130}"}) {
    const auto model = modelOf((std::string(R"(<ir_version: 8, opset_import: ["" : 17]>
      agraph (float[n, 4] x) => (float[n, 4] y, float[n, 4] z) {
        s = Constant<value = float {0.1}>()
        o = Constant<value = )") +
                                zero + R"(>()
        q = QuantizeLinear(x, s, o)
        y = DequantizeLinear(q, s, o)
        d, ds, dz = DynamicQuantizeLinear(x)
        z = DequantizeLinear(d, ds, dz)
      })")
                                   .c_str());
    const Tensors inputs{floats("x", {2, 4}, {0.11, -0.22, 0.33, 100, -100, 0.66, 0.77, -0.88})};
    const auto plain = must(model->run(inputs, {}));
    const auto twin = must(model->toFloat64());
    const auto wide = must(twin->run(inputs, {}));
    EXPECT_LT(run::worstOf(run::compareOutputs(plain, wide).value()).maxRel, 1e-6);
    EXPECT_EQ(twin->narrowOp(inputs, {}).value(), "");
  }
}

TEST(Float64Twin, AFunctionDoesNotHideAQuantisedOperatorOfItsName) {
  const auto obstacle = [](const std::string& op) {
    return conversionObstacle(
        modelFromText(R"(<ir_version: 8, opset_import: ["" : 17]> m (float[4] x) => (float[4] y) { y = )" + op +
                      R"((x) } <domain: "", opset_import: ["" : 17]> )" + op + " (a) => (b) { b = Neg(a) }"),
        DType::Float64);
  };
  EXPECT_EQ(obstacle("QLinearConv"), "it is quantised (QLinearConv)");
  EXPECT_EQ(obstacle("QLinearOdd"), "");
}

}  // namespace
}  // namespace normlens::formats::onnx
