// Running, probing and capturing small models written as text.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "core/run/tensors.h"
#include "tests/formats/onnx/run/session_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::onnx {
namespace {

using graph::DType;

TEST(Session, TakesInputsByNameOrPositionAndCastsThem) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (float[n] x, int32[n] i) => (float[n] sum, int32[n] same) {
      f = Cast<to = 1>(i)
      sum = Add(x, f)
      same = Identity(i)
    })");
  const NamedTensor x{"x", run::fromDoubles(DType::Float64, {2}, std::vector<double>{0.5, 1.5})};
  const NamedTensor i{"i", run::fromDoubles(DType::Int64, {2}, std::vector<double>{3, 4})};
  for (const Tensors& inputs : {Tensors{x, i}, Tensors{i, x}, Tensors{{"in_0", x.view}, {"in_1", i.view}},
                                Tensors{{"a", x.view}, {"b", i.view}}}) {
    const auto outputs = must(model->run(inputs, {}));
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_EQ(outputs[0].name, "sum");
    EXPECT_EQ(outputs[1].name, "same");
    EXPECT_EQ(valuesOf(outputs), (std::vector<double>{3.5, 5.5}));
    EXPECT_EQ(outputs[1].view.dtype, DType::Int32);
  }
}

TEST(Session, WantOfMemoryIsSaidInWords) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's operator new ends the process where it should throw";
#endif
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (int64[1] n) => (float[m] y) {
      y = ConstantOfShape(n)
    })");
  const auto run =
      model->run({{"n", run::fromDoubles(DType::Int64, {1}, std::vector<double>{static_cast<double>(1LL << 50)})}}, {});
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().message.find("there is not enough memory"), std::string::npos) << run.error().message;
}

TEST(Session, SaysWhatIsWrongWithInputsInOneSentence) {
  const auto model = modelOf(ifModel());
  const Error few = failureOf(model->run({ifInputs(true)[0]}, {}));
  EXPECT_EQ(few.code, ErrorCode::BadInput);
  EXPECT_NE(few.message.find("takes 2 inputs, 1 were given"), std::string::npos) << few.message;
  auto inputs = ifInputs(true);
  inputs[0] = floats("x", {2, 3}, {1, 2, 3, 4, 5, 6});
  const Error wide = failureOf(model->run(inputs, {}));
  EXPECT_EQ(wide.code, ErrorCode::RunFailed);
  EXPECT_EQ(wide.message.find('\n'), std::string::npos);
  inputs = ifInputs(true);
  inputs[1] = floats("flag", {}, {1});
  const Error wrong = failureOf(model->run(inputs, {}));
  EXPECT_EQ(wrong.code, ErrorCode::BadInput);
  EXPECT_NE(wrong.message.find("'flag' is bool in the model"), std::string::npos) << wrong.message;
}

TEST(Session, AnUnknownOperatorCannotBeRun) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17, "my.ops" : 1]>
    agraph (float[n] x) => (float[n] y) { y = my.ops.Wave(x) })");
  const Error ran = failureOf(model->run({floats("x", {2}, {1, 2})}, {}));
  EXPECT_EQ(ran.code, ErrorCode::Unsupported);
  EXPECT_NE(ran.message.find("Wave of 'my.ops'"), std::string::npos) << ran.message;
  EXPECT_PRED2(contains, failureOf(model->toFloat64()).message, "Wave");
}

TEST(Session, AStoppedTaskIsNotAFailure) {
  const auto model = modelOf(ifModel());
  std::stop_source source;
  source.request_stop();
  const Task task{{}, source.get_token()};
  EXPECT_EQ(failureOf(model->run(ifInputs(true), task)).code, ErrorCode::Cancelled);
}

TEST(Session, WeightsThatNobodyReadAreNoHindrance) {
  for (const bool alsoInput : {false, true}) {
    ModelProto proto = modelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
      agraph (float[n, 8] x) => (float[n, 8] y) { y = MatMul(x, w) })");
    addTensor(proto, "w", {8, 8}, 5);
    addTensor(proto, "unread", {8, 8}, 6);
    if (alsoInput) {
      for (const char* name : {"unread", "w"}) {
        auto& input = *proto.mutable_graph()->add_input();
        input.set_name(name);
        input.mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::FLOAT);
        for (int i = 0; i < 2; ++i)
          input.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(8);
      }
    }
    const auto model = modelOf(proto);
    const Tensors inputs{floats("x", {1, 8}, {1, 2, 3, 4, 5, 6, 7, 8})};
    ASSERT_TRUE(model->run(inputs, {}));
    EXPECT_TRUE(model->probe(inputs, {}));
    EXPECT_TRUE(model->toFloat64().value()->run(inputs, {}));
  }
}

// As a head that is tied to a table is exported.
TEST(Session, ATableIsReadAsItStandsByProductsWithItsTranspose) {
  ModelProto proto = modelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (float[n, 128] x) => (float[n, 160] y, float[n, 160] z) {
      turned = Transpose(w)
      y = MatMul(x, turned)
      z = Gemm<transB = 1>(x, w)
    })");
  addTensor(proto, "w", {160, 128}, 5);
  const OnnxSource source = sourceOf(proto, 64);
  const SessionModel inPlace = must(makeSessionModel(source, {.taps = {}, .turnedInPlace = true}));
  EXPECT_EQ(opsOf(inPlace.proto.graph()), "Flatten,Gemm,Shape,Constant,Concat,Reshape,Gemm");
  EXPECT_EQ(opsOf(must(makeSessionModel(source, {})).proto.graph()), "Transpose,MatMul,Gemm");

  const auto model = modelOf(proto);
  const auto twin = must(model->toFloat64());
  const Tensors inputs{floats("x", {1, 128}, std::vector<double>(128, 0.5))};
  const auto seen = must(twin->runSeeing(inputs, {idAt(*model, "turned")}, {}));
  EXPECT_EQ(seen.values[0].view.shape, (graph::Shape{128, 160}));
  EXPECT_EQ(seen.narrowOp, "") << "such a run shows each of a twin's values";
  const auto y = valuesOf(seen.outputs, 0), z = valuesOf(seen.outputs, 1);
  ASSERT_EQ(y.size(), 160U);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], z[i], 1e-12);
}

TEST(Session, AProductWithATablesTransposeHasTheShapeAndNumbersOfAnyOther) {
  ModelProto proto = modelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (float[] x) => (float[] y, float[] z) {
      turned = Transpose<perm = [1, 0]>(w)
      y = MatMul(x, turned)
      copied = Identity(copy)
      z = MatMul(x, copied)
    })");
  addTensor(proto, "w", {160, 128}, 5);
  addTensor(proto, "copy", {128, 160}, 5);
  const auto* w = reinterpret_cast<const float*>(proto.graph().initializer(0).raw_data().data());
  std::string turned(proto.graph().initializer(0).raw_data().size(), 0);
  for (size_t i = 0; i < 160 * 128; ++i) std::memcpy(&turned[(i % 128 * 160 + i / 128) * 4], &w[i], 4);
  proto.mutable_graph()->mutable_initializer(1)->set_raw_data(turned);
  const auto model = modelOf(proto);
  for (const graph::Shape& shape :
       {graph::Shape{128}, {1, 128}, {5, 128}, {2, 3, 128}, {2, 0, 128}, {0, 128}, {3, 1, 2, 128}}) {
    const auto count = static_cast<size_t>(*graph::elementCount(shape));
    std::vector<double> numbers;
    for (size_t i = 0; i < count; ++i) numbers.push_back(std::sin(static_cast<double>(i)));
    const auto outputs = must(model->run({floats("x", shape, numbers)}, {}));
    EXPECT_EQ(outputs[0].view.shape, outputs[1].view.shape);
    const auto y = valuesOf(outputs, 0), z = valuesOf(outputs, 1);
    ASSERT_EQ(y.size(), z.size());
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], z[i], 1e-4);
  }
  EXPECT_FALSE(model->run({floats("x", {1, 256}, std::vector<double>(256, 0.5))}, {}));
}

TEST(Session, ATablesTransposeThatOthersReadIsMade) {
  ModelProto proto = modelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (float[n, 128] x) => (float[n, 160] y, float[128, 160] u) {
      turned = Transpose(w)
      y = MatMul(x, turned)
      u = Neg(turned)
    })");
  addTensor(proto, "w", {160, 128}, 5);
  const auto opsIn = [](const ModelProto& read) {
    return opsOf(must(makeSessionModel(sourceOf(read, 64), {.taps = {}, .turnedInPlace = true})).proto.graph());
  };
  EXPECT_EQ(opsIn(proto), "Transpose,MatMul,Neg");
  proto.mutable_opset_import(0)->set_version(14);  // Shape has no `end` there.
  proto.mutable_graph()->mutable_node()->RemoveLast();
  proto.mutable_graph()->mutable_output()->RemoveLast();
  EXPECT_EQ(opsIn(proto), "Transpose,MatMul");
  proto.mutable_opset_import(0)->set_version(15);
  EXPECT_EQ(opsIn(proto), "Flatten,Gemm,Shape,Constant,Concat,Reshape");
  // ONNX Runtime has to see a list that is no permutation, and refuses it.
  auto& perm = *proto.mutable_graph()->mutable_node(0)->add_attribute();
  perm.set_name("perm");
  perm.set_type(::ONNX_NAMESPACE::AttributeProto::INTS);
  perm.add_ints(1);
  perm.add_ints(1);
  EXPECT_EQ(opsIn(proto), "Transpose,MatMul");
}

TEST(Session, AnOutputThatIsAnInputOutlivesTheRun) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 2] x) => (float[2, 2] x, float[2, 2] y) { y = Neg(x) })");
  const auto twin = must(model->toFloat64());
  const auto outputs = must(twin->run({floats("x", {2, 2}, {1, 2, 3, 4})}, {}));
  const std::vector<double> other(4, 7.0);  // memory of that size is handed out again
  const auto reused = run::fromDoubles(DType::Float64, {2, 2}, other);
  EXPECT_EQ(valuesOf(outputs, 0), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(valuesOf(outputs, 1), (std::vector<double>{-1, -2, -3, -4}));
  EXPECT_NE(outputs[0].view.data, reused.data);
}

void expectDrawnTheSame(const char* model, const Tensors& inputs) {
  const auto once = modelOf(model)->run(inputs, {});
  const auto again = modelOf(model)->run(inputs, {});
  ASSERT_TRUE(once && again);
  EXPECT_EQ(valuesOf(*once), valuesOf(*again));
  EXPECT_NE(valuesOf(*once).at(0), valuesOf(*once).at(1)) << "it is drawn";
}

TEST(Session, WhatIsDrawnAtRandomIsTheSameInEverySession) {
  constexpr const char* kInBranches = R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (float[2, 4] x, bool flag) => (float[2, 4] y) {
      y = If (flag) <
        then_branch = g1 () => (float[2, 4] a) { a = RandomNormalLike(x) },
        else_branch = g2 () => (float[2, 4] b) { n = RandomUniformLike(x) b = Add(n, x) }
      >
    })";
  expectDrawnTheSame(kInBranches, ifInputs(false));
  expectDrawnTheSame(kInBranches, ifInputs(true));
  constexpr const char* kInFunction = R"(<ir_version: 8, opset_import: ["" : 17, "mine" : 1]>
    agraph (float[2, 4] x) => (float[2, 4] y) { y = mine.Noisy(x) }
    <opset_import: ["" : 17], domain: "mine"> Noisy (a) => (b) { n = RandomNormalLike(a) b = Add(n, a) })";
  expectDrawnTheSame(kInFunction, {floats("x", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})});
}

TEST(Session, SequencesAreFlattened) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (float[n, 4] x) => (seq(float[n, 2]) parts) {
      two = Constant<value = int64 {2}>()
      parts = SplitToSequence<axis = 1>(x, two)
    })");
  const Tensors inputs{floats("x", {1, 4}, {1, 2, 3, 4})};
  const auto outputs = must(model->run(inputs, {}));
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[1].name, "parts[1]");
  EXPECT_EQ(valuesOf(outputs, 1), (std::vector<double>{3, 4}));
  EXPECT_TRUE(model->probe(inputs, {}));
}

TEST(Session, TextsAreNumbersThatAreEqualWhereTheyAre) {
  const auto model = modelOf(R"(<ir_version: 9, opset_import: ["" : 18]>
    g (float[3] x) => (string[3] s, float[3] y) {
      s = Cast <to = 8> (x)
      y = Abs (x)
    })");
  const auto same = model->run({floats("x", {3}, {1.5, 1.5, -2})}, {});
  const auto other = model->run({floats("x", {3}, {1.5, 1.25, -2})}, {});
  ASSERT_TRUE(same && other);
  const std::vector<double> texts = valuesOf(*same), others = valuesOf(*other);
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_NE(texts[0], texts[2]);
  EXPECT_EQ(texts[0], others[0]);
  EXPECT_NE(texts[1], others[1]);
  EXPECT_EQ(valuesOf(*same, 1), (std::vector<double>{1.5, 1.5, 2}));
}

TEST(Probe, SeesInsideBranchesThatWereTaken) {
  const auto model = modelOf(ifModel());
  ASSERT_TRUE(model->probe(ifInputs(true), {}));
  EXPECT_EQ(valueNamed(*model, "4/then_branch/wide").shape, (graph::Shape{2, 8}));
  EXPECT_EQ(valueNamed(*model, "4/then_branch/wide").dtype, DType::Float32);
  EXPECT_EQ(valueNamed(*model, "y").shape, (graph::Shape{2, 4}));
  const auto seen =
      model->runCapturing(ifInputs(true), {idAt(*model, "4/then_branch/wide"), idAt(*model, "4/else_branch/b")}, {});
  ASSERT_TRUE(seen) << seen.error().message;
  ASSERT_EQ(seen->size(), 2U);
  EXPECT_EQ(valuesOf(*seen)[4], 1.0);
  EXPECT_EQ((*seen)[1].view.data, nullptr) << "the branch was not taken";
}

TEST(Probe, AValueOfAnotherShapeInEachRoundOfALoopHasNone) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (float[n] x, int64 rounds, bool go) => (float[m] y) {
      y = Loop (rounds, go, x) <
        body = g (int64 i, bool c, float[k] before) => (bool more, float[l] after) {
          more = Identity(c)
          after = Concat<axis = 0>(before, before)
          fixed = Shape(before)
        }
      >
    })");
  const Tensors inputs{floats("x", {3}, {1, 2, 3}),
                       {"rounds", run::fromDoubles(DType::Int64, {}, std::vector<double>{2})},
                       {"go", run::fromDoubles(DType::Bool, {}, std::vector<double>{1})}};
  ASSERT_TRUE(model->probe(inputs, {}));
  EXPECT_EQ(valueNamed(*model, "y").shape, (graph::Shape{12}));
  EXPECT_FALSE(valueNamed(*model, "0/body/after").shape);
  EXPECT_EQ(valueNamed(*model, "0/body/fixed").shape, (graph::Shape{1}));
}

TEST(Probe, SeesInsideFunctionsByTheCall) {
  const auto model = modelOf(kFunctions);
  const Tensors inputs{floats("x", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})};
  ASSERT_TRUE(model->probe(inputs, {}));
  EXPECT_EQ(valueNamed(*model, "0//both").shape, (graph::Shape{2, 8}));
  EXPECT_EQ(valueNamed(*model, "1//both").shape, (graph::Shape{2, 8}));
  for (const auto& value : model->graph().values) EXPECT_TRUE(value.shape) << value.name;
  const auto seen = must(model->runCapturing(inputs, {idAt(*model, "1//both"), idAt(*model, "z")}, {}));
  EXPECT_EQ(valuesOf(seen, 0)[0], 2.0);
  EXPECT_EQ(valuesOf(seen, 1)[0], 4.0);
}

TEST(Session, AFileOfDoublesRunsOnOurKernelsWhereItNeedsThem) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (double[n, 4] x, float[n, 4] f) => (double[n, 4] y, float[n, 4] g) {
      y = Erf(x)
      g = Erf(f)
    })");
  const Tensors inputs{{"x", run::fromDoubles(DType::Float64, {1, 4}, std::vector<double>{0.1, 0.2, 0.3, 0.4})},
                       floats("f", {1, 4}, {0.1, 0.2, 0.3, 0.4})};
  const auto outputs = must(model->run(inputs, {}));
  EXPECT_EQ(valuesOf(outputs)[2], std::erf(0.3));
  EXPECT_EQ(outputs[1].view.dtype, DType::Float32);
  EXPECT_TRUE(model->probe(inputs, {}));
}

TEST(Session, AnUndefinedOperatorInAFunctionIsRefused) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
    agraph (float[n, 4] x) => (float[n, 4] y) { y = own.Norm(x) }
    <domain: "own", opset_import: ["" : 17]>
    Norm (a) => (b) { b = NoSuchOperator(a) })");
  EXPECT_EQ(failureOf(model->run({floats("x", {1, 4}, {1, 2, 3, 4})}, {})).code, ErrorCode::Unsupported);
}

TEST(Probe, SaysBfloat16WhereTheFileDoes) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (bfloat16[n] x) => (float[n] z) {
      half = Constant<value = bfloat16 {16128}>()
      y = Mul(x, half)
      z = Cast<to = 1>(y)
    })");
  ASSERT_TRUE(model->probe({floats("x", {2}, {3, 4})}, {}));
  EXPECT_EQ(valueNamed(*model, "y").dtype, DType::BFloat16);
  EXPECT_EQ(valueNamed(*model, "y").shape, (graph::Shape{2}));
  EXPECT_EQ(valueNamed(*model, "z").dtype, DType::Float32);
}

// As an exporter names the values of a module that is called body.
TEST(Probe, SaysFloat32OfAValueWhoseNameSoundsLikeALoops) {
  ModelProto proto = modelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (bfloat16[n] x) => (float[n] z) {
      y = Cast<to = 1>(x)
      z = Neg(y)
    })");
  proto.mutable_graph()->mutable_node(0)->set_output(0, "/body/y");
  proto.mutable_graph()->mutable_node(1)->set_input(0, "/body/y");
  const auto model = modelOf(proto);
  ASSERT_TRUE(model->probe({floats("x", {2}, {3, 4})}, {}));
  EXPECT_EQ(valueNamed(*model, "/body/y").dtype, DType::Float32);
}

TEST(Probe, AnEinsumThatIsNoneIsAnswered) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (float[2] x, float[2] w) => (float y) { y = Einsum<equation = "i--,i->">(x, w) })");
  EXPECT_FALSE(model->probe({floats("x", {2}, {3, 4}), floats("w", {2}, {1, 2})}, {}));
}

TEST(Session, BfloatRunsInFloat32) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (bfloat16[n] x) => (bfloat16[n] y) {
      half = Constant<value = bfloat16 {16128}>()
      y = Mul(x, half)
    })");
  const auto outputs = must(model->run({floats("x", {2}, {3, 4})}, {}));
  EXPECT_EQ(outputs[0].view.dtype, DType::Float32);
  EXPECT_EQ(valuesOf(outputs), (std::vector<double>{1.5, 2}));
}

TEST(Session, RunsItsOwnOperatorWhereAFunctionHasItsName) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    agraph (float[n] x) => (float[n] y, float[n] z, float[n] w) {
      y = Relu(x)
      z = com.microsoft.QuickGelu(x)
      w = com.microsoft.Odd(x)
    }
    <domain: "", opset_import: ["" : 17]>
    Relu (a) => (b) { b = Neg(a) }
    <domain: "com.microsoft", opset_import: ["" : 17]>
    QuickGelu (a) => (b) { b = Neg(a) }
    <domain: "com.microsoft", opset_import: ["" : 17]>
    Odd (a) => (b) { b = Neg(a) })");
  const Tensors inputs{floats("x", {2}, {-3, 4})};
  const auto outputs = must(model->run(inputs, {}));
  EXPECT_EQ(valuesOf(outputs, 0), (std::vector<double>{0, 4}));
  EXPECT_GT(valuesOf(outputs, 1)[1], 3.9);
  EXPECT_EQ(valuesOf(outputs, 2), (std::vector<double>{3, -4}));
  const auto seen = must(model->runCapturing(inputs, {idAt(*model, "y"), idAt(*model, "w")}, {}));
  EXPECT_EQ(valuesOf(seen, 0), valuesOf(outputs, 0));
  EXPECT_EQ(valuesOf(seen, 1), valuesOf(outputs, 2));
}

}  // namespace
}  // namespace normlens::formats::onnx
