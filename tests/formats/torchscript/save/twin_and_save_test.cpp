// Float64 twins, perturbed weights, and saving.
#include <sys/resource.h>
#include <torch/csrc/jit/passes/freeze_module.h>

#include <csignal>
#include <fstream>

#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::torchscript::test {
namespace {

// Casts, factories and reductions with literal types, a buffer, a tied weight, a table, a constant in the code.
torch::jit::Module manyTypes(at::ScalarType type = at::kFloat) {
  torch::jit::Module m("Types");
  const auto w = draw({8, 8}, 1, type).set_requires_grad(true);
  m.register_parameter("w", w, false);
  m.register_parameter("tied", w, false);
  m.register_buffer("shift", draw({8}, 2, type));
  m.register_buffer("steps", at::arange(8));
  m.define(R"(
    def forward(self, x):
      h = torch.linear(x, self.w).to(6)
      h = h + torch.zeros([8], dtype=6) + torch.full([8], 0.125) + self.shift
      h = torch.softmax(h, -1, dtype=6) + torch.mean(h, [-1], True, dtype=6)
      if h.dtype == 6:
        h = h * 2.0
      h = h + torch.arange(0., 8.) + self.steps
      return torch.linear(h, self.tied)
  )");
  return m;
}

TEST(Run, WhatIsDrawnAtRandomIsTheSameInEveryRun) {
  torch::jit::Module m("Random");
  m.define("def forward(self, x):\n  return x + torch.randn_like(x)\n");
  const at::Tensor x = draw({4, 8}, 3);
  const auto model = makeModel(m, {x});
  EXPECT_EQ(relativeDifference(runOn(*model, {x}), runOn(*model, {x})), 0);
}

TEST(Float64, EverythingThatMeansAFloatTypeIsWidened) {
  const auto x = draw({3, 8}, 3, at::kFloat);
  const auto model = makeModel(manyTypes(), {x});
  const auto twin = asTorchScript(model->toFloat64());
  const auto y = runOn(*twin, {x.to(at::kDouble)});
  EXPECT_EQ(y.scalar_type(), at::kDouble);
  EXPECT_LT(relativeDifference(runOn(*model, {x}).to(at::kDouble), y), 1e-5);

  // The same by hand in float64.
  const auto w = model->source().module.attr("w").toTensor().detach().to(at::kDouble);
  auto h = at::linear(x.to(at::kDouble), w) + 0.125 + model->source().module.attr("shift").toTensor().to(at::kDouble);
  h = (at::softmax(h, -1) + h.mean(-1, true)) * 2 + at::arange(8) * 2;
  EXPECT_LT(relativeDifference(at::linear(h, w), y), 1e-14);
}

TEST(Float64, ComplexNumbersAreWidened) {
  torch::jit::Module m("Complex");
  m.register_buffer("turn", at::view_as_complex(draw({4, 2}, 4, at::kFloat)));
  m.define(
      "def forward(self, x):\n  return torch.view_as_real(torch.fft_fft(x.to(9)) * self.turn) + "
      "torch.view_as_real(self.turn)\n");
  const auto x = draw({3, 4}, 3, at::kFloat);
  const auto model = makeModel(m, {x});
  const auto twin = asTorchScript(model->toFloat64());
  const auto y = runOn(*twin, {x.to(at::kDouble)});
  EXPECT_EQ(y.scalar_type(), at::kDouble);
  EXPECT_LT(relativeDifference(runOn(*model, {x}).to(at::kDouble), y), 1e-6);
  EXPECT_EQ(twin->narrowOp({{"in_0", viewOf(x.to(at::kDouble))}}, {}).value(), "");
}

TEST(Converted, EachTypeComputesInItselfAndGivesNearlyTheSame) {
  const auto x = draw({3, 8}, 3, at::kFloat);
  const auto model = makeModel(manyTypes(), {x});
  const auto expected = runOn(*model, {x}).to(at::kDouble);
  const std::vector<std::pair<graph::DType, double>> types = {{graph::DType::Float16, 0x1p-8},
                                                              {graph::DType::BFloat16, 0x1p-5},
                                                              {graph::DType::Float32, 1e-6},
                                                              {graph::DType::Float64, 1e-6}};
  for (const auto& [dtype, tolerance] : types) {
    const auto made = asTorchScript(model->converted(dtype));
    EXPECT_EQ(made->facts().dtype, dtype);
    const auto y = runOn(*made, {x});
    EXPECT_EQ(dtypeOf(y.scalar_type()), dtype);
    EXPECT_LT(relativeDifference(y.to(at::kDouble), expected), tolerance) << graph::dtypeName(dtype);
    for (const auto& value : made->graph().values) {
      if (value.literal || !graph::isFloat(value.dtype)) continue;  // a number in the code has no type of its own
      EXPECT_EQ(value.dtype, dtype) << value.name;
    }
  }
  EXPECT_FALSE(model->converted(graph::DType::Int8));
}

TEST(Converted, NumbersBeyondTheRangeBecomeItsLargest) {
  torch::jit::Module m("Masked");
  m.register_buffer("shift", at::tensor({-3.4e38F, 0.0F, -INFINITY}));
  m.define("def forward(self, x):\n  return (x + self.shift).masked_fill(x > 2.5, -3.4e38)\n");
  const auto x = at::tensor({1.0F, 2.0F, 3.0F});
  const auto model = makeModel(m, {x});
  const auto half = asTorchScript(model->converted(graph::DType::Float16));
  const auto y = runOn(*half, {x}).to(at::kDouble);
  EXPECT_EQ(y[0].item<double>(), -65504);
  EXPECT_EQ(y[1].item<double>(), 2);
  EXPECT_EQ(y[2].item<double>(), -65504);
  EXPECT_EQ(half->source().module.attr("shift").toTensor()[2].item<double>(), -INFINITY) << "infinities stay";
}

TEST(Float64, IdsOfNodesValuesAndConstantsStay) {
  const auto model = makeModel(manyTypes(), {draw({3, 8}, 3, at::kFloat)});
  const auto twin = asTorchScript(model->toFloat64());
  const auto &a = model->graph(), &b = twin->graph();
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    EXPECT_EQ(a.nodes[i].op, b.nodes[i].op);
    EXPECT_EQ(a.nodes[i].operands.size(), b.nodes[i].operands.size());
  }
  ASSERT_EQ(a.constants.size(), b.constants.size());
  for (size_t i = 0; i < a.constants.size(); ++i) {
    EXPECT_EQ(a.constants[i].name, b.constants[i].name);
    EXPECT_EQ(a.constants[i].aliases, b.constants[i].aliases);
    const auto dtype = a.constants[i].view.dtype;
    EXPECT_EQ(b.constants[i].view.dtype, graph::isFloat(dtype) ? graph::DType::Float64 : dtype);
  }
  EXPECT_EQ(b.constants.size(), a.constants.size());
  EXPECT_EQ(twin->facts().dtype, graph::DType::Float64);
  EXPECT_EQ(model->facts().dtype, graph::DType::Float32) << "the original stays as it is";
}

TEST(Float64, TiedMemoryStaysTiedAndAPlanForTheOriginalFitsTheTwin) {
  torch::jit::Module m("Net");
  m.register_parameter("w", draw({8, 6}, 1, at::kFloat), false);
  m.define(
      "def forward(self, x):\n  return torch.layer_norm(torch.linear(x, self.w), [8], None, None, 1e-05, False)\n");
  const auto x = draw({3, 6}, 4, at::kFloat);
  const auto model = makeModel(m, {x});
  const std::vector<fold::Edit> plan = {centerOver(model->graph(), "w", 0), fold::ReplaceNorm{0}};
  const auto twin = asTorchScript(model->toFloat64());
  for (const auto& value : twin->graph().values) EXPECT_NE(value.dtype, graph::DType::Float32) << value.name;
  EXPECT_EQ(twin->graph().value(twin->graph().outputs()[0]).shape,
            model->graph().value(model->graph().outputs()[0]).shape);
  const auto folded = applied(*twin, plan);
  const auto wide = x.to(at::kDouble);
  EXPECT_LT(relativeDifference(runOn(*twin, {wide}), runOn(*folded, {wide})), 1e-13);

  const auto tied = asTorchScript(makeModel(manyTypes(), {draw({3, 8}, 3, at::kFloat)})->toFloat64());
  EXPECT_TRUE(sameTensor(tied->source().module.attr("w").toTensor(), tied->source().module.attr("tied").toTensor()));
}

TEST(Float64, FrozenConstantsAreWidenedToo) {
  auto module = manyTypes();
  module.eval();
  const auto x = draw({3, 8}, 3, at::kFloat);
  const auto model = makeModel(torch::jit::freeze_module(module), {x});
  const auto twin = asTorchScript(model->toFloat64());
  const auto reference = asTorchScript(makeModel(manyTypes(), {x})->toFloat64());
  const auto wide = x.to(at::kDouble);
  EXPECT_LT(relativeDifference(runOn(*reference, {wide}), runOn(*twin, {wide})), 1e-14);
}

TEST(Float64, QuantisedModulesSayWhyNot) {
  torch::jit::Module m("Quantised");
  m.define("def forward(self, x):\n  return torch.dequantize(torch.quantize_per_tensor(x, 0.1, 0, 13))\n");
  m.register_buffer("packed", at::quantize_per_tensor(draw({4}, 1, at::kFloat), 0.1, 0, at::kQInt8));
  const auto model = makeModel(m, {draw({3}, 2, at::kFloat)});
  const Error twin = failureOf(model->toFloat64());
  EXPECT_EQ(twin.code, ErrorCode::Unsupported);
  EXPECT_NE(twin.message.find("quantised"), std::string::npos) << twin.message;
}

torch::jit::Module plain(at::ScalarType type) {
  torch::jit::Module m("Plain");
  const auto w = draw({8, 8}, 1, type);
  m.register_parameter("w", w, false);
  m.register_parameter("tied", w, false);
  m.register_buffer("steps", at::arange(8));
  m.define("def forward(self, x):\n  return torch.linear(torch.linear(x, self.w), self.tied) * self.steps\n");
  return m;
}

TEST(Perturbed, MovesEveryFloatWeightByAtMostHalfAUnitAndKeepsTies) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto model = makeModel(plain(type), {draw({3, 8}, 3, type)});
    const auto a = asTorchScript(model->perturbed(7)), again = asTorchScript(model->perturbed(7));
    const auto other = asTorchScript(model->perturbed(8));
    const auto w = [](const TorchScriptModel& m, const char* name = "w") {
      return m.source().module.attr(name).toTensor();
    };
    EXPECT_TRUE(at::equal(w(*a), w(*again)));
    EXPECT_FALSE(at::equal(w(*a), w(*other)));
    EXPECT_FALSE(at::equal(w(*a), w(*model)));
    EXPECT_TRUE(sameTensor(w(*a), w(*a, "tied")));
    EXPECT_TRUE(at::equal(w(*a, "steps"), w(*model, "steps")));
    const double unit = type == at::kFloat ? 0x1p-23 : 0x1p-7;
    const auto moved = ((w(*a) - w(*model)).abs() / w(*model).abs()).to(at::kDouble).max().item<double>();
    EXPECT_LE(moved, unit) << "rounding turns half a unit into none or one";
  }
}

TEST(Perturbed, AFloat64TwinMovesByJustItsOwnUnit) {
  const auto model = makeModel(plain(at::kDouble), {draw({3, 8}, 3)});
  const auto moved = asTorchScript(model->perturbed(1));
  const auto before = model->source().module.attr("w").toTensor(), after = moved->source().module.attr("w").toTensor();
  EXPECT_LE(((after - before).abs() / before.abs()).max().item<double>(), 0x1p-52);
}

TEST(Save, FailsInOneSentenceAndLeavesNothingBehind) {
  const TemporaryFolder folder;
  const auto model = makeModel(manyTypes(), {draw({3, 8}, 3, at::kFloat)});
  EXPECT_EQ(failureOf(model->save(folder.path() / "no" / "such" / "m.pt", {})).code, ErrorCode::WriteFailed);
  EXPECT_EQ(failureOf(model->save(folder.path(), {})).code, ErrorCode::WriteFailed);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

// The limit on file sizes stands in for a full disk: writing fails half-way.
TEST(Save, AWriteThatFailsHalfWayKeepsTheOldFileAndLeavesNoOther) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "m.pt";
  std::ofstream(path) << "old";
  const auto model = makeModel(manyTypes(), {draw({3, 8}, 3, at::kFloat)});
  auto* before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{1000, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const auto status = model->save(path, {});
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::WriteFailed);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_EQ(std::filesystem::file_size(path), 3U);
}

TEST(Save, ReplacesAFileAtomicallyAndKeepsEveryTensorBitForBit) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "m.pt";
  auto module = manyTypes();
  module.register_buffer("large", draw({300, 1000}, 9, at::kFloat));
  module.register_buffer("window", module.attr("large").toTensor().slice(0, 10, 20));
  const auto model = makeModel(module, {draw({3, 8}, 3, at::kFloat)});
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(model->save(path, {}));
  auto opened = must(TorchScriptModel::open(path, {}));
  const auto &a = model->source().module, &b = opened->source().module;
  for (const char* name : {"w", "tied", "shift", "steps", "large", "window"}) {
    EXPECT_TRUE(at::equal(a.attr(name).toTensor(), b.attr(name).toTensor())) << name;
  }
  EXPECT_TRUE(sameTensor(b.attr("w").toTensor(), b.attr("tied").toTensor()));
  EXPECT_TRUE(b.attr("w").toTensor().requires_grad());
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
