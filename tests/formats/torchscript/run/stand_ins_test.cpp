// A run for shapes only sees what a full run sees, and knows when it cannot.
#include "core/formats/torchscript/run/stand_ins.h"

#include "core/formats/torchscript/run/interpreter.h"
#include "tests/formats/torchscript/torchscript_fixture.h"

namespace normlens::formats::torchscript::test {
namespace {

struct Seen {
  std::vector<c10::IValue> outputs;
  bool restarted = false;
};

Seen runShapesOnly(const std::string& forward) {
  torch::jit::Module top("Top");
  top.register_parameter("w", draw({6, 10}, 1), false);
  top.register_parameter("kernel", draw({4, 3, 2, 2}, 2), false);
  top.define(forward);
  const auto model = TorchScriptModel::fromModule({top, {}, nullptr, {}}, {});
  EXPECT_TRUE(model) << model.error().message;
  Seen seen;
  Interpreter interpreter((*model)->program(), Interpreter::Effort::ShapesOnly, [&] { seen.restarted = true; });
  auto results = interpreter.run({draw({2, 5, 10}, 3)}, {}, {});
  EXPECT_TRUE(results) << results.error().message;
  if (results) seen.outputs = std::move(*results);
  return seen;
}

at::Tensor onlyOutput(const Seen& seen) { return seen.outputs.at(0).toTensor(); }

TEST(StandIns, AProductIsNotComputed) {
  const Seen seen = runShapesOnly("def forward(self, x):\n  return torch.linear(x, self.w)\n");
  EXPECT_FALSE(seen.restarted);
  EXPECT_EQ(onlyOutput(seen).sizes(), (at::IntArrayRef{2, 5, 6}));
  EXPECT_EQ(onlyOutput(seen).scalar_type(), at::kDouble);
  EXPECT_EQ(onlyOutput(seen).count_nonzero().item<int64_t>(), 0);
}

TEST(StandIns, SizesOfAProductAreKnown) {
  const Seen seen = runShapesOnly(R"(
def forward(self, x):
  y = torch.matmul(x, self.w.t())
  image = torch.conv2d(y.unsqueeze(1).expand(-1, 3, -1, -1), self.kernel)
  n = y.size(2) + image.size(1)
  for i in range(n):
    y = y + i
  return torch.zeros(n, len(y.shape)) + y.flatten().size(0)
)");
  EXPECT_FALSE(seen.restarted);
  EXPECT_EQ(onlyOutput(seen).sizes(), (at::IntArrayRef{10, 3}));
  EXPECT_EQ(onlyOutput(seen)[0][0].item<double>(), 60);
}

TEST(StandIns, WhatDependsOnAProductIsComputed) {
  const char* bodies[] = {
      "  if float(y.sum()) > -1e9:\n    return y[:, :1]\n  return y",
      "  return torch.nonzero(y)",
      "  return y[y > 0]",
      "  n = int(y.abs().sum()) % 3 + 1\n  return x[:, :n]",
      "  n = int(y.view(-1)[0:2].abs().sum().item()) % 3 + 1\n  return x[:, :n]",
      "  z = torch.zeros_like(x)\n  z[:, :, :6].copy_(y)\n  n = int(z.abs().sum()) % 3 + 1\n  return x[:, :n]",
      "  z = [x, y]\n  n = int(torch.cat(z, 2).abs().sum()) % 3 + 1\n  return x[:, :n]",
      "  t = (y, x)\n  n = int(t[0].argmax()) % 3 + 1\n  return x[:, :n]",
      "  for i in range(3):\n    if bool((y > 0.5).any()):\n      y = torch.relu(y)\n  return y",
  };
  for (const char* body : bodies) {
    SCOPED_TRACE(body);
    const Seen seen =
        runShapesOnly(std::string("def forward(self, x):\n  y = torch.linear(x, self.w)\n") + body + "\n");
    EXPECT_TRUE(seen.restarted);
    EXPECT_FALSE(seen.outputs.empty());
  }
}

TEST(StandIns, WhatDoesNotDependOnAProductIsNotHeldBack) {
  const Seen seen = runShapesOnly(R"(
def forward(self, x):
  y = torch.linear(x, self.w)
  n = int((x * 0).sum()) + 2
  if bool((x == x).all()):
    y = torch.relu(y)
  return y[:, :n]
)");
  EXPECT_FALSE(seen.restarted);
  EXPECT_EQ(onlyOutput(seen).sizes(), (at::IntArrayRef{2, 2, 6}));
}

TEST(StandIns, WrongShapesAreStillAnError) {
  torch::jit::Module top("Top");
  top.register_parameter("w", draw({6, 10}, 1), false);
  top.define("def forward(self, x):\n  return torch.linear(x, self.w)\n");
  const auto model = TorchScriptModel::fromModule({top, {}, nullptr, {}}, {});
  Interpreter interpreter((*model)->program(), Interpreter::Effort::ShapesOnly);
  EXPECT_FALSE(interpreter.run({draw({2, 5, 9}, 3)}, {}, {}));
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
