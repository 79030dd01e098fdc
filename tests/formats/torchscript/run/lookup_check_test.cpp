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

// States of recurrent ops that do not fit the input: torch would write past their ends.

// Layers of hidden size 4 over an input of width 6, with a state for two sequences written into the file.
struct Recurrent {
  std::string name;
  std::string code;
  int gates = 4;
  int parts = 1;    // layers times directions
  int fedBack = 4;  // width of what is fed back
  bool batchFirst = true;
};

torch::jit::Module network(const Recurrent& of) {
  torch::jit::Module m("Net");
  const auto hold = [&](const std::string& name, at::IntArrayRef shape, uint64_t seed) {
    m.register_parameter(name, draw(shape, seed), false);
  };
  const int64_t rows = 4L * of.gates;
  hold("wi", {rows, 6}, 1);
  hold("wh", {rows, of.fedBack}, 2);
  hold("bi", {rows}, 3);
  hold("bh", {rows}, 4);
  hold("wr", {of.fedBack, 4}, 5);
  hold("wi2", {rows, 8}, 6);
  m.register_buffer("h", draw({of.parts, 2, of.fedBack}, 7));
  m.register_buffer("c", draw({of.parts, 2, 4}, 8));
  m.define(
      "def forward(self, x):\n  p = [self.wi, self.wh, self.bi, self.bh]\n  q = [self.wi2, self.wh, self.bi, "
      "self.bh]\n" +
      of.code);
  return m;
}

// What goes wrong; empty: nothing.
std::string outcome(const Recurrent& of, int64_t batch, int64_t steps) {
  const std::vector<int64_t> size =
      of.batchFirst ? std::vector<int64_t>{batch, steps, 6} : std::vector<int64_t>{steps, batch, 6};
  try {
    static_cast<void>(makeModel(network(of), {draw(size, 10)}));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

class RecurrentCheckTest : public ::testing::TestWithParam<Recurrent> {};

TEST_P(RecurrentCheckTest, RunsWithItsBatchAndRefusesOthers) {
  for (const int64_t steps : {5, 7}) EXPECT_EQ(outcome(GetParam(), 2, steps), "");
  for (const int64_t batch : {1, 3}) {
    const std::string refused = outcome(GetParam(), batch, 5);
    EXPECT_NE(refused.find("its state must have the shape"), std::string::npos) << refused;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ops, RecurrentCheckTest,
    ::testing::Values(
        Recurrent{"Lstm", "  return torch.lstm(x, [self.h, self.c], p, True, 1, 0.0, False, False, True)[0]\n"},
        Recurrent{"Projected",
                  "  return torch.lstm(x, [self.h, self.c], p + [self.wr], True, 1, 0.0, False, False, True)[0]\n", 4,
                  1, 3},
        Recurrent{"BothWays", "  return torch.lstm(x, [self.h, self.c], p + p, True, 1, 0.0, False, True, True)[0]\n",
                  4, 2},
        Recurrent{"TwoLayersBothWays",
                  "  return torch.lstm(x, [self.h, self.c], p + p + q + q, True, 2, 0.0, False, True, True)[0]\n", 4,
                  4},
        Recurrent{"TimeFirst", "  return torch.lstm(x, [self.h, self.c], p, True, 1, 0.0, False, False, False)[0]\n", 4,
                  1, 4, false},
        Recurrent{"Gru", "  return torch.gru(x, self.h, p, True, 1, 0.0, False, False, True)[0]\n", 3},
        Recurrent{"Tanh", "  return torch.rnn_tanh(x, self.h, p, True, 1, 0.0, False, False, True)[0]\n", 1}),
    [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace normlens::formats::torchscript::test
