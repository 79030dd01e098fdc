// Files whose nodes do not stand in the order of their reading.
#include "tests/formats/onnx/read/read_fixture.h"

namespace normlens::formats::onnx {
namespace {

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

}  // namespace
}  // namespace normlens::formats::onnx
