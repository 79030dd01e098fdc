// Where each scope is in a hierarchy: its first item, or the first block of a container that was dissolved.
//
// Made once per hierarchy: a comparison asks for every scope whenever a group is opened.
#pragma once

#include <memory>
#include <unordered_map>

#include "ui/layout/hierarchy.h"

namespace normlens::graphview {

class ScopeItems {
 public:
  ScopeItems() = default;
  explicit ScopeItems(std::shared_ptr<const layout::Hierarchy> hierarchy);

  [[nodiscard]] const std::shared_ptr<const layout::Hierarchy>& hierarchy() const { return hierarchy_; }
  [[nodiscard]] int item(int scope) const {  // -1: nothing of it is shown
    const auto found = items_.find(scope);
    return found == items_.end() ? -1 : found->second;
  }

 private:
  void findDissolved();

  std::shared_ptr<const layout::Hierarchy> hierarchy_;
  std::unordered_map<int, int> items_;  // by scope id
};

}  // namespace normlens::graphview
