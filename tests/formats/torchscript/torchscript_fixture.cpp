#include "tests/formats/torchscript/torchscript_fixture.h"

#include <algorithm>

#include "core/analysis/streams/streams.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::torchscript::test {

at::Tensor draw(at::IntArrayRef shape, uint64_t seed, at::ScalarType type) {
  auto generator = at::detail::createCPUGenerator(seed);
  return (at::randn(shape, generator, at::TensorOptions().dtype(at::kDouble)) + 0.3).to(type);
}

namespace {

Tensors namedInputs(const std::vector<at::Tensor>& inputs) {
  Tensors out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    out.push_back({"in_" + std::to_string(i), viewOf(inputs[i].contiguous())});
  }
  return out;
}

}  // namespace

ModelPtr makeModel(torch::jit::Module module, const std::vector<at::Tensor>& inputs,
                   torch::jit::ExtraFilesMap extraFiles) {
  if (module.hasattr("training")) module.eval();
  auto model = must(TorchScriptModel::fromModule({std::move(module), std::move(extraFiles), nullptr, {}}, {}));
  must(model->probe(namedInputs(inputs), {}));
  return model;
}

torch::jit::Module newModule(const std::string& name) {
  torch::jit::Module module(name);
  module.register_attribute("training", c10::BoolType::get(), true);
  return module;
}

torch::jit::Module linearModule(const std::string& name, int64_t width, uint64_t seed) {
  auto module = newModule(name);
  module.register_parameter("weight", draw({width, width}, seed), false);
  module.register_parameter("bias", draw({width}, seed + 1), false);
  module.define("def forward(self, x):\n  return torch.linear(x, self.weight, self.bias)\n");
  return module;
}

torch::jit::Module saved(const Model& model) {
  const TemporaryFolder folder;
  must(model.save(folder / "m.pt", {}));
  return torch::jit::load((folder / "m.pt").string());
}

ModelPtr asTorchScript(Result<std::unique_ptr<Model>> model) {
  return ModelPtr(static_cast<TorchScriptModel*>(must(std::move(model)).release()));
}

graph::ConstantId constantNamed(const graph::Graph& graph, const std::string& name) {
  for (size_t i = 0; i < graph.constants.size(); ++i) {
    const auto& constant = graph.constants[i];
    const auto& aliases = constant.aliases;
    if (constant.name == name || std::find(aliases.begin(), aliases.end(), name) != aliases.end()) {
      return static_cast<graph::ConstantId>(i);
    }
  }
  throw std::runtime_error("no constant " + name);
}

graph::NodeId nodeOf(const graph::Graph& graph, const std::string& op, int k) {
  for (const graph::NodeId id : graph.executionOrder()) {
    if (graph.node(id).op == op && k-- == 0) return id;
  }
  throw std::runtime_error("no node " + op);
}

graph::Uses usesOf(const graph::Graph& graph, graph::ConstantId constant) {
  for (const auto& value : graph.values) {
    if (value.constant == constant) return value.uses;
  }
  return {};
}

fold::CenterConstant centerOver(const graph::Graph& graph, const std::string& name, int64_t axis) {
  const auto id = constantNamed(graph, name);
  const int64_t axes[] = {axis};
  return {{{id, ops::Pattern::overAxes(graph.constant(id).view.shape, axes)}}, usesOf(graph, id), false};
}

fold::CenterConstant centerOver(const graph::Graph& graph, const std::string& name, int64_t axis, graph::Uses only) {
  auto edit = centerOver(graph, name, axis);
  edit.uses = std::move(only);
  edit.split = true;
  return edit;
}

namespace {

Result<std::unique_ptr<Model>> tryApply(const TorchScriptModel& model, std::vector<fold::Edit> edits,
                                        NormFlavour flavour) {
  const auto norms = analysis::findNorms(model.graph());
  return model.apply({Policy::Free, std::move(edits)}, norms.layerNorms, flavour, {});
}

}  // namespace

ModelPtr applied(const TorchScriptModel& model, std::vector<fold::Edit> edits, NormFlavour flavour) {
  return asTorchScript(tryApply(model, std::move(edits), flavour));
}

ModelPtr foldedUnder(const TorchScriptModel& model, analysis::Policy policy, NormFlavour flavour) {
  const auto analysis = must(analysis::analyze(model.graph(), {}));
  const auto plan = analysis::makePlan(*analysis, {policy, 1000, {}, {}});
  EXPECT_EQ(plan.folded.size(), analysis->norms.layerNorms.size());
  return asTorchScript(model.apply(analysis::narrowed(plan, {}), analysis->norms.layerNorms, flavour, {}));
}

Error refusal(const TorchScriptModel& model, std::vector<fold::Edit> edits, NormFlavour flavour) {
  return failureOf(tryApply(model, std::move(edits), flavour));
}

at::Tensor runOn(const TorchScriptModel& model, const std::vector<at::Tensor>& inputs) {
  return tensorOf(must(model.run(namedInputs(inputs), {})).at(0).view).clone();
}

double relativeDifference(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return INFINITY;
  const auto wide = a.to(at::kDouble);
  const auto apart = (wide - b.to(at::kDouble)).abs().max().item<double>();
  return apart == 0 ? 0 : apart / wide.abs().max().item<double>();
}

int countOps(const TorchScriptModel& model, const std::string& op) {
  int count = 0;
  for (const auto& node : model.program().nodes) count += node.node->kind().toQualString() == op ? 1 : 0;
  return count;
}

}  // namespace normlens::formats::torchscript::test
