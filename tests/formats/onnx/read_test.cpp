// Opening files: what is taken, what is refused and in which words, and that nothing outside the folder is read.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <span>

#include "core/analysis/analysis.h"
#include "core/formats/file/sha256.h"
#include "core/formats/onnx/onnx_model.h"
#include "tests/formats/onnx/onnx_fixture.h"

namespace normlens::formats::onnx {
namespace {

namespace fs = std::filesystem;

class ReadTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "normlens read XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    outside_ = name;
    folder_ = outside_ /
              "m\xC3\xB6"
              "dels";
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(outside_); }

  void write(const fs::path& path, const std::string& bytes) const {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  Result<std::unique_ptr<OnnxModel>> openBytes(const std::string& bytes) const {
    write(folder_ / "model.onnx", bytes);
    return OnnxModel::open(folder_ / "model.onnx", {});
  }
  Result<std::unique_ptr<OnnxModel>> open(const ModelProto& model) const {
    return openBytes(model.SerializeAsString());
  }

  // The words of the refusal, which names the file in one line; empty where the model opens.
  std::string refusal(const ModelProto& model) const {
    const auto opened = open(model);
    if (opened) return {};
    const std::string& message = opened.error().message;
    EXPECT_TRUE(message.starts_with((folder_ / "model.onnx").string())) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_TRUE(opened.error().code == ErrorCode::Unreadable || opened.error().code == ErrorCode::Unsupported);
    return message;
  }

  fs::path outside_, folder_;
};

// x W + b, LayerNorm. W is small enough to stay in the protobuf unless wide is large.
ModelProto linearNorm(int wide = 8) {
  const std::string n = std::to_string(wide);
  ModelProto model =
      modelFromText("<ir_version: 8, opset_import: [\"\": 17]> m (float[N, " + n + "] x) => (float[N, " + n + R"(] y) {
    h = MatMul(x, W)
    c = Add(h, b)
    y = LayerNormalization<axis = -1>(c, g)
  })");
  addTensor(model, "W", {wide, wide}, 1);
  addTensor(model, "b", {wide}, 2);
  addTensor(model, "g", {wide}, 3);
  return model;
}

TensorProto& initializer(ModelProto& model, int index) { return *model.mutable_graph()->mutable_initializer(index); }

TEST_F(ReadTest, LargeWeightsAreViewsIntoTheFile) {
  const ModelProto model = linearNorm(32);
  const auto opened = open(model);
  ASSERT_TRUE(opened) << opened.error().message;
  const OnnxSource& source = (*opened)->source();
  ASSERT_EQ(source.weights->size(), 1U);
  const Weight& weight = source.weights->at("W");
  const auto bytes = source.file->bytes();
  EXPECT_EQ(weight.view.data, bytes.data() + weight.storedAt.offset);
  EXPECT_EQ(weight.storedAt.bytes, 32U * 32 * 4);
  EXPECT_EQ(std::memcmp(weight.view.data, model.graph().initializer(0).raw_data().data(), weight.storedAt.bytes), 0);
  const TensorProto& left = source.skeleton->graph().initializer(0);
  EXPECT_EQ(left.data_location(), TensorProto::EXTERNAL);
  EXPECT_TRUE(left.raw_data().empty());
  EXPECT_FALSE(source.externalData);
  EXPECT_EQ((*opened)->facts().parameters, 32 * 32 + 64);
}

TEST_F(ReadTest, TypedFieldsAreReadLikeRawData) {
  for (const int wide : {4, 32}) {
    ModelProto model = linearNorm(wide);
    const std::string raw = initializer(model, 0).raw_data();
    initializer(model, 0).clear_raw_data();
    const auto* floats = reinterpret_cast<const float*>(raw.data());
    for (int i = 0; i < wide * wide; ++i) initializer(model, 0).add_float_data(floats[i]);
    const auto opened = open(model);
    ASSERT_TRUE(opened) << opened.error().message;
    const auto& constant = (*opened)->graph().constant(0);
    EXPECT_EQ(constant.name, "W");
    EXPECT_EQ(std::memcmp(constant.view.data, raw.data(), raw.size()), 0);
  }
}

TEST_F(ReadTest, Float16InInt32Data) {
  ModelProto model = modelFromText(
      R"(<ir_version: 8, opset_import: ["": 17]> m (float16[N, 2] x) => (float16[N, 2] y) { y = Add(x, b) })");
  auto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("b");
  tensor->set_data_type(TensorProto::FLOAT16);
  tensor->add_dims(2);
  tensor->add_int32_data(0x3c00);
  tensor->add_int32_data(0xc000);
  const auto opened = open(model);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(graph::toDoubles((*opened)->graph().constant(0).view), (std::vector<double>{1, -2}));
}

TEST_F(ReadTest, RefusesWhatMakesNoSense) {
  struct Case {
    const char* words;
    std::function<void(ModelProto&)> spoil;
  };
  const std::vector<Case> cases = {
      {"has no graph",
       [](ModelProto& m) {
         m.clear_graph();
         m.set_producer_name("p");
       }},
      {"has no outputs", [](ModelProto& m) { m.mutable_graph()->clear_output(); }},
      {"output 'z' is not produced", [](ModelProto& m) { m.mutable_graph()->mutable_output(0)->set_name("z"); }},
      {"reads 'ghost', which is not an input",
       [](ModelProto& m) { m.mutable_graph()->mutable_node(1)->set_input(1, "ghost"); }},
      {"before it is made: the graph has a cycle",
       [](ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_input(0, "c"); }},
      {"'h' is produced twice", [](ModelProto& m) { m.mutable_graph()->mutable_node(1)->set_output(0, "h"); }},
      {"initializer 'W' is defined twice",
       [](ModelProto& m) { *m.mutable_graph()->add_initializer() = m.graph().initializer(0); }},
      {"without a name", [](ModelProto& m) { initializer(m, 0).clear_name(); }},
      {"'W' has 252 bytes, its dimensions ask for 256",
       [](ModelProto& m) { initializer(m, 0).mutable_raw_data()->resize(252); }},
      {"'W' has 300 bytes", [](ModelProto& m) { initializer(m, 0).mutable_raw_data()->resize(300); }},
      {"'W' has a negative dimension", [](ModelProto& m) { initializer(m, 0).set_dims(0, -8); }},
      {"absurd dimensions", [](ModelProto& m) { initializer(m, 0).set_dims(0, int64_t{1} << 62); }},
      {"unknown element type", [](ModelProto& m) { initializer(m, 0).set_data_type(77); }},
      {"unknown element type", [](ModelProto& m) { initializer(m, 0).set_data_type(0); }},
      {"has no opset_import", [](ModelProto& m) { m.clear_opset_import(); }},
      {"opset 999", [](ModelProto& m) { m.mutable_opset_import(0)->set_version(999); }},
      {"opset 0", [](ModelProto& m) { m.mutable_opset_import(0)->set_version(0); }},
      {"IR version 99", [](ModelProto& m) { m.set_ir_version(99); }},
      {"domain 'com.acme', which the model does not import",
       [](ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_domain("com.acme"); }},
      {"without an operator", [](ModelProto& m) { m.mutable_graph()->mutable_node(0)->clear_op_type(); }},
      {"input 'x' is defined twice", [](ModelProto& m) { *m.mutable_graph()->add_input() = m.graph().input(0); }},
  };
  for (const Case& one : cases) {
    ModelProto model = linearNorm();
    one.spoil(model);
    const std::string words = refusal(model);
    EXPECT_NE(words.find(one.words), std::string::npos) << one.words << " / " << words;
  }
}

// Each where it stood, but for those that stood behind their readers.
TEST_F(ReadTest, NodesThatStandTooLateMoveUpToTheirFirstReader) {
  ModelProto model = modelFromText(R"(<ir_version: 8, opset_import: ["": 17, "f": 1]>
    m (float[N, 8] x, bool flag) => (float[N, 8] y) {
      a = Add(half, x)
      free = Neg(x)
      b = If (flag) <
        then_branch = t () => (float[N, 8] p) { p = Mul(q, late)  q = Exp(half) },
        else_branch = e () => (float[N, 8] r) { r = Identity(a) }
      >
      half = Cast<to = 1>(x)
      c = f.Twice(b)
      y = Sub(c, free)
      late = Cast<to = 1>(tail)
      tail = Abs(x)
    }
    <opset_import: ["": 17], domain: "f"> Twice (u) => (v) { v = Add(w, u)  w = Neg(u) })");
  const auto opened = open(model);
  ASSERT_TRUE(opened) << opened.error().message;
  const ModelProto& read = *(*opened)->source().skeleton;
  EXPECT_EQ(opsOf(read.graph()), "Cast,Add,Neg,Abs,Cast,If{Exp,Mul}{Identity},Twice,Sub");
  EXPECT_EQ(read.functions(0).node(0).op_type(), "Neg");
  EXPECT_EQ(checkerSays(read), "");
}

TEST_F(ReadTest, NodesInOrderStayAsTheyAre) {
  const ModelProto model = modelFromText(R"(<ir_version: 8, opset_import: ["": 17]>
    m (float[N, 8] x) => (float[N, 8] y) {
      far = Abs(x)  a = Neg(x)  b = Exp(x)  c = Add(b, a)  unread = Cast<to = 11>(c)  y = Add(c, far)
    })");
  const auto opened = open(model);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->source().skeleton->SerializeAsString(), model.SerializeAsString());
}

TEST_F(ReadTest, AChainFromItsEndToItsStartIsSorted) {
  constexpr int kLength = 100'000;
  ModelProto model =
      modelFromText(R"(<ir_version: 8, opset_import: ["": 17]> m (float[1] v0) => (float[1] y) { y = Neg(v0) })");
  auto& nodes = *model.mutable_graph()->mutable_node();
  nodes[0].set_input(0, "v" + std::to_string(kLength));
  for (int i = kLength; i > 0; --i) {
    NodeProto& node = *nodes.Add();
    node.set_op_type("Neg");
    node.add_input("v" + std::to_string(i - 1));
    node.add_output("v" + std::to_string(i));
  }
  const auto opened = open(model);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->source().skeleton->graph().node(0).output(0), "v1");
  EXPECT_EQ((*opened)->source().skeleton->graph().node(kLength).output(0), "y");
}

TEST_F(ReadTest, ACycleInABodyOrThroughOneIsRefused) {
  const char* const inside = "p = Mul(q, x)  q = Exp(p)";
  const char* const through = "q = Exp(x)  p = Mul(q, b)";
  for (const char* body : {inside, through}) {
    const ModelProto model = modelFromText(std::string(R"(<ir_version: 8, opset_import: ["": 17]>
      m (float[N, 8] x, bool flag) => (float[N, 8] y) {
        a = If (flag) <then_branch = t () => (float[N, 8] p) { )") +
                                           body + R"( },
          else_branch = e () => (float[N, 8] r) { r = Identity(x) }>
        b = Neg(a)
        y = Add(b, a)
      })");
    EXPECT_NE(refusal(model).find("before it is made: the graph has a cycle"), std::string::npos) << body;
  }
}

TEST_F(ReadTest, LargeTensorsAreCheckedToo) {
  ModelProto model = linearNorm(32);
  initializer(model, 0).set_dims(0, 31);
  EXPECT_NE(refusal(model).find("'W' has 4096 bytes, its dimensions ask for 3968"), std::string::npos);
  model = linearNorm(32);
  initializer(model, 0).set_data_type(TensorProto::STRING);
  EXPECT_NE(refusal(model).find("'W' holds data that its type cannot have"), std::string::npos);
}

TEST_F(ReadTest, EveryTruncationIsAnswered) {
  const std::string whole = linearNorm(32).SerializeAsString();
  for (size_t length = 0; length < whole.size(); length += length < 300 || length > whole.size() - 300 ? 1 : 97) {
    const auto opened = openBytes(whole.substr(0, length));
    if (opened) continue;
    EXPECT_EQ(opened.error().message.find('\n'), std::string::npos);
  }
}

TEST_F(ReadTest, FlippedBitsDoNotCrash) {
  std::mt19937 random(7);
  const std::string whole = linearNorm(8).SerializeAsString();
  int opened = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string bytes = whole;
    for (int flips = 1 + round % 4; flips-- > 0;)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    const auto model = openBytes(bytes);
    if (!model) continue;
    ++opened;
    EXPECT_TRUE(graph::checkGraph((*model)->graph()));
  }
  EXPECT_GT(opened, 0);
}

TEST_F(ReadTest, ControlCharactersStayOutOfMessages) {
  ModelProto model = linearNorm();
  model.mutable_graph()->mutable_node(1)->set_input(1, "gh\nost\x1b[31m");
  const std::string words = refusal(model);
  EXPECT_EQ(words.find('\x1b'), std::string::npos);
}

TEST_F(ReadTest, BodiesInBodiesHaveALimit) {
  GraphProto inner;
  inner.set_name("g");
  auto* constant = inner.add_node();
  constant->set_op_type("Constant");
  constant->add_output("v0");
  auto* value = constant->add_attribute();
  value->set_name("value_float");
  value->set_type(::ONNX_NAMESPACE::AttributeProto::FLOAT);
  value->set_f(1);
  inner.add_output()->set_name("v0");
  ModelProto model = linearNorm();
  for (int depth = 1; depth < 60; ++depth) {
    GraphProto outer;
    outer.set_name("g");
    auto* node = outer.add_node();
    node->set_op_type("If");
    node->add_input("x");
    const std::string output = "v" + std::to_string(depth);
    node->add_output(output);
    for (const char* branch : {"then_branch", "else_branch"}) {
      if (depth > 1 && branch[0] == 'e') continue;
      auto* body = node->add_attribute();
      body->set_name(branch);
      body->set_type(::ONNX_NAMESPACE::AttributeProto::GRAPH);
      *body->mutable_g() = inner;
    }
    outer.add_output()->set_name(output);
    inner = outer;
  }
  *model.mutable_graph()->add_node() = inner.node(0);
  EXPECT_FALSE(refusal(model).empty());
}

// What fuzzing found (tests/fuzz). No run here: shapes as far as onnx infers them.

TEST_F(ReadTest, OperatorsWithoutTheirFirstInputAreOpaque) {
  ModelProto model = linearNorm();
  for (int node = 0; node < 3; ++node) {
    ModelProto spoilt = model;
    spoilt.mutable_graph()->mutable_node(node)->set_input(0, "");
    const auto opened = open(spoilt);
    ASSERT_TRUE(opened) << opened.error().message;
    const graph::Graph& graph = (*opened)->graph();
    EXPECT_EQ(graph.node(node).kind, graph::OpKind::Opaque);
    EXPECT_TRUE(analysis::analyze(graph, {}));
  }
}

TEST_F(ReadTest, ABodyDoesNotReadWhatItsOwnNodeMakes) {
  // The If in the loop's body makes a "b" of its own, and its branches give the outer one.
  const auto opened = open(modelFromText(R"(
    <ir_version: 8, opset_import: ["": 17]>
    m (bool c, float[2, 4] x, int64 n) => (float[2, 4] y) {
      b = Relu(x)
      y = Loop(n, c, b) <body = body (int64 i, bool go, float[2, 4] v) => (bool on, float[2, 4] w) {
        on = Identity(go)
        b = If(c) <then_branch = yes () => (float[2, 4] b) { q = Relu(v) },
                   else_branch = no () => (float[2, 4] b) { q = Neg(v) }>
        w = Add(v, b)
      }>
    })"));
  ASSERT_TRUE(opened) << opened.error().message;
  const auto checked = graph::checkGraph((*opened)->graph());
  EXPECT_TRUE(checked) << checked.error().message;
}

TEST_F(ReadTest, InputsThatNoMachineHoldsAreNotMade) {
  // Two open sizes, so that choices of them are tried out.
  for (const int64_t size : {int64_t{1} << 40, std::numeric_limits<int64_t>::max()}) {
    ModelProto model = modelFromText(R"(
      <ir_version: 8, opset_import: ["": 17]>
      m (float[N, 4] x, float[M, 4] z) => (float[N, 4] y) { y = Add(x, z) })");
    model.mutable_graph()
        ->mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(1)
        ->set_dim_value(size);
    const auto opened = open(model);
    ASSERT_TRUE(opened) << opened.error().message;
    const auto inputs = (*opened)->inferInputs();
    ASSERT_FALSE(inputs);
    EXPECT_NE(inputs.error().message.find("'x'"), std::string::npos) << inputs.error().message;
  }
}

TEST_F(ReadTest, ListsOfAxesThatNoMachineHoldsStopShapeInference) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["": 14]>
    m (float[2, 4] x, int64[3] s, int64[3] e, int64[3] axes) => (float[N, M] y) {
      h = Relu(x)
      y = Slice(h, s, e, axes)
    })");
  model.mutable_graph()
      ->mutable_input(3)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_value(int64_t{1} << 40);
  const auto opened = open(model);
  ASSERT_TRUE(opened) << opened.error().message;
  const Lowered lowered = lowerModel((*opened)->source(), nullptr, Inference::WhereMissing);
  const auto shapeOf = [&](int node) { return lowered.graph.value(lowered.graph.node(node).outputs[0]).shape; };
  EXPECT_EQ(shapeOf(0), (graph::Shape{2, 4}));
  EXPECT_EQ(shapeOf(1), std::nullopt);
}

TEST_F(ReadTest, AxesThatAreNotThereStopShapeInference) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["": 17]>
    m (float[2, 4] x, float[4] g) => (float[2, 4] y, float[2, 1] mean) {
      y, mean = LayerNormalization<axis = -90000000>(x, g)
    })");
  const auto opened = open(model);
  ASSERT_TRUE(opened) << opened.error().message;
  const Lowered lowered = lowerModel((*opened)->source(), nullptr, Inference::WhereMissing);
  EXPECT_EQ(lowered.graph.node(0).kind, graph::OpKind::Opaque);
}

// Work that grows with the square of what a small file can say.
TEST_F(ReadTest, ManyOfAKindTakeNoLongerThanTheyShould) {
  constexpr int kMany = 60000;
  ModelProto model = linearNorm();
  auto& graph = *model.mutable_graph();
  std::string before = "x";
  for (int i = 0; i < kMany; ++i) {  // nameless parts, outputs without names, a long chain
    auto* gelu = graph.add_node();
    gelu->set_op_type("BiasGelu");
    gelu->set_domain("com.microsoft");
    gelu->add_input(before);
    gelu->add_input("b");
    gelu->add_output(before = "chain" + std::to_string(i));
    auto* shape = graph.add_node();
    shape->set_op_type("Shape");
    shape->add_input(before);
    shape->add_output("");
  }
  auto* scan = graph.add_node();  // bodies beside bodies
  scan->set_op_type("Scan");
  scan->add_output("scanned");
  auto* body = scan->add_attribute();
  body->set_name("body");
  body->set_type(::ONNX_NAMESPACE::AttributeProto::GRAPH);
  for (int i = 0; i < kMany / 4; ++i) {
    auto* inner = body->mutable_g()->add_node();
    inner->set_op_type("Scan");
    inner->add_input("x");
    inner->add_output("s" + std::to_string(i));
    inner->add_attribute()->mutable_g()->set_name("empty");
  }
  for (int i = 0; i < kMany / 4; ++i) {  // open sizes
    auto* input = graph.add_input();
    input->set_name("in" + std::to_string(i));
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(TensorProto::FLOAT);
    type->mutable_shape()->add_dim();
  }
  const std::clock_t start = std::clock();  // of the processor: others may be busy on this machine
  const auto opened = open(model);
  ASSERT_TRUE(opened) << opened.error().message;
  static_cast<void>((*opened)->inferInputs());
  EXPECT_LT(std::clock() - start, 15 * CLOCKS_PER_SEC);
}

TEST_F(ReadTest, ShapesThatOverflowAreNotKnown) {
  const auto opened = open(modelFromText(R"(
    <ir_version: 8, opset_import: ["": 17]>
    m (float[9223372036854775807, 4] x, float[1099511627776, 1] a, float[1, 1099511627776] b, float[4] g)
      => (float[N, 4] y, float[N, M] z) {
      y = LayerNormalization<axis = -2>(x, g)
      s = Add(a, b)
      z = LayerNormalization<axis = -2>(s, g)
    })"));
  ASSERT_TRUE(opened) << opened.error().message;
  const graph::Graph& graph = (*opened)->graph();
  EXPECT_EQ(graph.value(graph.inputs()[0]).shape, std::nullopt);
  EXPECT_EQ(graph.value(graph.node(1).outputs[0]).shape, std::nullopt);
  EXPECT_TRUE(analysis::analyze(graph, {}));
  ModelProto model = linearNorm();
  initializer(model, 0).clear_raw_data();
  initializer(model, 0).set_dims(0, 0);
  initializer(model, 0).set_dims(1, std::numeric_limits<int64_t>::max());
  EXPECT_NE(refusal(model).find("absurd dimensions"), std::string::npos);
}

TEST_F(ReadTest, FunctionsThatCallOneAnotherTooOftenAreRefused) {
  const auto levels = [](int count) {
    std::string text = R"(<ir_version: 9, opset_import: ["": 17, "own": 1]>
      m (float[2] x) => (float[2] y) { y = own.f)" +
                       std::to_string(count) + R"((x) }
      <domain: "own", opset_import: ["": 17, "own": 1]> f0 (x) => (y) { y = Relu(x) })";
    for (int i = 1; i <= count; ++i) {
      const std::string call = "own.f" + std::to_string(i - 1);
      text += "<domain: \"own\", opset_import: [\"\": 17, \"own\": 1]> f" + std::to_string(i) +
              " (x) => (y) { a = " + call + "(x) b = " + call + "(a) c = " + call + "(b) y = " + call + "(c) }";
    }
    return modelFromText(text);
  };
  EXPECT_EQ(refusal(levels(4)), "");
  EXPECT_NE(refusal(levels(30)).find("more than 250000 nodes"), std::string::npos);
}

TEST_F(ReadTest, TensorsOfManyAxesAreRefused) {
  ModelProto model = linearNorm();
  for (int i = 0; i < 100; ++i) initializer(model, 0).add_dims(1);
  EXPECT_NE(refusal(model).find("102 dimensions"), std::string::npos);
}

TEST_F(ReadTest, ShapeInferenceKnowsTheMainDomainOnly) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 4]>
    m (int64[2] x, float[2, 4] z) => (float[2] y, float[2, 4] w) {
      y = ai.onnx.ml.LabelEncoder(x)
      w = Relu(z)
    })");
  const auto opened = open(model);
  ASSERT_TRUE(opened) << opened.error().message;
  const Lowered lowered = lowerModel((*opened)->source(), nullptr, Inference::WhereMissing);
  EXPECT_EQ(lowered.graph.value(lowered.graph.node(1).outputs[0]).shape, (graph::Shape{2, 4}));
}

// External data.

class ExternalTest : public ReadTest {
 protected:
  // linearNorm with W in a file beside it.
  ModelProto external(const std::string& location, const std::string& offset = "",
                      const std::string& length = "") const {
    ModelProto model = linearNorm();
    TensorProto& weight = initializer(model, 0);
    write(folder_ / "w.data", weight.raw_data());
    weight.clear_raw_data();
    weight.set_data_location(TensorProto::EXTERNAL);
    const auto entry = [&](const char* key, const std::string& value) {
      if (value.empty() && std::string_view(key) != "location") return;
      auto* pair = weight.add_external_data();
      pair->set_key(key);
      pair->set_value(value);
    };
    entry("location", location);
    entry("offset", offset);
    entry("length", length);
    return model;
  }
};

TEST_F(ExternalTest, IsMappedFromItsOwnFile) {
  const auto opened = open(external("w.data", "0", "256"));
  ASSERT_TRUE(opened) << opened.error().message;
  const OnnxSource& source = (*opened)->source();
  EXPECT_TRUE(source.externalData);
  ASSERT_TRUE(source.weights->contains("W"));
  EXPECT_EQ(source.weights->at("W").storedAt.location, "w.data");
  EXPECT_EQ(graph::toDoubles(source.weights->at("W").view)->size(), 64U);
  EXPECT_EQ((*opened)->facts().fileBytes, static_cast<int64_t>(fs::file_size(folder_ / "model.onnx") + 256));
}

TEST_F(ExternalTest, TheHashIsOfTheModelAndThenItsDataFiles) {
  const auto hashOf = [](const std::string& text) { return sha256Hex(std::as_bytes(std::span(text))); };
  const std::string alone = linearNorm().SerializeAsString();
  const auto plain = openBytes(alone);
  ASSERT_TRUE(plain);
  EXPECT_EQ((*plain)->fileSha256(nullptr), hashOf(alone));

  // The model names "b" before "a".
  ModelProto model = external("b.data", "0", "256");
  const std::string weights(256, 'w'), scale(32, 's');
  fs::rename(folder_ / "w.data", folder_ / "b.data");
  write(folder_ / "b.data", weights);
  write(folder_ / "a.data", scale);
  TensorProto& g = initializer(model, 2);
  g.clear_raw_data();
  g.set_data_location(TensorProto::EXTERNAL);
  auto* place = g.add_external_data();
  place->set_key("location");
  place->set_value("a.data");
  const std::string text = model.SerializeAsString();
  const auto opened = openBytes(text);
  ASSERT_TRUE(opened) << opened.error().message;
  // Of the files as they were opened, whatever lies there now.
  fs::remove(folder_ / "a.data");
  EXPECT_EQ((*opened)->fileSha256(nullptr), hashOf(text + scale + weights));

  write(folder_ / "a.data", std::string(32, 't'));
  const auto other = openBytes(text);
  ASSERT_TRUE(other);
  EXPECT_EQ((*other)->fileSha256(nullptr), hashOf(text + std::string(32, 't') + weights));
}

TEST_F(ExternalTest, StaysInTheFolder) {
  write(outside_ / "secret", std::string(4096, 'x'));
  fs::create_symlink(outside_ / "secret", folder_ / "link");
  fs::create_directory_symlink(outside_, folder_ / "up");
  fs::create_directory(folder_ / "sub");
  write(folder_ / "sub" / "w.data", std::string(256, '\0'));
  for (const std::string location :
       {"../secret", "sub/../../secret", "link", "up/secret", "/etc/passwd", "\\etc\\passwd", "C:w.data"}) {
    const std::string words = refusal(external(location));
    EXPECT_NE(words.find("'" + location + "'"), std::string::npos) << words;
  }
  EXPECT_EQ(refusal(external("sub/w.data")), "");
  EXPECT_EQ(refusal(external("sub/../w.data")), "");
  fs::create_symlink("w.data", folder_ / "inside");
  EXPECT_EQ(refusal(external("inside")), "");
}

TEST_F(ExternalTest, RefusesWrongPlaces) {
  EXPECT_NE(refusal(external("")).find("without a location"), std::string::npos);
  EXPECT_NE(refusal(external(std::string("w.data\0x", 8))).find("without a location"), std::string::npos);
  EXPECT_NE(refusal(external("missing")).find("not next to the model"), std::string::npos);
  EXPECT_NE(refusal(external(".")).find("not a file"), std::string::npos);
  EXPECT_NE(refusal(external("w.data", "-1")).find("negative external data offset"), std::string::npos);
  EXPECT_NE(refusal(external("w.data", "1e3")).find("senseless external data offset"), std::string::npos);
  EXPECT_NE(refusal(external("w.data", "99999999999999999999999")).find("senseless"), std::string::npos);
  EXPECT_NE(refusal(external("w.data", "4")).find("needs bytes 4 to 260 of 'w.data', which has 256"),
            std::string::npos);
  EXPECT_NE(refusal(external("w.data", "18446744073709551615")).find("needs bytes"), std::string::npos);
  EXPECT_NE(refusal(external("w.data", "0", "4611686018427387904")).find("its dimensions ask for 256"),
            std::string::npos);
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_NE(refusal(external("pipe")).find("not a file"), std::string::npos);
}

}  // namespace
}  // namespace normlens::formats::onnx
