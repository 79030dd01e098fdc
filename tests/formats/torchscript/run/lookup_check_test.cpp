// Indices beyond the rows of what they look up: refused with the weight's name before the op runs.
#include "core/run/tensors.h"
#include "tests/formats/torchscript/torchscript_fixture.h"

namespace normlens::formats::torchscript::test {
namespace {

at::Tensor ids(at::IntArrayRef shape, int64_t highest) {
  at::Tensor made = at::zeros(shape, at::kLong);
  made.flatten()[-1] = highest;
  return made;
}

// A vocabulary of 5 and 8 positions.
torch::jit::Module embedding(const std::string& result) {
  torch::jit::Module m("Net");
  m.register_parameter("wte", draw({5, 4}, 1), false);
  m.register_parameter("wpe", draw({8, 4}, 2), false);
  m.define("def forward(self, ids):\n    at = torch.arange(ids.size(1))\n    return " + result + "\n");
  return m;
}

constexpr const char* kBoth = "torch.embedding(self.wte, ids) + torch.embedding(self.wpe, at)";

Tensors given(const at::Tensor& tensor) { return {{"in_0", viewOf(tensor)}}; }

// Whoever runs it.
void expectRefused(const Status& status, const std::string& sentence) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::BadInput);
  EXPECT_EQ(status.error().message, sentence);
}

TEST(LookupCheck, ALengthBeyondThePositionsNamesThem) {
  const ModelPtr model = makeModel(embedding(kBoth), {ids({2, 8}, 4)});
  EXPECT_TRUE(model->runner(given(ids({2, 8}, 4)), {}));
  const std::string sentence = "wpe has 8 rows, and the inputs need 9";
  expectRefused(model->runner(given(ids({2, 9}, 4)), {}).map([](const auto&) {}), sentence);
  expectRefused(model->runSeeing(given(ids({2, 9}, 4)), {}, {}).map([](const auto&) {}), sentence);
  expectRefused(model->probe(given(ids({2, 9}, 4)), {}), sentence);
}

TEST(LookupCheck, AnIdBeyondTheVocabularyNamesIt) {
  const ModelPtr model = makeModel(embedding(kBoth), {ids({2, 8}, 4)});
  expectRefused(model->probe(given(ids({2, 3}, 5)), {}), "wte has 5 rows, and the inputs need 6");
  expectRefused(model->probe(given(ids({2, 3}, -1)), {}), "wte has 5 rows, and the inputs need number -1");
}

// The same through the other ops that look up, each with what it allows.
TEST(LookupCheck, EveryLookupIsChecked) {
  struct Row {
    const char* result;
    int64_t highest;
    const char* sentence;  // empty: it runs
  };
  const Row rows[] = {
      {"self.wte[ids]", -5, ""},
      {"self.wte[ids]", -6, "wte has 5 rows, and the inputs need number -6"},
      {"self.wte[ids]", 5, "wte has 5 rows, and the inputs need 6"},
      {"self.wpe[:, ids]", 4, "what aten::index reads has 4 elements along axis 1, and the inputs need 5"},
      {"self.wpe[self.wpe > 0] + ids.flatten()[0]", 9, ""},
      {"torch.index_select(self.wpe, -1, ids.flatten())", 3, ""},
      {"torch.index_select(self.wpe, -1, ids.flatten())", 4, "wpe has 4 elements along axis 1, and the inputs need 5"},
      {"torch.gather(self.wte, 0, ids)", 4, ""},
      {"torch.gather(self.wte, 0, ids)", 5, "wte has 5 rows, and the inputs need 6"},
  };
  for (const Row& row : rows) {
    const ModelPtr model = makeModel(embedding(row.result), {ids({2, 3}, 0)});
    const auto runner = model->runner(given(ids({2, 3}, row.highest)), {});
    EXPECT_EQ(runner ? "" : runner.error().message, row.sentence) << row.result;
    if (!runner) continue;
    EXPECT_TRUE((*runner)->runOnceMs()) << row.result;
  }
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
