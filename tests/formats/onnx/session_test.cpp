// Running, probing, capturing, perturbing and widening small models written as text.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/formats/onnx/open.h"
#include "core/formats/onnx/session_model.h"
#include "core/run/diff.h"
#include "core/run/draw.h"
#include "core/run/tensors.h"
#include "tests/formats/onnx/onnx_fixture.h"

namespace normlens::formats::onnx {
namespace {

using graph::DType;

std::unique_ptr<OnnxModel> modelOf(const ModelProto& proto, size_t largeBytes = 64) {
  auto model = OnnxModel::fromSource(sourceOf(proto, largeBytes), {});
  if (!model) throw std::runtime_error(model.error().message);
  return std::move(*model);
}

std::unique_ptr<OnnxModel> modelOf(const char* text) { return modelOf(modelFromText(text)); }

NamedTensor floats(const std::string& name, const graph::Shape& shape, const std::vector<double>& values) {
  return {name, run::fromDoubles(DType::Float32, shape, values)};
}

std::vector<double> valuesOf(const Tensors& tensors, size_t index = 0) {
  return graph::toDoubles(tensors.at(index).view).value();
}

const graph::Value& valueNamed(const OnnxModel& model, const std::string& path) {
  for (size_t id = 0; id < model.lowered().valuePath.size(); ++id) {
    if (model.lowered().valuePath[id] == path) return model.graph().values[id];
  }
  throw std::runtime_error("no value at " + path);
}

graph::ValueId idAt(const OnnxModel& model, const std::string& path) {
  return static_cast<graph::ValueId>(&valueNamed(model, path) - model.graph().values.data());
}

constexpr const char* kIf = R"(<ir_version: 8, opset_import: ["" : 17]>
  agraph (float[n, 4] x, bool flag) => (float[n, 4] y) {
    two = Constant<value = float {2.0}>()
    y = If (flag) <
      then_branch = g1 () => (float[n, 4] a) { wide = Concat<axis = 1>(x, x)  some = Slice(wide, zero, four, one)  a = Mul(some, two) },
      else_branch = g2 () => (float[n, 4] b) { b = Neg(x) }
    >
  })";

ModelProto ifModel() {
  std::string text(kIf);
  const auto at = text.find("two =");
  text.insert(at,
              "zero = Constant<value = int64[1] {0}>() four = Constant<value = int64[1] {4}>() one = Constant<value = "
              "int64[1] {1}>() ");
  return modelFromText(text);
}

Tensors ifInputs(bool flag) {
  return {floats("x", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
          {"flag", run::fromDoubles(DType::Bool, {}, std::vector<double>{flag ? 1.0 : 0.0})}};
}

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
    const auto outputs = model->run(inputs, {});
    ASSERT_TRUE(outputs) << outputs.error().message;
    ASSERT_EQ(outputs->size(), 2U);
    EXPECT_EQ((*outputs)[0].name, "sum");
    EXPECT_EQ((*outputs)[1].name, "same");
    EXPECT_EQ(valuesOf(*outputs), (std::vector<double>{3.5, 5.5}));
    EXPECT_EQ((*outputs)[1].view.dtype, DType::Int32);
  }
}

TEST(Session, SaysWhatIsWrongWithInputsInOneSentence) {
  const auto model = modelOf(ifModel());
  const auto few = model->run({ifInputs(true)[0]}, {});
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, ErrorCode::BadInput);
  EXPECT_NE(few.error().message.find("takes 2 inputs, 1 were given"), std::string::npos) << few.error().message;
  auto inputs = ifInputs(true);
  inputs[0] = floats("x", {2, 3}, {1, 2, 3, 4, 5, 6});
  const auto wide = model->run(inputs, {});
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.error().code, ErrorCode::RunFailed);
  EXPECT_EQ(wide.error().message.find('\n'), std::string::npos);
  inputs = ifInputs(true);
  inputs[1] = floats("flag", {}, {1});
  const auto wrong = model->run(inputs, {});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::BadInput);
  EXPECT_NE(wrong.error().message.find("'flag' is bool in the model"), std::string::npos) << wrong.error().message;
}

TEST(Session, AnUnknownOperatorCannotBeRun) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17, "my.ops" : 1]>
    agraph (float[n] x) => (float[n] y) { y = my.ops.Wave(x) })");
  const auto ran = model->run({floats("x", {2}, {1, 2})}, {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::Unsupported);
  EXPECT_NE(ran.error().message.find("Wave of 'my.ops'"), std::string::npos) << ran.error().message;
  const auto twin = model->toFloat64();
  ASSERT_FALSE(twin);
  EXPECT_NE(twin.error().message.find("Wave"), std::string::npos) << twin.error().message;
}

TEST(Session, AStoppedTaskIsNotAFailure) {
  const auto model = modelOf(ifModel());
  std::stop_source source;
  source.request_stop();
  const Task task{{}, source.get_token()};
  const auto ran = model->run(ifInputs(true), task);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::Cancelled);
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
    const auto ran = model->run(inputs, {});
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_TRUE(model->probe(inputs, {}));
    EXPECT_TRUE(model->toFloat64().value()->run(inputs, {}));
  }
}

TEST(Session, AnOutputThatIsAnInputOutlivesTheRun) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 2] x) => (float[2, 2] x, float[2, 2] y) { y = Neg(x) })");
  const auto twin = model->toFloat64();
  ASSERT_TRUE(twin) << twin.error().message;
  const auto outputs = (*twin)->run({floats("x", {2, 2}, {1, 2, 3, 4})}, {});
  ASSERT_TRUE(outputs) << outputs.error().message;
  const std::vector<double> other(4, 7.0);  // memory of that size is handed out again
  const auto reused = run::fromDoubles(DType::Float64, {2, 2}, other);
  EXPECT_EQ(valuesOf(*outputs, 0), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(valuesOf(*outputs, 1), (std::vector<double>{-1, -2, -3, -4}));
  EXPECT_NE((*outputs)[0].view.data, reused.data);
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
  const auto outputs = model->run(inputs, {});
  ASSERT_TRUE(outputs) << outputs.error().message;
  ASSERT_EQ(outputs->size(), 2U);
  EXPECT_EQ((*outputs)[1].name, "parts[1]");
  EXPECT_EQ(valuesOf(*outputs, 1), (std::vector<double>{3, 4}));
  EXPECT_TRUE(model->probe(inputs, {}));
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
  const auto probed = model->probe(inputs, {});
  ASSERT_TRUE(probed) << probed.error().message;
  EXPECT_EQ(valueNamed(*model, "y").shape, (graph::Shape{12}));
  EXPECT_FALSE(valueNamed(*model, "0/body/after").shape);
  EXPECT_EQ(valueNamed(*model, "0/body/fixed").shape, (graph::Shape{1}));
}

constexpr const char* kFunctions = R"(<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
  agraph (float[n, 4] x) => (float[n, 4] y, float[n, 4] z) {
    y = own.Twice<kind = 1>(x)
    z = own.Twice<kind = 1>(y)
  }
  <domain: "own", opset_import: ["" : 17, "own" : 1]>
  Twice <kind> (a) => (out) {
    same = own.AsKind<kind: int = @kind>(a)
    both = Concat<axis = 1>(same, same)
    sum = ReduceMean<axes = [1], keepdims = 0>(both)
    out = Add(same, same)
  }
  <domain: "own", opset_import: ["" : 17]>
  AsKind <kind> (b) => (made) { made = Cast<to: int = @kind>(b) }
)";

TEST(Probe, SeesInsideFunctionsByTheCall) {
  const auto model = modelOf(kFunctions);
  const Tensors inputs{floats("x", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})};
  const auto probed = model->probe(inputs, {});
  ASSERT_TRUE(probed) << probed.error().message;
  EXPECT_EQ(valueNamed(*model, "0//both").shape, (graph::Shape{2, 8}));
  EXPECT_EQ(valueNamed(*model, "1//both").shape, (graph::Shape{2, 8}));
  for (const auto& value : model->graph().values) EXPECT_TRUE(value.shape) << value.name;
  const auto seen = model->runCapturing(inputs, {idAt(*model, "1//both"), idAt(*model, "z")}, {});
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(valuesOf(*seen, 0)[0], 2.0);
  EXPECT_EQ(valuesOf(*seen, 1)[0], 4.0);
}

TEST(Float64Twin, WidensTypesThatFunctionsAreGivenAsAttributes) {
  const auto model = modelOf(kFunctions);
  const Tensors inputs{{"x", run::fromDoubles(DType::Float64, {1, 4}, std::vector<double>{1 + 1e-12, 2, 3, 4})}};
  const auto twin = model->toFloat64();
  ASSERT_TRUE(twin) << twin.error().message;
  const auto outputs = (*twin)->run(inputs, {});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ((*outputs)[0].view.dtype, DType::Float64);
  EXPECT_EQ(valuesOf(*outputs)[0], 2 * (1 + 1e-12));
  EXPECT_EQ((*twin)->narrowOp(inputs, {}).value(), "");
}

TEST(Float64Twin, IsLookedIntoInBranchesToo) {
  const auto twin = modelOf(ifModel())->toFloat64();
  ASSERT_TRUE(twin) << twin.error().message;
  for (const bool flag : {false, true}) {
    const auto narrow = (*twin)->narrowOp(ifInputs(flag), {});
    ASSERT_TRUE(narrow) << narrow.error().message;
    EXPECT_EQ(*narrow, "");
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
  const auto plain = model->run(inputs, {});
  ASSERT_TRUE(plain) << plain.error().message;
  const auto twin = model->toFloat64();
  ASSERT_TRUE(twin) << twin.error().message;
  const auto wide = (*twin)->run(inputs, {});
  ASSERT_TRUE(wide) << wide.error().message;
  EXPECT_EQ((*wide)[0].view.dtype, DType::Float64);
  EXPECT_LT(run::worstOf(run::compareOutputs(*wide, *plain).value()).maxRel, 2e-3);  // float16 inputs
  EXPECT_EQ((*twin)->narrowOp(inputs, {}).value(), "");
  EXPECT_EQ((*twin)->facts().dtype, DType::Float64);
  EXPECT_EQ((*twin)->graph().nodes.size(), model->graph().nodes.size());
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
    const auto twin = model->toFloat64();
    ASSERT_TRUE(twin) << twin.error().message;
    const auto expected = (*twin)->run(inputs, {});
    ASSERT_TRUE(expected) << expected.error().message;
    EXPECT_LT(run::worstOf(run::compareOutputs(*expected, *ran).value()).maxRel, 1e-14) << normed;
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
  const auto expected = model->run(inputs, {});
  ASSERT_TRUE(expected) << expected.error().message;
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::Float16, 0.02}, {DType::BFloat16, 0.1}, {DType::Float64, 1e-5}}) {
    const auto made = model->converted(dtype);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ((*made)->facts().dtype, dtype);
    EXPECT_EQ((*made)->facts().computedIn, dtype == DType::BFloat16 ? DType::Float32 : DType::Unknown);
    const auto outputs = (*made)->run(inputs, {});
    ASSERT_TRUE(outputs) << outputs.error().message;
    const auto diff = run::compareOutputs(*expected, *outputs).value();
    EXPECT_LT(diff[0].maxRel, tolerance) << graph::dtypeName(dtype);
    EXPECT_GT(diff[0].maxRel, 0) << "it was computed in another type, or with other weights";
    EXPECT_EQ((*made)->graph().nodes.size(), model->graph().nodes.size());
    const auto seen = (*made)->runCapturing(inputs, {idAt(*model, "b")}, {});
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_NE(seen->front().view.data, nullptr);
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
  const auto twin = model->toFloat64();
  ASSERT_TRUE(twin) << twin.error().message;
  EXPECT_EQ((*twin)->narrowOp(inputs, {}).value(), "Scaler");
}

TEST(Float64Twin, AModelQuantisedByOperatorsOfTheirOwnHasNone) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    agraph (float[n, 4] x, float[4, 4] w) => (float[n, 4] y) { y = com.microsoft.DynamicQuantizeMatMul(x, w) })");
  const auto twin = model->toFloat64();
  ASSERT_FALSE(twin);
  EXPECT_EQ(twin.error().code, ErrorCode::Unsupported);
  EXPECT_NE(twin.error().message.find("quantised"), std::string::npos);
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
    const auto plain = model->run(inputs, {});
    ASSERT_TRUE(plain) << plain.error().message;
    const auto twin = model->toFloat64();
    ASSERT_TRUE(twin) << twin.error().message;
    const auto wide = (*twin)->run(inputs, {});
    ASSERT_TRUE(wide) << wide.error().message;
    EXPECT_LT(run::worstOf(run::compareOutputs(*plain, *wide).value()).maxRel, 1e-6);
    EXPECT_EQ((*twin)->narrowOp(inputs, {}).value(), "");
  }
}

TEST(Session, AFileOfDoublesRunsOnOurKernelsWhereItNeedsThem) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (double[n, 4] x, float[n, 4] f) => (double[n, 4] y, float[n, 4] g) {
      y = Erf(x)
      g = Erf(f)
    })");
  const Tensors inputs{{"x", run::fromDoubles(DType::Float64, {1, 4}, std::vector<double>{0.1, 0.2, 0.3, 0.4})},
                       floats("f", {1, 4}, {0.1, 0.2, 0.3, 0.4})};
  const auto outputs = model->run(inputs, {});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ(valuesOf(*outputs)[2], std::erf(0.3));
  EXPECT_EQ((*outputs)[1].view.dtype, DType::Float32);
  EXPECT_TRUE(model->probe(inputs, {}));
}

TEST(Session, AnUndefinedOperatorInAFunctionIsRefused) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
    agraph (float[n, 4] x) => (float[n, 4] y) { y = own.Norm(x) }
    <domain: "own", opset_import: ["" : 17]>
    Norm (a) => (b) { b = NoSuchOperator(a) })");
  const auto ran = model->run({floats("x", {1, 4}, {1, 2, 3, 4})}, {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::Unsupported);
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

TEST(Session, BfloatRunsInFloat32) {
  const auto model = modelOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (bfloat16[n] x) => (bfloat16[n] y) {
      half = Constant<value = bfloat16 {16128}>()
      y = Mul(x, half)
    })");
  const auto outputs = model->run({floats("x", {2}, {3, 4})}, {});
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ((*outputs)[0].view.dtype, DType::Float32);
  EXPECT_EQ(valuesOf(*outputs), (std::vector<double>{1.5, 2}));
}

ModelProto weightModel() {
  ModelProto proto = modelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    agraph (float[n, 8] x) => (float[n, 8] y) {
      two = Constant<value = float {2.0}>()
      bias = Constant<value = float[8] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}>()
      a = MatMul(x, w)
      b = Add(a, bias)
      y = Pow(b, two)
    })");
  addTensor(proto, "w", {8, 8}, 5);
  return proto;
}

std::vector<float> numbersOf(const graph::TensorView& view) {
  std::vector<float> numbers(static_cast<size_t>(graph::elementCount(view.shape).value()));
  std::memcpy(numbers.data(), view.data, numbers.size() * sizeof(float));
  return numbers;
}

TEST(Perturbed, MovesEachWeightByUpToHalfAUnitInItsLastPlace) {
  const auto model = modelOf(weightModel());
  const auto first = model->perturbed(1), again = model->perturbed(1), other = model->perturbed(2);
  ASSERT_TRUE(first && again && other);
  const auto weightOf = [](const Model& from) {
    return numbersOf(dynamic_cast<const OnnxModel&>(from).source().weights->at("w").view);
  };
  const auto before = weightOf(*model), after = weightOf(**first);
  EXPECT_EQ(after, weightOf(**again));
  EXPECT_NE(after, weightOf(**other));
  size_t moved = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_LE(std::abs(after[i] - before[i]), std::abs(std::nextafter(before[i], INFINITY) - before[i]));
    moved += after[i] != before[i] ? 1 : 0;
  }
  EXPECT_GT(moved, before.size() / 8);
  EXPECT_LT(moved, before.size());
}

TEST(Perturbed, LeavesExponentsAlone) {
  const auto model = modelOf(weightModel());
  const Tensors inputs{floats("x", {1, 8}, {1, -2, 3, -4, 5, -6, 7, -8})};
  const auto plain = model->run(inputs, {});
  ASSERT_TRUE(plain) << plain.error().message;
  for (uint64_t seed = 1; seed < 5; ++seed) {
    const auto moved = model->perturbed(seed);
    ASSERT_TRUE(moved);
    const auto outputs = (*moved)->run(inputs, {});
    ASSERT_TRUE(outputs);
    const double noise = run::worstOf(run::compareOutputs(*plain, *outputs).value()).maxRel;
    EXPECT_GT(noise, 0);
    EXPECT_LT(noise, 1e-5);
  }
}

TEST(Runner, MeasuresOneRunAtATime) {
  const auto model = modelOf(weightModel());
  const auto runner = model->runner({floats("x", {1, 8}, {1, 2, 3, 4, 5, 6, 7, 8})}, {});
  ASSERT_TRUE(runner) << runner.error().message;
  for (int i = 0; i < 3; ++i) {
    const auto ms = (*runner)->runOnceMs();
    ASSERT_TRUE(ms) << ms.error().message;
    EXPECT_GT(*ms, 0);
  }
}

TEST(Runner, TellsMemoryAndTimesOfOps) {
  const auto model = modelOf(weightModel());
  const auto runner = model->runner({floats("x", {1, 8}, {1, 2, 3, 4, 5, 6, 7, 8})}, {.threads = 1});
  ASSERT_TRUE(runner) << runner.error().message;
  EXPECT_EQ((*runner)->threads(), 1);
  const auto peak = (*runner)->peakBytes();
  ASSERT_TRUE(peak) << peak.error().message;
  EXPECT_GT(*peak, 0);
  EXPECT_LT(*peak, 1 << 16);  // of a few rows of eight numbers
  const auto ops = (*runner)->opTimes({});
  ASSERT_TRUE(ops) << ops.error().message;
  ASSERT_FALSE(ops->empty());
  for (const OpTime& op : *ops) EXPECT_FALSE(op.op.empty());
}

// Nodes without names, and some inside a function.
TEST(Runner, TimesAreThoseOfTheGraphsNodes) {
  const auto model = modelOf(modelFromText(R"(
    <ir_version: 8, opset_import: ["" : 18, "own" : 1]>
    g (float[4, 8] x) => (float[4, 8] y) {
      h = own.Twice(x)
      y = Tanh(h)
    }
    <domain: "own", opset_import: ["" : 18]>
    Twice (a) => (b) {
      s = Sinh(a)
      b = Add(s, s)
    })"));
  const auto runner = model->runner({floats("x", {4, 8}, std::vector<double>(32, 0.5))}, {});
  ASSERT_TRUE(runner) << runner.error().message;
  const auto ops = (*runner)->opTimes({});
  ASSERT_TRUE(ops) << ops.error().message;
  ASSERT_EQ(ops->size(), 3U);
  for (const OpTime& op : *ops) {
    ASSERT_NE(op.node, graph::kNone) << op.op;
    EXPECT_EQ(model->graph().node(op.node).op, op.op);
  }
}

TEST(Runner, RunsInOtherTypesOrSaysWhyNot) {
  const auto model = modelOf(weightModel());
  const Tensors inputs = {floats("x", {1, 8}, {1, 2, 3, 4, 5, 6, 7, 8})};
  for (const auto type : {graph::DType::Float16, graph::DType::Float64}) {
    const auto runner = model->runner(inputs, {.dtype = type});
    ASSERT_TRUE(runner) << runner.error().message;
    EXPECT_TRUE((*runner)->runOnceMs());
  }
  const auto brain = model->runner(inputs, {.dtype = graph::DType::BFloat16});
  ASSERT_FALSE(brain);
  EXPECT_EQ(brain.error().code, ErrorCode::Unsupported);
  if (!runtimeHasCuda()) {
    const auto cuda = model->runner(inputs, {.device = Device::Cuda});
    ASSERT_FALSE(cuda);
    EXPECT_EQ(cuda.error().code, ErrorCode::Unsupported);
  }
}

}  // namespace
}  // namespace normlens::formats::onnx
