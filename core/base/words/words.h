// Words that files, messages and the command line share: enums with one table of names each.
//
//   enum class Policy : uint8_t { Free, Balanced, All, Paper };
//   NORMLENS_NAMES(Policy, "free", "balanced", "all", "paper")
//   nameOf(Policy::All);                // "all"
//   fromName<Policy>("everything");     // nullopt
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace normlens {

// Write it behind the enum, in its namespace, with the names in the order of the enumerators.
#define NORMLENS_NAMES(Type, ...) \
  constexpr auto namesOf(Type /*any*/) { return std::to_array<std::string_view>({__VA_ARGS__}); }

template <class E>
concept Named = std::is_enum_v<E> && requires(E word) {
  namesOf(word);
};

template <Named E>
[[nodiscard]] std::string nameOf(E word) {
  return std::string(namesOf(word).at(static_cast<size_t>(word)));
}

template <Named E>
[[nodiscard]] std::optional<E> fromName(std::string_view name) {
  const auto names = namesOf(E{});
  const auto* found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<E>(found - names.begin());
}

// Says what can be done with a LayerNorm.
enum class Verdict : uint8_t {
  Free,           // by editing weights alone
  WithCentering,  // with run-time centerings that serve several norms each
  Blocked,        // only a centering of its own would do, which costs what it saves; or nothing would
  Unknown,        // no run has shown the shapes that decide it
};
NORMLENS_NAMES(Verdict, "free", "with_centering", "blocked", "unknown")
[[nodiscard]] constexpr bool folds(Verdict verdict) {
  return verdict == Verdict::Free || verdict == Verdict::WithCentering;
}

// Says what a plan does with a LayerNorm.
enum class NormOutcome : uint8_t { Folded, FoldedWithCentering, Kept };
NORMLENS_NAMES(NormOutcome, "folded", "folded_with_centering", "kept")

enum class NormForm : uint8_t { Op, Decomposed, Fused };
NORMLENS_NAMES(NormForm, "op", "decomposed", "fused")

enum class Policy : uint8_t {
  Free,      // no run-time centering; copies of tied tensors allowed
  Balanced,  // centerings that pay, and copies within the growth limit
  All,       // every norm that can be folded, whatever it costs
  Paper,     // the papers' practical criterion; fails verification where gamma or beta matter
};
NORMLENS_NAMES(Policy, "free", "balanced", "all", "paper")

// Says what becomes of an RMSNorm's weight.
enum class Gamma : uint8_t {
  Keep,
  Fold,  // it moves into the linear layers behind the norm where nothing else reads the norm
};
NORMLENS_NAMES(Gamma, "keep", "fold")

enum class EditKind : uint8_t {
  AbsorbScale,
  CenterConstant,
  InsertCentering,
  DropAddend,
  AbsorbShift,
  AbsorbGain,
  RestoreMean,
  ReplaceNorm
};
NORMLENS_NAMES(EditKind, "absorb_scale", "center_constant", "insert_centering", "drop_addend", "absorb_shift",
               "absorb_gain", "restore_mean", "replace_norm")

// Says which tensor of two models is compared, and how the two are made comparable.
enum class SiteKind : uint8_t { Output, NormInput, NormOutput, Value };
NORMLENS_NAMES(SiteKind, "output", "norm_input", "norm_output", "value")

enum class Alignment : uint8_t {
  None,          // as they are
  Mean,          // the mean over the site's axes is taken out of both: the norm does not notice it
  Beta,          // the norm's beta is added to that of the second model
  GammaAndBeta,  // that of the second model is multiplied by the norm's gamma first
};
NORMLENS_NAMES(Alignment, "none", "mean", "beta", "gamma_and_beta")

}  // namespace normlens
