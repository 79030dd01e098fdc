#include "core/base/words/hint.h"

namespace normlens {

std::string Hint::text() const {
  constexpr std::array<std::string_view, namesOf(HintKey{}).size()> kPlaces = {
      "",
      " with --inputs FILE.npz or --input 'NAME=TYPE[SIZES]'",
      " with --time-limit SECONDS",
      " with --time-limit SECONDS, or give inputs with --inputs FILE.npz or --input 'NAME=TYPE[SIZES]'",
      " with --memory-limit SIZE",
      " with --model NAME",
      " with --force",
      " with --anew",
      " with --norm portable"};
  return words.empty() ? words : words + std::string(kPlaces.at(static_cast<size_t>(key)));
}

}  // namespace normlens
