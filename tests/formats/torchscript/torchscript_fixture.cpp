#include "tests/formats/torchscript/torchscript_fixture.h"

#include <algorithm>

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
  auto model = TorchScriptModel::fromModule({std::move(module), std::move(extraFiles), nullptr, {}}, {});
  if (!model) throw std::runtime_error(model.error().message);
  if (auto status = (*model)->probe(namedInputs(inputs), {}); !status) throw std::runtime_error(status.error().message);
  return std::move(*model);
}

ModelPtr asTorchScript(Result<std::unique_ptr<Model>> model) {
  if (!model) throw std::runtime_error(model.error().message);
  return ModelPtr(static_cast<TorchScriptModel*>(model->release()));
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
  return model.apply({"free", std::move(edits)}, norms.layerNorms, flavour, {});
}

}  // namespace

ModelPtr applied(const TorchScriptModel& model, std::vector<fold::Edit> edits, NormFlavour flavour) {
  auto result = tryApply(model, std::move(edits), flavour);
  if (!result) throw std::runtime_error(result.error().message);
  return ModelPtr(static_cast<TorchScriptModel*>(result->release()));
}

Error refusal(const TorchScriptModel& model, std::vector<fold::Edit> edits, NormFlavour flavour) {
  auto result = tryApply(model, std::move(edits), flavour);
  if (result) throw std::runtime_error("the plan was not refused");
  return result.error();
}

at::Tensor runOn(const TorchScriptModel& model, const std::vector<at::Tensor>& inputs) {
  auto outputs = model.run(namedInputs(inputs), {});
  if (!outputs) throw std::runtime_error(outputs.error().message);
  return tensorOf(outputs->at(0).view).clone();
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
