// A tensor that is read at several places of a model which want different numbers: which of them keeps its name, and
// what the other is to be called. Private to formats/safetensors. Thread: pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace normlens::formats::safetensors {

// The list of modules whose paths end most like that of the tensor; nullopt: two do alike, or none does.
[[nodiscard]] std::optional<size_t> nearestModules(const std::vector<std::vector<std::string>>& modules,
                                                   const std::string& tensor);

// What a model puts in front of the names of its tensors that the checkpoint does not, "m." of a module that wraps it,
// and the other way round; by the names that most of them have.
struct Fronts {
  std::string ofModel, ofCheckpoint;
};
// nullopt: no name of the one ends in a name of the other.
[[nodiscard]] std::optional<Fronts> commonFronts(const std::vector<std::string>& inModel,
                                                 const std::vector<std::string>& inCheckpoint);

// A name as the model has it, told as the checkpoint tells them. Where "m.transformer." stands in front of most,
// "m.lm_head.weight" is "lm_head.weight".
[[nodiscard]] std::string asCheckpointTells(const std::string& name, const Fronts& fronts);

}  // namespace normlens::formats::safetensors
