// Reads what an exported model states of its making (the service writes it by Model::annotate). Thread: pure function.
#pragma once

#include <functional>
#include <string>

namespace normlens::formats {

// `property`: what the file has under a name; empty if nothing. "Folded by NormLens 0.1.0: 7 of 7 LayerNorms ... It
// holds if gate has size 1 in its last axis."; empty for a model that NormLens did not make.
[[nodiscard]] std::string foldHistory(const std::function<std::string(const std::string& name)>& property);

}  // namespace normlens::formats
