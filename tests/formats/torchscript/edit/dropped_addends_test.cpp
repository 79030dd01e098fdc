// Addends and fills that are constant along a norm's channels, from the code to the folded code.
#include "core/analysis/analysis.h"
#include "tests/formats/torchscript/torchscript_fixture.h"

namespace normlens::formats::torchscript::test {
namespace {

constexpr double kExact = 1e-12;

// A stream x out of a table, a number s for each token out of another one, and what becomes of them.
torch::jit::Module module(const std::string& body) {
  torch::jit::Module m("Net");
  m.register_parameter("table", draw({11, 8}, 1), false);
  m.register_parameter("other", draw({11, 6}, 5), false);
  m.register_parameter("positions", draw({1, 16, 8}, 2), false);
  m.register_parameter("w", draw({1, 6}, 3), false);
  m.register_parameter("b", draw({1}, 4), false);
  m.define(
      "def forward(self, ids):\n  x = torch.embedding(self.table, ids)\n"
      "  s = torch.linear(torch.embedding(self.other, ids), self.w, self.b)\n" +
      body + "\n  return torch.layer_norm(y, [8], None, None, 1e-05, False)\n");
  return m;
}

std::vector<at::Tensor> inputs(int64_t batch, int64_t tokens) {
  return {at::arange(batch * tokens).remainder(11).reshape({batch, tokens})};
}

struct Folded {
  ModelPtr before, after;
};

// Without a centering; equal at the probe's sizes and at others.
Folded folded(const std::string& body, int64_t batch = 2) {
  Folded out{makeModel(module(body), inputs(batch, 5)), nullptr};
  const auto analysis = analysis::analyze(out.before->graph(), {});
  if (!analysis) throw std::runtime_error(analysis.error().message);
  const auto plan = analysis::makePlan(**analysis, {analysis::Policy::Free, 1000, {}, {}});
  EXPECT_EQ(plan.folded.size(), 1U) << body << "\n" << (*analysis)->verdicts[0].reason;
  std::vector<fold::Edit> edits;
  for (const auto& planned : plan.edits) edits.push_back(planned.edit);
  out.after = applied(*out.before, edits);
  for (const auto& in : {inputs(batch, 5), inputs(3, 7), inputs(1, 4)})
    EXPECT_LT(relativeDifference(runOn(*out.before, in), runOn(*out.after, in)), kExact) << body;
  return out;
}

TEST(DroppedAddends, AnAdditionGoesWithAllThatOnlyItRead) {
  for (const char* body : {"  y = x + s", "  y = s + x", "  y = x - s", "  y = torch.add(x, s, alpha=2.5)",
                           "  y = x + s.expand([-1, -1, 8])"}) {
    const auto model = folded(body);
    EXPECT_EQ(countOps(*model.after, "aten::add") + countOps(*model.after, "aten::sub"), 0) << body;
    EXPECT_EQ(countOps(*model.after, "aten::linear"), 0) << body;
  }
  EXPECT_EQ(countOps(*folded("  y = x + 3").after, "aten::add"), 0);
  EXPECT_EQ(countOps(*folded("  y = x - 3.5").after, "aten::sub"), 0);
}

TEST(DroppedAddends, WhatStaysReadsZeros) {
  for (const char* body : {"  y = s - x", "  y = 3 - x", "  y = x.masked_fill(s > 0, 3.0)",
                           "  y = torch.where(s > 0, x, 3.0)", "  y = torch.where(s > 0, s, x)",
                           "  y = torch.add(s, x, alpha=2.5)", "  y = torch.cat([x, s.expand([-1, -1, 8])], 1)",
                           "  y = torch.lerp(x, s, 0.25)", "  y = torch.addcmul(s, x, s)"})
    folded(body);
}

TEST(DroppedAddends, TwoOfOneSum) {
  folded("  y = torch.cat([x, s.expand([-1, -1, 8]) + torch.gelu(s.expand([-1, -1, 8]))], 1)");
  folded("  y = x + s\n  y = y + s * 2.0\n  y = y - 1");
}

// The sum is a tensor of its own there; without the addition it would be x.
TEST(DroppedAddends, NothingIsLeftOutBesideInPlaceOps) {
  EXPECT_EQ(countOps(*folded("  h = x + s\n  x.mul_(2.0)\n  y = h + x").after, "aten::add"), 2);
  folded("  h = x + s\n  h.mul_(2.0)\n  y = h + x");
  folded("  y = x.add_(s)");
  folded("  y = x.masked_fill_(s > 0, 3)");
}

// One row of positions for all of the batch: only the addend has the batch's size.
TEST(DroppedAddends, AnAddendThatWidensKeepsTheShape) {
  folded("  y = self.positions[:, :x.size(1)] + s");
  folded("  y = self.positions[:, :x.size(1)] + s", 1);
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
