// One row after the other: what ops become, with canonical attributes.
#include <torch/csrc/jit/ir/irparser.h>

#include "tests/formats/torchscript/torchscript_fixture.h"

namespace normlens::formats::torchscript::test {
namespace {

using graph::OpKind;

struct Case {
  std::string name;
  std::string code;  // an expression in x, w and v
  std::string op;
  OpKind kind;
  std::string attribute;  // canonical attribute to look at; empty: none
  graph::Attribute value = false;
};

class OpMapTest : public ::testing::TestWithParam<Case> {};

// x: [2, 3, 4], w: [4, 4], v: [4]; all constants but x.
TEST_P(OpMapTest, MapsAsWritten) {
  const Case& test = GetParam();
  torch::jit::Module top("Top");
  top.register_parameter("w", draw({4, 4}, 1), false);
  top.register_parameter("v", draw({4}, 2), false);
  top.define("def forward(self, x):\n  w = self.w\n  v = self.v\n  return " + test.code + "\n");
  const auto model = makeModel(top, {draw({2, 3, 4}, 3)});
  ASSERT_TRUE(graph::checkGraph(model->graph()));
  const graph::Node& node = model->graph().node(nodeOf(model->graph(), test.op));
  EXPECT_EQ(graph::opKindName(node.kind), graph::opKindName(test.kind));
  if (test.attribute.empty()) return;
  const auto found = std::ranges::find_if(node.attributes, [&](const auto& a) { return a.first == test.attribute; });
  ASSERT_NE(found, node.attributes.end()) << test.attribute;
  EXPECT_EQ(found->second, test.value);
}

using Ints = std::vector<int64_t>;

INSTANTIATE_TEST_SUITE_P(
    Rows, OpMapTest,
    ::testing::Values(
        Case{"linear", "torch.linear(x, w, v)", "aten::linear", OpKind::Linear, ""},
        Case{"matmul", "x @ w", "aten::matmul", OpKind::MatMul, ""},
        Case{"addmm", "torch.addmm(v, x[0], w)", "aten::addmm", OpKind::AddMatMul, ""},
        Case{"einsum", "torch.einsum('...d,de->...e', [x, w])", "aten::einsum", OpKind::Einsum, "equation",
             std::string("YZd,de->YZe")},
        Case{"einsumImplicit", "torch.einsum('btd, de', [x, w])", "aten::einsum", OpKind::Einsum, "equation",
             std::string("btd,de->bet")},
        Case{"transpose", "x.transpose(-1, 0)", "aten::transpose", OpKind::Permute, "perm", Ints{2, 1, 0}},
        Case{"movedim", "torch.movedim(x, 0, -1)", "aten::movedim", OpKind::Permute, "perm", Ints{1, 2, 0}},
        Case{"permute", "x.permute(0, -1, 1)", "aten::permute", OpKind::Permute, "perm", Ints{0, 2, 1}},
        Case{"view", "x.view(2, 12)", "aten::view", OpKind::Reshape, ""},
        Case{"unsqueeze", "x.unsqueeze(-1)", "aten::unsqueeze", OpKind::Reshape, ""},
        Case{"expand", "v.expand(2, 3, 4)", "aten::expand", OpKind::Expand, ""},
        Case{"repeat", "x.repeat(1, 1, 2)", "aten::repeat", OpKind::Mix, "axes", Ints{2}},
        Case{"repeatInFront", "x.repeat(2, 1, 1, 2)", "aten::repeat", OpKind::Opaque, ""},
        Case{"repeatExpand", "x[:, :, :1].repeat(1, 1, 2)", "aten::repeat", OpKind::Expand, ""},
        Case{"sliceAll", "x[:, :]", "aten::slice", OpKind::Identity, ""},
        Case{"sliceToAnEnd", "x[:1]", "aten::slice", OpKind::Slice, "start", int64_t{0}},
        Case{"sliceToAnEndThatIsWritten", "x[:1]", "aten::slice", OpKind::Slice, "end", int64_t{1}},
        Case{"sliceFromTheEnd", "x[-1:]", "aten::slice", OpKind::Slice, "from_end", true},
        Case{"narrowToHalfOfALinear", "torch.narrow(x @ w, -1, 0, (x @ w).size(-1) // 2)", "aten::narrow",
             OpKind::Slice, "end", int64_t{2}},
        Case{"splitInto", "torch.split(x, 2, -1)[0]", "aten::split", OpKind::Split, "divides", true},
        Case{"splitIntoListed", "x.split_with_sizes([1, 3], -1)[0]", "aten::split_with_sizes", OpKind::Split, "sizes",
             Ints{1, 3}},
        Case{"chunk", "torch.chunk(x, 2, -1)[0]", "aten::chunk", OpKind::Split, "divides", true},
        Case{"viewOfAComputedSize", "w.view(x.size(1) + 1, -1)", "aten::view", OpKind::Reshape, "computed", Ints{0, 1}},
        Case{"sliceSteps", "x[::2]", "aten::slice", OpKind::Slice, "step", int64_t{2}},
        Case{"sliceEnd", "x[-1:]", "aten::slice", OpKind::Slice, "start", int64_t{1}},
        Case{"select", "x[:, -1]", "aten::select", OpKind::Select, "index", int64_t{2}},
        Case{"narrow", "torch.narrow(x, -1, 1, 2)", "aten::narrow", OpKind::Slice, "axis", int64_t{2}},
        Case{"unbind", "torch.unbind(x, 0)[1]", "aten::unbind", OpKind::Unbind, "axis", int64_t{0}},
        Case{"unbindFromTheEnd", "torch.unbind(x, 0)[-1]", "aten::unbind", OpKind::Opaque, ""},
        Case{"stack", "torch.stack([x, x], -1)", "aten::stack", OpKind::Stack, "axis", int64_t{3}},
        Case{"flip", "torch.flip(x, [-1])", "aten::flip", OpKind::Roll, "axes", Ints{2}},
        Case{"rollAll", "torch.roll(x, [1])", "aten::roll", OpKind::Opaque, ""},
        Case{"pad", "torch.pad(x, [1, 2, 0, 3])", "aten::pad", OpKind::Pad, "axes", Ints{1, 2}},
        Case{"padBefore", "torch.pad(x, [1, 2, 0, 3])", "aten::pad", OpKind::Pad, "start", Ints{0, 1}},
        Case{"padCrop", "torch.pad(x, [-1, 0])", "aten::pad", OpKind::Pad, "axes", Ints{2}},
        Case{"padByARun", "torch.pad(x, [0, 0, 0, x.size(1) % 2])", "aten::pad", OpKind::Pad, "axes", Ints{1}},
        Case{"padByAListOfARun", "torch.pad(x, [0, x.size(1)] * x.size(0))", "aten::pad", OpKind::Pad, "value", 0.0},
        Case{"padBorder", "torch.pad(x, [1, 2], 'reflect')", "aten::pad", OpKind::Pad, "start", Ints{1}},
        Case{"padReplicated", "torch.replication_pad1d(x, [1, 2])", "aten::replication_pad1d", OpKind::Pad, "axes",
             Ints{2}},
        Case{"padByATensor", "torch.pad(x, [1, 2], 'constant', float(x.sum()))", "aten::pad", OpKind::Opaque, ""},
        Case{"layerNorm", "torch.layer_norm(x, [4], v, v, 1e-3)", "aten::layer_norm", OpKind::LayerNorm, "axes",
             Ints{2}},
        Case{"layerNormOfTheWeight", "torch.layer_norm(x, v.shape, v)", "aten::layer_norm", OpKind::LayerNorm, "axes",
             Ints{2}},
        Case{"layerNormOfItsOwnSizes", "torch.layer_norm(x, x.shape[-1:])", "aten::layer_norm", OpKind::LayerNorm,
             "axes", Ints{2}},
        Case{"rmsNormOfALastSize", "torch.rms_norm(x, [x.size(-1)], v)", "aten::rms_norm", OpKind::RmsNorm, "axes",
             Ints{2}},
        Case{"layerNormEps", "torch.layer_norm(x, [4], v, v, 1e-3)", "aten::layer_norm", OpKind::LayerNorm, "eps",
             1e-3},
        Case{"softmax", "torch.softmax(x, -1)", "aten::softmax", OpKind::Softmax, "axis", int64_t{2}},
        Case{"softmaxRounded", "torch.softmax(x, -1, 6)", "aten::softmax", OpKind::Opaque, ""},
        Case{"mean", "x.mean([-1], True)", "aten::mean", OpKind::Reduce, "axes", Ints{2}},
        Case{"meanAll", "x.mean()", "aten::mean", OpKind::Reduce, "axes", Ints{0, 1, 2}},
        Case{"var", "x.var([-1], False, True)", "aten::var", OpKind::Reduce, "unbiased", false},
        Case{"meanRounded", "x.mean([-1], True, dtype=6)", "aten::mean", OpKind::Opaque, ""},
        Case{"meanOfTheSameType", "x.mean([-1], True, dtype=7)", "aten::mean", OpKind::Reduce, ""},
        Case{"sumOfIntegers", "torch.sum(x, [1], False, dtype=4)", "aten::sum", OpKind::Opaque, ""},
        Case{"cumulativeSumRounded", "torch.cumsum(x, -2, dtype=6)", "aten::cumsum", OpKind::Opaque, ""},
        Case{"maxPointwise", "torch.max(x, v)", "aten::max", OpKind::Elementwise, ""},
        Case{"maxReduce", "torch.max(x, 1)[0]", "aten::max", OpKind::Reduce, "op", std::string("other")},
        Case{"averagePool", "torch.avg_pool1d(x, 2)", "aten::avg_pool1d", OpKind::Mix, "axes", Ints{2}},
        Case{"cumulativeSum", "torch.cumsum(x, -2)", "aten::cumsum", OpKind::Mix, "axes", Ints{1}},
        Case{"dropoutEval", "torch.dropout(x, 0.5, False)", "aten::dropout", OpKind::Identity, ""},
        Case{"dropoutOfNothing", "torch.dropout(x, 0.0, True)", "aten::dropout", OpKind::Identity, ""},
        Case{"dropoutTrain", "torch.dropout(x, 0.5, True)", "aten::dropout", OpKind::Opaque, ""},
        Case{"sameType", "x.to(7)", "aten::to", OpKind::Identity, ""},
        Case{"otherType", "x.to(6)", "aten::to", OpKind::Cast, ""},
        Case{"divTrue", "x / v", "aten::div", OpKind::Div, ""},
        Case{"divFloor", "torch.div(x, v, rounding_mode='floor')", "aten::div", OpKind::Elementwise, ""},
        Case{"where", "torch.where(x > 0, x, v)", "aten::where", OpKind::Where, ""},
        Case{"maskedFill", "torch.masked_fill(x, x > 0, 0.0)", "aten::masked_fill", OpKind::MaskedFill, ""},
        Case{"gelu", "torch.gelu(x)", "aten::gelu", OpKind::Elementwise, ""},
        Case{"zerosLike", "torch.zeros_like(x)", "aten::zeros_like", OpKind::ShapeQuery, ""},
        Case{"glu", "torch.glu(x, -1)", "aten::glu", OpKind::Opaque, ""},
        Case{"indexSelect", "torch.index_select(x, 1, torch.tensor([2, 0]))", "aten::index_select", OpKind::Gather,
             "axis", int64_t{1}},
        Case{"maskOfPositions", "x[x.sum(-1) > 0]", "aten::index", OpKind::Gather, "count", int64_t{2}},
        Case{"maskIndex", "x[x > 0]", "aten::index", OpKind::Opaque, ""},
        Case{"indexPut", "torch.index_put(x, [torch.tensor([0, 1]), torch.tensor([2, 0])], v)", "aten::index_put",
             OpKind::Scatter, "count", int64_t{2}},
        Case{"indexPutAdds", "torch.index_put(x, [torch.tensor([0])], v, True)", "aten::index_put", OpKind::Scatter,
             "reduction", std::string("add")},
        Case{"indexPutByAMask", "torch.index_put(x, [x.sum(-1) > 0], v)", "aten::index_put", OpKind::Scatter, "made",
             int64_t{1}},
        Case{"indexPutByAMaskOfAll", "torch.index_put(x, [x > 0], v[0])", "aten::index_put", OpKind::Opaque, ""},
        Case{"indexAdd", "torch.index_add(x, -2, torch.tensor([1]), x[:, :1])", "aten::index_add", OpKind::Scatter,
             "axis", int64_t{1}},
        Case{"scatterAdd", "torch.scatter_add(x, 0, torch.argsort(x, 0), x)", "aten::scatter_add", OpKind::Scatter,
             "elements", true},
        Case{"scatterOfProducts", "torch.scatter(x, 0, torch.argsort(x, 0), x, reduce='multiply')", "aten::scatter",
             OpKind::Opaque, ""},
        Case{"scatterMean", "torch.scatter_reduce(x, 0, torch.argsort(x, 0), x, 'mean')", "aten::scatter_reduce",
             OpKind::Scatter, "reduction", std::string("mean")},
        Case{"scatterSum", "torch.scatter_reduce(x, 0, torch.argsort(x, 0), x, 'sum')", "aten::scatter_reduce",
             OpKind::Scatter, "reduction", std::string("add")},
        Case{"scatterSumOfTheUpdates", "torch.scatter_reduce(x, 0, torch.argsort(x, 0), x, 'sum', include_self=False)",
             "aten::scatter_reduce", OpKind::Scatter, "reduction", std::string("sum")},
        Case{"scatterLargest", "torch.scatter_reduce(x, 0, torch.argsort(x, 0), x, 'amax')", "aten::scatter_reduce",
             OpKind::Opaque, ""},
        Case{"maskedScatter", "torch.masked_scatter(x, x > 0, x)", "aten::masked_scatter", OpKind::MaskedCopy, ""},
        Case{"selectScatter", "torch.select_scatter(x, x[:, 0], 1, 2)", "aten::select_scatter", OpKind::Scatter, "made",
             int64_t{0}},
        Case{"copy", "torch.zeros_like(x).copy_(v)", "aten::copy_", OpKind::Expand, ""},
        Case{"copyThatRounds", "torch.zeros_like(x).to(6).copy_(x)", "aten::copy_", OpKind::Opaque, ""}),
    [](const auto& row) { return row.param.name; });

struct FunctionCase {
  std::string code;
  std::string op;
  graph::Function function;
};

// In place or not, whatever the overload.
TEST(OpMapRowTest, FunctionsThatAnAnalysisAsksForAreNamed) {
  using graph::Function;
  const FunctionCase cases[] = {{"torch.square(x)", "aten::square", Function::Square},
                                {"x.clone().square_()", "aten::square_", Function::Square},
                                {"x ** 2", "aten::pow", Function::Power},
                                {"torch.pow(x, v)", "aten::pow", Function::Power},
                                {"x.clone().pow_(2.0)", "aten::pow_", Function::Power},
                                {"torch.sqrt(x)", "aten::sqrt", Function::SquareRoot},
                                {"x.clone().sqrt_()", "aten::sqrt_", Function::SquareRoot},
                                {"torch.rsqrt(x)", "aten::rsqrt", Function::InverseSquareRoot},
                                {"x.clone().rsqrt_()", "aten::rsqrt_", Function::InverseSquareRoot},
                                {"torch.reciprocal(x)", "aten::reciprocal", Function::Reciprocal},
                                {"x.clone().reciprocal_()", "aten::reciprocal_", Function::Reciprocal},
                                {"torch.relu(x)", "aten::relu", Function::Relu},
                                {"x.clone().relu_()", "aten::relu_", Function::Relu},
                                {"torch.maximum(x, v)", "aten::maximum", Function::Maximum},
                                {"torch.max(x, v)", "aten::max", Function::Maximum},
                                {"torch.max(x, 1)[0]", "aten::max", Function::Other},
                                {"torch.minimum(x, v)", "aten::minimum", Function::Other},
                                {"torch.ceil(x)", "aten::ceil", Function::Step},
                                {"torch.div(x, v, rounding_mode='floor')", "aten::div", Function::Step},
                                {"x.to(6)", "aten::to", Function::Cast},
                                {"x.to(7)", "aten::to", Function::Cast},
                                {"x.type_as(v)", "aten::type_as", Function::Cast},
                                {"x.contiguous()", "aten::contiguous", Function::Other},
                                {"x.unsqueeze(-1)", "aten::unsqueeze", Function::Unsqueeze},
                                {"x.clone().unsqueeze_(0)", "aten::unsqueeze_", Function::Unsqueeze},
                                {"x.view(2, 12)", "aten::view", Function::Other},
                                {"torch.prod(x)", "aten::prod", Function::Product},
                                {"torch.sum(x)", "aten::sum", Function::Other}};
  for (const FunctionCase& test : cases) {
    torch::jit::Module top("Top");
    top.register_parameter("v", draw({4}, 2), false);
    top.define("def forward(self, x):\n  v = self.v\n  return " + test.code + "\n");
    const auto model = makeModel(top, {draw({2, 3, 4}, 3)});
    const graph::Node& node = model->graph().node(nodeOf(model->graph(), test.op));
    EXPECT_EQ(graph::functionName(node.function), graph::functionName(test.function)) << test.code;
  }
}

// What is read off a size that the input decides is left out, and what is one of the tensor's own is not computed.
TEST(OpMapRowTest, SizesOfTheInputAreNotWritten) {
  const auto attributesOf = [](const std::string& code, const std::string& op) {
    torch::jit::Module top("Top");
    top.register_parameter("w", draw({4, 4}, 1), false);
    top.define("def forward(self, x):\n  h = x @ self.w\n  return " + code + "\n");
    const auto model = makeModel(top, {draw({2, 3, 4}, 3)});
    return model->graph().node(nodeOf(model->graph(), op));
  };
  const graph::Node narrowed = attributesOf("torch.narrow(h, -1, 0, x.size(1))", "aten::narrow");
  EXPECT_EQ(graph::intAttribute(narrowed, "start"), 0);
  EXPECT_EQ(graph::intAttribute(narrowed, "end"), std::nullopt);
  const graph::Node split = attributesOf("h.split_with_sizes([x.size(1), 1], -1)[0]", "aten::split_with_sizes");
  EXPECT_EQ(graph::intsAttribute(split, "sizes"), std::nullopt);
  EXPECT_FALSE(graph::boolAttribute(split, "divides"));
  for (const char* code : {"h.view(x.size(0), x.size(1), 2, -1)", "h.view(x.shape[0], -1, 2, h.size(-1) // 2)",
                           "h.view(x.size(0), -1, 2, x.size(-1) // 2)", "h.view(x.size()[:-1] + [2, 2])"}) {
    EXPECT_EQ(graph::intsAttribute(attributesOf(code, "aten::view"), "computed"), std::nullopt) << code;
  }
}

// Tracers write aten::rsub; the scripting front end does not, so this graph is written out.
TEST(OpMapRowTest, ReversedSubtractionSwapsItsOperands) {
  torch::jit::Module top("Top");
  auto body = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(R"(
graph(%self, %x : Tensor):
  %one : float = prim::Constant[value=1.]()
  %alpha : int = prim::Constant[value=1]()
  %y : Tensor = aten::rsub(%x, %one, %alpha)
  return (%y))",
                      body.get());
  body->inputs()[0]->setType(top.type());
  top.type()->addMethod(top._ivalue()->compilation_unit()->create_function("__torch__.Top.forward", body));
  const auto model = makeModel(top, {draw({4}, 1)});
  const auto& node = model->graph().node(nodeOf(model->graph(), "aten::rsub"));
  EXPECT_EQ(graph::opKindName(node.kind), "Sub");
  EXPECT_EQ(model->graph().value(node.operands[0]).literal, 1.0);
  EXPECT_EQ(node.operands[1], model->graph().inputs()[0]);
  EXPECT_EQ(model->lowered().operandSites[0][0].input, 1);
}

TEST(OpMapRowTest, ConvolutionsSayTheirGroupsAndDirection) {
  torch::jit::Module top("Top");
  top.register_parameter("w", draw({6, 2, 3}, 1), false);
  top.define(
      "def forward(self, x):\n  y = torch.conv1d(x, self.w, None, [1], [0], [1], 2)\n  return "
      "torch.conv_transpose1d(y, self.w)\n");
  const auto model = makeModel(top, {draw({2, 4, 9}, 3)});
  const auto& conv = model->graph().nodes[0];
  const auto& back = model->graph().nodes[1];
  EXPECT_EQ(graph::intAttribute(conv, "groups"), 2);
  EXPECT_FALSE(graph::boolAttribute(conv, "transposed", true));
  EXPECT_TRUE(graph::boolAttribute(back, "transposed"));
  EXPECT_EQ(conv.operands[2], graph::kNoValue);
}

// A tracer writes convolutions with a named padding so.
TEST(OpMapRowTest, AConvolutionMayNameItsPadding) {
  for (const char* padding : {"valid", "same"}) {
    torch::jit::Module top("Top");
    top.register_parameter("w", draw({6, 2, 3}, 1), false);
    top.register_parameter("b", draw({6}, 2), false);
    top.define("def forward(self, x):\n  return torch._convolution_mode(x, self.w, self.b, [1], '" +
               std::string(padding) + "', [1], 2)\n");
    const auto model = makeModel(top, {draw({2, 4, 9}, 3)});
    const auto& conv = model->graph().nodes[0];
    EXPECT_EQ(conv.kind, OpKind::Conv);
    EXPECT_EQ(graph::intAttribute(conv, "groups"), 2);
    EXPECT_EQ(conv.operands.size(), 3U);
  }
}

// Another number of axes comes with another input.
TEST(OpMapAxes, ANormOverAsManyAxesAsARunHasIsOverNoneThatIsKnown) {
  for (const std::string sizes : {"x.shape[1:]", "x.shape[-2:]", "x.shape", "x.shape[-int(x.sum() > 0):]"}) {
    torch::jit::Module top("Top");
    top.define("def forward(self, x):\n  return torch.layer_norm(x, " + sizes + ")\n");
    const auto model = makeModel(top, {draw({2, 3, 4}, 3)});
    const graph::Node& node = model->graph().node(nodeOf(model->graph(), "aten::layer_norm"));
    EXPECT_FALSE(graph::intsAttribute(node, "axes")) << sizes;
  }
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
