// Opening files: what is taken, what is refused and in which words; weights in files of their own are mapped and
// hashed, and nothing outside the folder is read.
#include <sys/stat.h>

#include <functional>
#include <span>

#include "core/formats/file/file_hash.h"
#include "tests/formats/onnx/read/read_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::onnx {
namespace {

TEST_F(ReadTest, LargeWeightsAreViewsIntoTheFile) {
  const ModelProto model = linearNorm(32);
  const auto opened = must(open(model));
  const OnnxSource& source = opened->source();
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
  EXPECT_EQ(opened->facts().parameters, 32 * 32 + 64);
}

TEST_F(ReadTest, TypedFieldsAreReadLikeRawData) {
  for (const int wide : {4, 32}) {
    ModelProto model = linearNorm(wide);
    const std::string raw = initializer(model, 0).raw_data();
    initializer(model, 0).clear_raw_data();
    const auto* floats = reinterpret_cast<const float*>(raw.data());
    for (int i = 0; i < wide * wide; ++i) initializer(model, 0).add_float_data(floats[i]);
    const auto opened = must(open(model));
    const auto& constant = opened->graph().constant(0);
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
  const auto opened = must(open(model));
  EXPECT_EQ(graph::toDoubles(opened->graph().constant(0).view), (std::vector<double>{1, -2}));
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
      {"initializer 'W' of a body has the name of a value around it",
       [](ModelProto& m) {
         auto* node = m.mutable_graph()->add_node();
         node->set_op_type("If");
         node->add_input("x");
         auto* body = node->add_attribute();
         body->set_name("then_branch");
         body->set_type(::ONNX_NAMESPACE::AttributeProto::GRAPH);
         *body->mutable_g()->add_initializer() = m.graph().initializer(0);
       }},
      {"has a NUL byte in the name 'x?y'",
       [](ModelProto& m) { m.mutable_graph()->add_input()->set_name(std::string("x\0y", 3)); }},
      {"input 'x' is defined twice", [](ModelProto& m) { *m.mutable_graph()->add_input() = m.graph().input(0); }},
  };
  for (const Case& one : cases) {
    ModelProto model = linearNorm();
    one.spoil(model);
    const std::string words = refusal(model);
    EXPECT_NE(words.find(one.words), std::string::npos) << one.words << " / " << words;
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

TEST_F(ReadTest, GuessedInputsKeepTheNamesOfTheirOpenSizes) {
  const auto opened = must(open(linearNorm()));
  const auto specs = must(opened->inferInputs());
  EXPECT_EQ(specs[0].axisNames, (std::vector<std::string>{"N", ""}));
  ModelProto unnamed = linearNorm();
  auto* type = unnamed.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  type->mutable_shape()->mutable_dim(0)->set_dim_param("?");  // as paddle2onnx writes it
  const auto words = must(must(open(unnamed))->inferInputs())[0].assumed;
  EXPECT_TRUE(words.starts_with("float32[axis 0=")) << words;
}

// "N" is the 1 of the shape, and "N + 1" follows.
TEST_F(ReadTest, AnOpenSizeThatIsOneInTruth) {
  const auto opened = must(open(modelFromText(R"(
    <ir_version: 8, opset_import: ["": 17]>
    m (float[N, T, 4] x, float["N + 1", 4] z) => (float[M, 4] y) {
      shape = Constant <value_ints = [1, 4]> ()
      first = ReduceMean <axes = [1], keepdims = 0> (x)
      row = Reshape(first, shape)
      y = Concat <axis = 0> (row, z)
    })")));
  const auto specs = opened->inferSizesOfOne();
  ASSERT_EQ(specs.size(), 2U);
  EXPECT_EQ(specs[0].shape, (graph::Shape{1, 8, 4}));
  EXPECT_EQ(specs[0].freeAxes, std::vector<int>{1});
  EXPECT_NE(specs[0].assumed.find("1 where the file leaves it open"), std::string::npos) << specs[0].assumed;
  EXPECT_EQ(specs[1].shape, (graph::Shape{2, 4}));
}

TEST_F(ReadTest, ShapeInferenceKnowsTheMainDomainOnly) {
  ModelProto model = modelFromText(R"(
    <ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 4]>
    m (int64[2] x, float[2, 4] z) => (float[2] y, float[2, 4] w) {
      y = ai.onnx.ml.LabelEncoder(x)
      w = Relu(z)
    })");
  const auto opened = must(open(model));
  const Lowered lowered = lowerModel(opened->source(), nullptr, Inference::WhereMissing);
  EXPECT_EQ(lowered.graph.value(lowered.graph.node(1).outputs[0]).shape, (graph::Shape{2, 4}));
}

// Files whose nodes do not stand in the order of their reading.

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
  const auto opened = must(open(model));
  const ModelProto& read = *opened->source().skeleton;
  EXPECT_EQ(opsOf(read.graph()), "Cast,Add,Neg,Abs,Cast,If{Exp,Mul}{Identity},Twice,Sub");
  EXPECT_EQ(read.functions(0).node(0).op_type(), "Neg");
  EXPECT_EQ(checkerSays(read), "");
}

TEST_F(ReadTest, NodesInOrderStayAsTheyAre) {
  const ModelProto model = modelFromText(R"(<ir_version: 8, opset_import: ["": 17]>
    m (float[N, 8] x) => (float[N, 8] y) {
      far = Abs(x)  a = Neg(x)  b = Exp(x)  c = Add(b, a)  unread = Cast<to = 11>(c)  y = Add(c, far)
    })");
  const auto opened = must(open(model));
  EXPECT_EQ(opened->source().skeleton->SerializeAsString(), model.SerializeAsString());
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
  const auto opened = must(open(model));
  EXPECT_EQ(opened->source().skeleton->graph().node(0).output(0), "v1");
  EXPECT_EQ(opened->source().skeleton->graph().node(kLength).output(0), "y");
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

namespace fs = std::filesystem;

class ExternalTest : public ReadTest {
 protected:
  // linearNorm with W in a file beside it.
  [[nodiscard]] ModelProto external(const std::string& location, const std::string& offset = "",
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
  const auto opened = must(open(external("w.data", "0", "256")));
  const OnnxSource& source = opened->source();
  EXPECT_TRUE(source.externalData);
  ASSERT_TRUE(source.weights->contains("W"));
  EXPECT_EQ(source.weights->at("W").storedAt.location, "w.data");
  EXPECT_EQ(graph::toDoubles(source.weights->at("W").view)->size(), 64U);
  EXPECT_EQ(opened->facts().fileBytes, static_cast<int64_t>(fs::file_size(folder_ / "model.onnx") + 256));
}

TEST_F(ExternalTest, TheHashIsOfTheModelAndThenItsDataFiles) {
  const auto hashOf = [](const std::string& text) { return sha256Hex(std::as_bytes(std::span(text))); };
  const std::string alone = linearNorm().SerializeAsString();
  const auto plain = must(openBytes(alone));
  EXPECT_EQ(plain->fileHash(HashKind::Sha256, nullptr), hashOf(alone));

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
  EXPECT_EQ((*opened)->fileHash(HashKind::Sha256, nullptr), hashOf(text + scale + weights));

  write(folder_ / "a.data", std::string(32, 't'));
  const auto other = must(openBytes(text));
  EXPECT_EQ(other->fileHash(HashKind::Sha256, nullptr), hashOf(text + std::string(32, 't') + weights));
}

TEST_F(ExternalTest, StaysInTheFolder) {
  write(outside_ / "secret", std::string(4096, 'x'));
  fs::create_symlink(outside_ / "secret", folder_ / "link");
  fs::create_directory_symlink(outside_.path(), folder_ / "up");
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

// As a cache of downloads keeps a model: the names in one folder, the bytes in another.
TEST_F(ExternalTest, MayLieWhereTheLinkToTheModelLeads) {
  const ModelProto model = external("w.data");
  fs::create_directory(outside_ / "blobs");
  write(outside_ / "blobs" / "1", model.SerializeAsString());
  fs::rename(folder_ / "w.data", outside_ / "blobs" / "2");
  fs::create_symlink(outside_ / "blobs" / "1", folder_ / "model.onnx");
  fs::create_symlink(outside_ / "blobs" / "2", folder_ / "w.data");
  const auto opened = must(OnnxModel::open(folder_ / "model.onnx", {}));
  EXPECT_EQ(opened->source().weights->at("W").storedAt.location, "w.data");

  write(outside_ / "secret", std::string(4096, 'x'));
  fs::remove(folder_ / "w.data");
  fs::create_symlink(outside_ / "secret", folder_ / "w.data");
  EXPECT_PRED2(contains, failureOf(OnnxModel::open(folder_ / "model.onnx", {})).message,
               "a link that leaves the model's folder");
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
