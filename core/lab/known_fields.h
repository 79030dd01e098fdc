// Finds fields that a struct does not have: a slip of the file's author, reported and not ignored. Thread: pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/protocol/field_list.h"

namespace normlens::lab {

namespace detail {
template <class T>
struct ElementOf {
  using Type = T;
  static constexpr bool kList = false;
};
template <class T>
struct ElementOf<std::vector<T>> {
  using Type = T;
  static constexpr bool kList = true;
};
}  // namespace detail

// The path of the first one ("data.sampels"); nullopt: all are known. What has another type than it should is passed.
template <protocol::Message T>
[[nodiscard]] std::optional<std::string> unknownField(const nlohmann::json& in, const std::string& path = {}) {
  if (!in.is_object()) return std::nullopt;
  T message;
  for (const auto& member : in.items()) {
    const std::string& key = member.key();
    const nlohmann::json& value = member.value();
    const std::string here = path.empty() ? key : path + "." + key;
    bool known = false;
    std::optional<std::string> below;
    protocol::visitFields(message, [&](std::string_view name, auto& field) {
      if (name != key) return;
      known = true;
      using Element = detail::ElementOf<std::remove_cvref_t<decltype(field)>>;
      if constexpr (protocol::Message<typename Element::Type>) {
        if constexpr (!Element::kList) below = unknownField<typename Element::Type>(value, here);
        for (size_t i = 0; Element::kList && value.is_array() && i < value.size() && !below; ++i)
          below = unknownField<typename Element::Type>(value[i], here + "[" + std::to_string(i) + "]");
      }
    });
    if (!known) return here;
    if (below) return below;
  }
  return std::nullopt;
}

}  // namespace normlens::lab
