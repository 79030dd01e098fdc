// Makes the page of the facts: every number of it is one of them, and what was not found is left out. Thread: pure.
#pragma once

#include <string>

#include "app/engine/verbs/report/document.h"
#include "app/engine/verbs/report/facts.h"

namespace normlens::engine::report {

[[nodiscard]] Document composed(const Facts& facts);

// Returns how many of the model's LayerNorms are none in the fold.
[[nodiscard]] int foldedNorms(const Facts& facts);
// Returns, for a fold in memory, whether it is proved; nullopt: not decided. For a file, whether no output is beyond
// its limit; nullopt where they could not be compared.
[[nodiscard]] std::optional<bool> isEqual(const Facts& facts);

// "gpt2.plan.json": what the plan in the page is called.
[[nodiscard]] std::string planName(const Facts& facts);

}  // namespace normlens::engine::report
