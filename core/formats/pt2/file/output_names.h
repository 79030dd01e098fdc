// Reads what a program's results are called: the keys of the dicts and the fields of the dataclasses that its call
// returns, from the tree that the file has of it (out_spec). No torch here. Nothing relies on it: what cannot be read
// is left out.
#pragma once

#include <string>
#include <vector>

#include "core/formats/pt2/file/json.h"

namespace normlens::formats::pt2 {

// By leaf of the tree, which are the user's outputs: "logits"; "hidden_states.1" of what lies in a list or tuple; empty
// where nothing on the way to it has a name. Empty: the file has none. graphModule: of the document.
[[nodiscard]] std::vector<std::string> outputNames(const Json& graphModule);

}  // namespace normlens::formats::pt2
