// A run-time centering of a value that several modules read: one op, and the same outputs, for callers from outside
// too.
#include "tests/formats/torchscript/torchscript_fixture.h"

namespace normlens::formats::torchscript::test {
namespace {

torch::jit::Module normed(const std::shared_ptr<torch::jit::CompilationUnit>& unit, const std::string& name,
                          const std::string& body) {
  torch::jit::Module m("__torch__." + name, unit);
  m.register_parameter("g", draw({8}, 31), false);
  m.register_parameter("w", draw({8, 8}, 32), false);
  m.define("def forward(self, x):\n" + body);
  return m;
}

constexpr const char* kNorm = "  return torch.layer_norm(x, [8], self.g, None, 1e-05, False)\n";
constexpr const char* kNormAndGate =
    "  y = torch.layer_norm(x, [8], self.g, None, 1e-05, False)\n  return y * torch.sigmoid(torch.matmul(x, self.w))\n";

// An input, which nothing can center for free, read by two modules.
torch::jit::Module twoReaders(const char* first, const char* second, const std::string& forward) {
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module net("__torch__.Net", unit);
  net.register_module("a", normed(unit, "A", first));
  net.register_module("b", normed(unit, "B", second));
  net.define(forward);
  return net;
}

struct Folded {
  ModelPtr original, folded;
};

Folded foldAll(torch::jit::Module module, const at::Tensor& x) {
  Folded out;
  out.original = makeModel(std::move(module), {x});
  out.folded = foldedUnder(*out.original, analysis::Policy::All);
  return out;
}

void expectOnce(const Folded& made, const at::Tensor& x) {
  EXPECT_EQ(countOps(*made.folded, "aten::mean"), 1);
  EXPECT_EQ(countOps(*made.folded, "aten::layer_norm"), 0);
  EXPECT_LT(relativeDifference(runOn(*made.original, {x}), runOn(*made.folded, {x})), kExact);
  EXPECT_LT(relativeDifference(runOn(*made.original, {x}), saved(*made.folded).forward({x}).toTensor()), kExact);
}

TEST(CenteringBodies, TwoModulesAreHandedTheCenteredValueInTheOthersPlace) {
  const auto x = draw({3, 8}, 40) + 2;
  const auto made =
      foldAll(twoReaders(kNorm, kNorm, "def forward(self, x):\n  return self.a.forward(x) + self.b.forward(x)\n"), x);
  expectOnce(made, x);
  EXPECT_EQ(made.folded->source().module.attr("a").toModule().get_methods().size(), 1U) << "nobody needs both";
}

TEST(CenteringBodies, AModuleThatReadsTheValueItselfTooIsHandedBoth) {
  const auto x = draw({3, 8}, 41) + 2;
  const std::string forward = "def forward(self, x):\n  return self.a.forward(x) + self.b.forward(x)\n";
  expectOnce(foldAll(twoReaders(kNorm, kNormAndGate, forward), x), x);
  expectOnce(foldAll(twoReaders(kNormAndGate, kNormAndGate, forward), x), x);
  const auto made = foldAll(twoReaders(kNormAndGate, kNormAndGate, forward), x);
  auto alone = made.folded->source().module.attr("a").toModule();
  auto original = made.original->source().module.attr("a").toModule();
  EXPECT_LT(relativeDifference(original.forward({x}).toTensor(), alone.forward({x}).toTensor()), kExact)
      << "who calls it from outside hands it x alone";
}

TEST(CenteringBodies, AModuleThatMakesTheValueAndReadsItReturnsBoth) {
  const auto x = draw({3, 8}, 42) + 2;
  const char* maker =
      "  v = torch.sigmoid(x)\n  y = torch.layer_norm(v, [8], self.g, None, 1e-05, False)\n"
      "  return v, y\n";
  // A tuple is taken apart by the caller.
  expectOnce(foldAll(twoReaders(maker, kNorm,
                                "def forward(self, x):\n  v, y = self.a.forward(x)\n  return y + self.b.forward(v)\n"),
                     x),
             x);
}

TEST(CenteringBodies, DeepCallsPassItOnward) {
  auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module net("__torch__.Net", unit);
  torch::jit::Module outer("__torch__.Outer", unit);
  outer.register_module("norm", normed(unit, "Inner", kNormAndGate));
  outer.define("def forward(self, x):\n  return self.norm.forward(x) + torch.relu(x)\n");
  net.register_module("outer", outer);
  net.register_module("norm", normed(unit, "Beside", kNorm));
  net.define("def forward(self, x):\n  v = torch.sigmoid(x)\n  return self.outer.forward(v) * self.norm.forward(v)\n");
  const auto x = draw({3, 8}, 43);
  expectOnce(foldAll(net, x), x);
}

TEST(CenteringBodies, AValueThatIsChangedInPlaceStaysExact) {
  const auto x = draw({3, 8}, 45) + 2;
  const auto made =
      foldAll(twoReaders(kNorm, kNorm,
                         "def forward(self, x):\n  v = torch.sigmoid(x)\n  y = self.a.forward(v)\n  v.add_(y)\n"
                         "  return self.b.forward(v)\n"),
              x);
  EXPECT_EQ(countOps(*made.folded, "aten::layer_norm"), 0);
  EXPECT_LT(relativeDifference(runOn(*made.original, {x}), runOn(*made.folded, {x})), kExact);
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
