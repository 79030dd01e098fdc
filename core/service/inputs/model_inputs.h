// Chooses the tensors that a model is run on: given arrays, given specs, or a guess from the graph.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/formats/model.h"
#include "core/service/inputs/size_conditions.h"

namespace normlens::service {

// InputChoice is the source of the model's inputs. All empty: guessed from the graph.
struct InputChoice {
  std::filesystem::path npz;       // --inputs FILE.npz
  std::vector<std::string> specs;  // --input 'in_0=int64[1,16]:0..199', once per input
  SizeChoice sizes;                // --assume, --strict
  formats::InputsFor use = formats::InputsFor::Values;
};

struct ChosenInputs {
  formats::Tensors tensors;
  std::vector<formats::InputSpec> specs;   // Describe the inputs; `assumed` is empty where the user gave them.
  std::vector<std::vector<int>> freeAxes;  // by input; empty where not known
  std::vector<std::string> unusedArrays;   // Arrays of the file of inputs, by name.
};

// Errors: BadInput, Usage, Unreadable; one plain sentence.
[[nodiscard]] Result<ChosenInputs> chooseModelInputs(const formats::Model& model, const InputChoice& choice);

// Runs the probe so that sizes of 1 hide nothing: an axis of size 1 looks like one that broadcasts, so given inputs are
// first repeated along their leading axes of size 1. Falls back to the inputs as they are (a trace may have baked the
// 1).
[[nodiscard]] Status probeModel(formats::Model& model, const formats::Tensors& inputs, const Task& task);
// The same for inputs that were inferred: where none of that runs, sizes that the file leaves open become 1 in them.
[[nodiscard]] Status probeInferred(formats::Model& model, ChosenInputs& inputs, const Task& task);
// The same for Model::inferShapes().
[[nodiscard]] bool inferModelShapes(formats::Model& model, const formats::Tensors& inputs, const Task& task);

}  // namespace normlens::service
