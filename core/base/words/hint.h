// A hint beside an error: what to do about it. One that names a place where something is set (an option of the command
// line, a page of the window) holds the place by key, and each end names it in its own way. Thread: value types.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/base/words/words.h"

namespace normlens {

enum class HintKey : uint8_t { None, Inputs, TimeLimit, TimeOrInputs, MemoryLimit, Model, Force, Anew, PortableNorm };
NORMLENS_NAMES(HintKey, "none", "inputs", "time_limit", "time_or_inputs", "memory_limit", "model", "force", "anew",
               "portable_norm")

struct Hint {
  std::string words;            // "give smaller ones": half a sentence that the place ends; all of it with no place
  HintKey key = HintKey::None;  // the place

  Hint() = default;
  Hint(std::string said, HintKey place = HintKey::None) : words(std::move(said)), key(place) {}
  Hint(const char* said, HintKey place = HintKey::None) : words(said), key(place) {}

  [[nodiscard]] bool empty() const { return words.empty(); }
  // In the words of the command line: "give smaller ones with --inputs FILE.npz".
  [[nodiscard]] std::string text() const;
  bool operator==(const Hint&) const = default;
};

}  // namespace normlens
