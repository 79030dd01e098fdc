#include "app/engine/verbs/number_check.h"

#include <charconv>
#include <optional>
#include <string>

namespace normlens::engine {
namespace {

template <class Number>
std::optional<Number> numberOf(const std::string& text) {
  Number number = 0;
  const char* const past = text.data() + text.size();
  const auto [end, status] = std::from_chars(text.data(), past, number);
  return status == std::errc() && end == past ? std::optional(number) : std::nullopt;
}

}  // namespace

CLI::Validator wholeFrom(int least) {
  return {[least](const std::string& text) {
            const auto number = numberOf<int>(text);
            return number && *number >= least
                       ? std::string()
                       : "'" + text + "' is no whole number from " + std::to_string(least) + " on";
          },
          ""};
}

CLI::Validator notNegative() {
  return {[](const std::string& text) {
            const auto number = numberOf<double>(text);
            return number && *number >= 0 ? std::string() : "'" + text + "' is no number from 0 on";
          },
          ""};
}

}  // namespace normlens::engine
