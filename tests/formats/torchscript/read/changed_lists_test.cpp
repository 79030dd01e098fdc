// Lists and dicts that the file holds or the code makes, and that are written: what was in them is not what is.
#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/graph_text.h"

namespace normlens::formats::torchscript::test {
namespace {

using graph::OpKind;

// What the op, the k-th of its name, reads first; one that is known has a kind other than Opaque.
graph::ValueId firstOperand(const TorchScriptModel& model, const std::string& op, int k = 0) {
  return model.graph().node(nodeOf(model.graph(), op, k)).operands.at(0);
}

bool reads(const TorchScriptModel& model, const std::string& reader, const std::string& made) {
  return firstOperand(model, reader) == model.graph().node(nodeOf(model.graph(), made)).outputs.at(0);
}

OpKind kindOf(const TorchScriptModel& model, const std::string& op) {
  return model.graph().node(nodeOf(model.graph(), op)).kind;
}

// The graph is sound, and each run gives the same.
ModelPtr modelOf(const torch::jit::Module& module, const at::Tensor& x) {
  auto model = makeModel(module, {x});
  const auto sound = graph::checkGraph(model->graph());
  EXPECT_TRUE(sound) << (sound ? "" : sound.error().message) << graph::printGraph(model->graph());
  EXPECT_TRUE(at::equal(runOn(*model, {x}), runOn(*model, {x})));
  return model;
}

ModelPtr modelOf(const std::string& body) {
  torch::jit::Module m("Net");
  m.define("def forward(self, x):\n  y = torch.relu(x)\n  z = torch.tanh(x)\n" + body);
  return modelOf(m, draw({2, 8}, 1));
}

torch::jit::Module withTables() {
  torch::jit::Module m("Net");
  c10::List<at::Tensor> tables;
  for (const uint64_t seed : {2, 3}) tables.push_back(draw({2, 8}, seed));
  m.register_attribute("tabs", c10::ListType::ofTensors(), tables);
  return m;
}

TEST(ChangedLists, AnElementOfAListThatTheModelWritesIsNoConstant) {
  const auto modelThat = [](const std::string& writes) {
    auto m = withTables();
    m.define("def forward(self, x):\n  y = x + self.tabs[0]\n" + writes + "  return torch.layer_norm(y, [8])\n");
    return modelOf(m, draw({2, 8}, 1));
  };
  EXPECT_EQ(modelThat("")->graph().constants.size(), 1U);
  for (const char* writes : {"  self.tabs[0] = torch.relu(x)\n", "  self.tabs.append(x)\n", "  self.tabs.clear()\n"}) {
    const auto model = modelThat(writes);
    EXPECT_TRUE(model->graph().constants.empty()) << writes;
    EXPECT_TRUE(model->program().writesState);
  }
  const auto through = modelThat("  for t in self.tabs:\n    t.add_(1.0)\n");
  EXPECT_NE(through->graph().constant(constantNamed(through->graph(), "tabs.0")).volatileReason, "");
  EXPECT_TRUE(at::equal(through->source().module.attr("tabs").toTensorList().get(0), draw({2, 8}, 2)));
}

TEST(ChangedLists, TheLengthOfAListThatGrowsIsNotKnown) {
  auto m = withTables();
  m.define(
      "def forward(self, x):\n  y = x\n  if len(self.tabs) == 2:\n    y = torch.relu(x)\n  self.tabs.append(y)\n"
      "  return y\n");
  EXPECT_EQ(countOps(*modelOf(m, draw({2, 8}, 1)), "prim::If"), 1);
  auto fixed = withTables();
  fixed.define("def forward(self, x):\n  y = x\n  if len(self.tabs) == 2:\n    y = torch.relu(x)\n  return y\n");
  EXPECT_EQ(countOps(*modelOf(fixed, draw({2, 8}, 1)), "prim::If"), 0);
}

TEST(ChangedLists, AListInAListThatTheFileHoldsMayBeWrittenToo) {
  torch::jit::Module m("Net");
  c10::impl::GenericList nested(c10::ListType::ofTensors());
  nested.push_back(c10::List<at::Tensor>({draw({2, 8}, 2)}));
  m.register_attribute("nested", c10::ListType::create(c10::ListType::ofTensors()), nested);
  m.define(
      "def forward(self, x):\n  y = x + self.nested[0][0]\n  for inner in self.nested:\n    inner[0] = x\n"
      "  return y\n");
  EXPECT_TRUE(modelOf(m, draw({2, 8}, 1))->graph().constants.empty());
}

TEST(ChangedLists, WhatIsReadWithTheWholeListStaysForThat) {
  auto m = withTables();
  m.define(
      "def forward(self, x):\n  y = torch.layer_norm(x @ self.tabs[0], [8])\n"
      "  return y + torch.stack(self.tabs).sum()\n");
  const auto x = draw({3, 2}, 1);
  const auto model = modelOf(m, x);
  const auto folded = applied(*model, {centerOver(model->graph(), "tabs.0", 1), fold::ReplaceNorm{0}});
  EXPECT_EQ(countOps(*folded, "aten::layer_norm"), 0);
  EXPECT_LT(relativeDifference(runOn(*model, {x}), runOn(*folded, {x})), 1e-12);
}

TEST(ChangedLists, AnElementIsFollowedWhereItIsReplaced) {
  const auto model = modelOf("  l = [y, y]\n  l[0] = z\n  return torch.sin(l[0]) + torch.cos(l[1])\n");
  EXPECT_TRUE(reads(*model, "aten::sin", "aten::tanh"));
  EXPECT_TRUE(reads(*model, "aten::cos", "aten::relu"));
  const auto numbers = modelOf("  s = [2, 4]\n  s[1] = 8\n  return torch.reshape(y, s) + z\n");
  const auto& reshape = numbers->graph().node(nodeOf(numbers->graph(), "aten::reshape"));
  EXPECT_FALSE(graph::intsAttribute(reshape, "shape")) << "not the numbers that it was made of";
}

TEST(ChangedLists, AfterAWriteAtAnUnknownPlaceNothingIsKnownOfTheElements) {
  const auto at = std::string("  i = int(x.size(0)) - 2\n");
  for (const char* body : {"  l = [y, y]\n  l[i] = z\n  return torch.sin(l[0])\n",
                           "  l = [y, y]\n  l.insert(i, z)\n  return torch.sin(l[0])\n",
                           "  l = [y, y]\n  k = [l]\n  k[0].insert(0, z)\n  return torch.sin(l[0])\n",
                           "  l = [y, y]\n  k = [l]\n  k[i].append(z)\n  return torch.sin(l[0])\n",
                           "  d = {'a': y, 'b': y}\n  d[str(i)] = z\n  return torch.sin(d['a'])\n"}) {
    EXPECT_FALSE(reads(*modelOf(at + body), "aten::sin", "aten::relu")) << body;
  }
}

TEST(ChangedLists, AListThatALoopReachesThroughAnotherIsOneValue) {
  const auto model = modelOf(
      "  outs = [[y], [z]]\n  for i in range(x.size(0)):\n    outs[0].append(z)\n"
      "  return torch.cat(outs[0], 0).sum() + torch.hstack(outs[1])\n");
  EXPECT_EQ(kindOf(*model, "aten::cat"), OpKind::Opaque);
  EXPECT_FALSE(reads(*model, "aten::hstack", "aten::tanh")) << "nor is it asked which of the lists inside it is";
}

TEST(ChangedLists, KeysThatAreNumbersAreNoPlaces) {
  const auto model = modelOf("  d = {1: y, 0: z}\n  return torch.sin(d[1])\n");
  EXPECT_FALSE(reads(*model, "aten::sin", "aten::tanh")) << "that is the second one, not the one of key 1";
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
