#include "core/protocol/input_groups.h"

#include <string_view>
#include <tuple>

namespace normlens::protocol {
namespace {

// "past" of "past.0.1"; empty: no part of a container.
std::string_view containerOf(std::string_view name) {
  const size_t dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

bool areAlike(const InputSpec& a, const InputSpec& b) {
  const auto look = [](const InputSpec& spec) {
    return std::tie(spec.dtype, spec.shape, spec.low, spec.high, spec.uniform, spec.assumed);
  };
  return !containerOf(a.name).empty() && containerOf(a.name) == containerOf(b.name) && look(a) == look(b);
}

}  // namespace

std::vector<InputGroup> inputGroups(std::span<const InputSpec> inputs) {
  std::vector<InputGroup> groups;
  for (const InputSpec& input : inputs) {
    if (!groups.empty() && areAlike(groups.back().each, input)) {
      groups.back().names = groups.back().each.name + " to " + input.name;
    } else {
      groups.push_back({input.name, input});
    }
  }
  return groups;
}

}  // namespace normlens::protocol
