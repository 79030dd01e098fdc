// The parts of the page below its verdict. nullopt: there is nothing to report. Thread: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/engine/verbs/report/document.h"
#include "app/engine/verbs/report/facts.h"

namespace normlens::engine::report {

// Empty: there is no fold to draw.
[[nodiscard]] std::vector<Section> graphSections(const Facts& facts);
[[nodiscard]] std::optional<Section> planSection(const Facts& facts);
[[nodiscard]] std::optional<Section> proofSection(const Facts& facts);
[[nodiscard]] std::optional<Section> normsSection(const Facts& facts);
[[nodiscard]] std::optional<Section> differencesSection(const Facts& facts);
[[nodiscard]] std::optional<Section> latencySection(const Facts& facts);
[[nodiscard]] Section commandsSection(const Facts& facts);

// "gpt2.plan.json": what the plan in the page is called.
[[nodiscard]] std::string planName(const Facts& facts);

}  // namespace normlens::engine::report
