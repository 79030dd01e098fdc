// Small models whose residual adds and norms stand in modules of their own, and what is asked of them once fused.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/formats/torchscript/program/fast_norm.h"
#include "tests/formats/torchscript/torchscript_fixture.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::torchscript::test {

inline constexpr double kExact = 1e-12;
inline constexpr int64_t kWidth = 8;

inline torch::jit::Module newModule(const std::string& name) {
  torch::jit::Module module(name);
  module.register_attribute("training", c10::BoolType::get(), true);
  return module;
}

inline torch::jit::Module linear(uint64_t seed) {
  auto module = newModule("Linear");
  module.register_parameter("weight", draw({kWidth, kWidth}, seed), false);
  module.register_parameter("bias", draw({kWidth}, seed + 1), false);
  module.define("def forward(self, x):\n  return torch.linear(x, self.weight, self.bias)\n");
  return module;
}

inline torch::jit::Module norm(uint64_t seed) {
  auto module = newModule("LayerNorm");
  module.register_parameter("weight", draw({kWidth}, seed), false);
  module.register_parameter("bias", draw({kWidth}, seed + 1), false);
  module.define("def forward(self, x):\n  return torch.layer_norm(x, [8], self.weight, self.bias, 1e-05, False)\n");
  return module;
}

// A norm, a branch, and whatever `body` makes of them.
inline torch::jit::Module blockOf(uint64_t seed, const std::string& body) {
  auto module = newModule("Block");
  module.register_module("norm", norm(seed));
  module.register_module("branch", linear(seed + 2));
  module.define(body);
  return module;
}

inline constexpr const char* kPlainBlock =
    "def forward(self, x):\n  return x + self.branch.forward(self.norm.forward(x))\n";

// Blocks a and b, a norm at the end. `body` is forward().
inline torch::jit::Module netOf(const torch::jit::Module& a, const torch::jit::Module& b, const std::string& body) {
  auto module = newModule("Net");
  module.register_module("a", a);
  module.register_module("b", b);
  module.register_module("end", norm(30));
  module.define(body);
  return module;
}

inline constexpr const char* kInARow =
    "def forward(self, x):\n  return self.end.forward(self.b.forward(self.a.forward(x)))\n";

inline torch::jit::Module plainNet() { return netOf(blockOf(10, kPlainBlock), blockOf(20, kPlainBlock), kInARow); }

using NodePlaces = std::multimap<graph::OpKind, std::string>;

// What a norm reads may have views of its own.
inline NodePlaces placesOf(const graph::Graph& graph) {
  NodePlaces places;
  for (const auto& node : graph.nodes) {
    if (!node.helper && node.kind != graph::OpKind::Reshape) places.emplace(node.kind, graph.scope(node.scope).path);
  }
  return places;
}

class FusingAcross : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(fastNormAvailable()) << "libnormlens_ops.so is built with the tests"; }

  struct Fused {
    ModelPtr before, after;  // `after` as it is opened anew
    std::vector<std::string> norms;
  };

  // The file loads in torch, gives the original's outputs at two sizes, and is read as the original is.
  static Fused fuse(const torch::jit::Module& module, const at::Tensor& x = draw({2, 3, kWidth}, 1),
                    const at::Tensor& other = draw({4, 2, kWidth}, 2)) {
    Fused result;
    result.before = makeModel(module, {x});
    const auto fused = result.before->fuseNorms(analysis::findNorms(result.before->graph()), {});
    EXPECT_TRUE(fused) << (fused ? "" : fused.error().message);
    if (!fused) return result;
    result.norms = fused->fused;
    const TemporaryFolder folder;
    EXPECT_TRUE(fused->model->save(folder.path() / "m.pt", {}));
    auto loaded = torch::jit::load((folder.path() / "m.pt").string());
    result.after = makeModel(loaded, {x});
    for (const auto& input : {x, other}) {
      const auto expected = runOn(*result.before, {input});
      EXPECT_LT(relativeDifference(expected, runOn(*result.after, {input})), kExact);
      EXPECT_LT(relativeDifference(expected, loaded.forward({input}).toTensor()), kExact);
    }
    EXPECT_EQ(countOps(*result.after, "normlens::add_layer_norm"), static_cast<int>(result.norms.size()));
    EXPECT_EQ(placesOf(result.before->graph()), placesOf(result.after->graph()));
    EXPECT_EQ(namesOf(*result.before), namesOf(*result.after));
    return result;
  }

  static std::vector<std::string> namesOf(const TorchScriptModel& model) {
    std::vector<std::string> names;
    for (const auto& found : analysis::findNorms(model.graph()).layerNorms) names.push_back(found.name);
    std::sort(names.begin(), names.end());
    return names;
  }
};

using Names = std::vector<std::string>;

}  // namespace normlens::formats::torchscript::test
