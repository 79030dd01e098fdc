// A symbolic size as torch.export writes it: sympy's srepr ("Mul(Integer(2), Symbol('s44', positive=True))"), read
// without sympy. Thread: value types.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace normlens::formats::pt2 {

struct SymExpr {
  enum class Kind : uint8_t { Integer, Symbol, Call } kind = Kind::Integer;
  int64_t value = 0;          // Integer
  std::string name;           // Symbol: "s44"; Call: "Mul"
  std::vector<SymExpr> args;  // Call

  bool operator==(const SymExpr&) const = default;
};
using SymValues = std::map<std::string, int64_t>;

// Errors: Unreadable with what is wrong, in words, without a file name.
[[nodiscard]] Result<SymExpr> parseSymExpr(std::string_view srepr);

// A comparison is 1 or 0. nullopt: a symbol has no value, a function is not known, or the result is no whole number of
// 64 bits.
[[nodiscard]] std::optional<int64_t> valueOf(const SymExpr& expr, const SymValues& symbols);

// The value of the only symbol that is not in `known` with which expr is `wanted`, where expr is linear in it and that
// value is whole; it goes into `known`. False: there is none, or it cannot be computed.
[[nodiscard]] bool solveFor(const SymExpr& expr, int64_t wanted, SymValues& known);

// "2*s44", "s0 + 1", "FloorDiv(s0, 2)".
[[nodiscard]] std::string textOf(const SymExpr& expr);

}  // namespace normlens::formats::pt2
