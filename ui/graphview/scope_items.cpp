#include "ui/graphview/scope_items.h"

#include <string>
#include <string_view>
#include <utility>

namespace normlens::graphview {

ScopeItems::ScopeItems(std::shared_ptr<const layout::Hierarchy> hierarchy) : hierarchy_(std::move(hierarchy)) {
  const auto& scopes = hierarchy_->document->scopes;
  for (size_t i = 0; i < hierarchy_->items.size(); ++i) {
    const int scope = hierarchy_->items[i].scope;
    if (scope >= 0) items_.try_emplace(scopes[static_cast<size_t>(scope)].id, static_cast<int>(i));
  }
  findDissolved();
}

void ScopeItems::findDissolved() {
  std::unordered_map<std::string_view, int> firstBelow;  // by path, for scopes without an item
  const auto& scopes = hierarchy_->document->scopes;
  for (const auto& scope : scopes) {
    if (!items_.contains(scope.id)) firstBelow.emplace(scope.path, -1);
  }
  if (firstBelow.empty()) return;
  for (size_t i = 1; i < hierarchy_->items.size(); ++i) {
    const std::string path = hierarchy_->path(static_cast<int>(i));
    for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
      const auto found = firstBelow.find(std::string_view(path).substr(0, dot));
      if (found != firstBelow.end() && found->second < 0) found->second = static_cast<int>(i);
    }
  }
  for (const auto& scope : scopes) {
    const auto found = firstBelow.find(scope.path);
    if (found != firstBelow.end() && found->second >= 0) items_.try_emplace(scope.id, found->second);
  }
}

}  // namespace normlens::graphview
