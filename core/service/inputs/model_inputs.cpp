#include "core/service/inputs/model_inputs.h"

#include <algorithm>

#include "core/graph/queries.h"
#include "core/run/inputs/draw.h"
#include "core/run/inputs/input_spec.h"
#include "core/run/inputs/npz.h"
#include "core/run/tensors.h"

namespace normlens::service {
namespace {

constexpr uint64_t kInputSeed = 20;

template <class Given>
std::vector<std::string> namesOf(const std::vector<Given>& given) {
  std::vector<std::string> names;
  names.reserve(given.size());
  for (const Given& item : given) names.push_back(item.name);
  return names;
}

// Renames inputs that were given under another name to the model's own names.
template <class Given>
void useOwnNames(const formats::Model& model, std::vector<Given>& given) {
  const auto names = model.ownNames(namesOf(given));
  for (size_t i = 0; i < given.size(); ++i) given[i].name = names[i];
}

// Returns whether every input is given that has to be.
bool isComplete(const std::vector<formats::InputArray>& inputs, const std::vector<formats::InputSpec>& specs) {
  return std::ranges::all_of(inputs, [&](const formats::InputArray& input) {
    return input.hasDefault || std::ranges::find(specs, input.name, &formats::InputSpec::name) != specs.end();
  });
}

Result<ChosenInputs> fromArrays(const formats::Model& model, const std::filesystem::path& npz) {
  ASSIGN_OR_RETURN(auto read, run::readWhatCanBeRead(npz));
  formats::Tensors& arrays = read.arrays;
  const auto namesInFile = namesOf(arrays);
  useOwnNames(model, arrays);
  std::map<std::string, Error> unreadable;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const auto failed = read.unreadable.find(namesInFile[i]);
    if (failed != read.unreadable.end()) unreadable.emplace(arrays[i].name, failed->second);
  }
  const auto inputs = model.inputArrays(namesOf(arrays));
  std::vector<bool> optional;
  optional.reserve(inputs.size());
  for (const auto& input : inputs) optional.push_back(input.hasDefault);
  ASSIGN_OR_RETURN(auto found, run::chooseInputs(arrays, namesOf(inputs), model.facts().dtype, optional, unreadable));
  ChosenInputs chosen;
  for (const auto& tensor : found.tensors) {
    formats::InputSpec spec;
    spec.name = tensor.name;
    spec.dtype = tensor.view.dtype;
    spec.shape = tensor.view.shape;
    chosen.specs.push_back(std::move(spec));
  }
  chosen.tensors = std::move(found.tensors);
  chosen.unusedArrays = std::move(found.unused);
  return chosen;
}

Result<ChosenInputs> fromSpecs(std::vector<formats::InputSpec> specs) {
  ASSIGN_OR_RETURN(auto tensors, run::drawInputs(specs, kInputSeed));
  ChosenInputs chosen{std::move(tensors), std::move(specs), {}, {}};
  for (const auto& spec : chosen.specs) chosen.freeAxes.push_back(spec.freeAxes);
  return chosen;
}

// Returns the tensor repeated once more along an axis of size 1.
Result<graph::TensorView> doubled(const graph::TensorView& view, size_t axis) {
  graph::TensorView wide = view;
  wide.shape[axis] = 2;
  wide.strides[axis] = 0;
  ASSIGN_OR_RETURN(auto bytes, run::denseBytes(wide));
  return run::ownedTensor(wide.dtype, wide.shape, std::move(bytes));
}

// Returns whether the file states the size of an input's axis: it takes no other one.
bool isDeclared(const graph::Graph& graph, const std::string& input, size_t axis) {
  return std::ranges::any_of(graph.inputs(), [&](graph::ValueId id) {
    return graph.value(id).name == input && graph::isSizeDeclared(graph.value(id), axis);
  });
}

// nullopt: no input has size 1 along any of these axes, and may have another.
std::optional<formats::Tensors> widened(const graph::Graph& graph, const formats::Tensors& inputs,
                                        std::initializer_list<size_t> axes) {
  formats::Tensors out = inputs;
  bool any = false;
  for (auto& tensor : out) {
    for (const size_t axis : axes) {
      if (axis >= tensor.view.shape.size() || tensor.view.shape[axis] != 1) continue;
      if (isDeclared(graph, tensor.name, axis)) continue;
      auto wide = doubled(tensor.view, axis);
      if (!wide) return std::nullopt;
      tensor.view = std::move(*wide);
      any = true;
    }
  }
  return any ? std::optional(std::move(out)) : std::nullopt;
}

// Returns wider copies of the inputs, the widest first.
std::vector<formats::Tensors> widened(const formats::Model& model, const formats::Tensors& inputs) {
  std::vector<formats::Tensors> all;
  for (const auto axes : {std::initializer_list<size_t>{0, 1}, std::initializer_list<size_t>{0}}) {
    if (auto wide = widened(model.graph(), inputs, axes)) all.push_back(std::move(*wide));
  }
  return all;
}

}  // namespace

Result<ChosenInputs> chooseModelInputs(const formats::Model& model, const InputChoice& choice) {
  if (!choice.npz.empty()) return fromArrays(model, choice.npz);
  std::vector<run::InputRequest> requests;
  for (const auto& text : choice.specs) {
    ASSIGN_OR_RETURN(auto request, run::parseInputSpec(text));
    requests.push_back(std::move(request));
  }
  auto given = run::sized(requests, {});
  useOwnNames(model, given);
  // Some parts of a list may be described, and the others guessed.
  auto names = namesOf(model.inputArrays({}));
  std::ranges::copy(namesOf(given), std::back_inserter(names));
  const auto inputs = model.inputArrays(names);
  auto merged = run::mergeSpecs({}, given, namesOf(inputs));
  if (!merged) return tl::unexpected(merged.error());
  // With every input described there is nothing to guess, and a guess may fail where the user knows better.
  if (given.empty() || !isComplete(inputs, *merged)) {
    ASSIGN_OR_RETURN(const auto inferred, model.inferInputs(choice.use));
    merged = run::mergeSpecs(inferred, given, namesOf(inputs));
    if (!merged) return tl::unexpected(merged.error());
  }
  return fromSpecs(std::move(*merged));
}

Status probeModel(formats::Model& model, const formats::Tensors& inputs, const Task& task) {
  for (const auto& wide : widened(model, inputs)) {
    if (model.probe(wide, task)) return {};
    RETURN_IF_ERROR(task.check());
  }
  return model.probe(inputs, task);
}

Status probeInferred(formats::Model& model, ChosenInputs& inputs, const Task& task) {
  const Status probed = probeModel(model, inputs.tensors, task);
  if (probed || probed.error().code == ErrorCode::Cancelled) return probed;
  auto narrow = fromSpecs(model.inferSizesOfOne());
  if (!narrow || narrow->specs.empty() || !model.probe(narrow->tensors, task)) return probed;
  inputs = std::move(*narrow);
  return {};
}

bool inferModelShapes(formats::Model& model, const formats::Tensors& inputs, const Task& task) {
  const auto wide = widened(model, inputs);
  return std::ranges::any_of(wide, [&](const auto& tensors) { return model.inferShapes(tensors, task); }) ||
         model.inferShapes(inputs, task);
}

}  // namespace normlens::service
