#include <string>
#include <unordered_map>

#include "core/formats/torchscript/lower/op_rule.h"

namespace normlens::formats::torchscript {
namespace {

using Table = std::unordered_map<std::string_view, const OpRule*>;

Table joinRules() {
  Table table;
  for (const auto* family :
       {&linearRules(), &indexRules(), &shapeRules(), &cutRules(), &pointwiseRules(), &normRules()}) {
    for (const OpRule& rule : *family) table.emplace(rule.name, &rule);
  }
  return table;
}

}  // namespace

const OpRule* findOpRule(std::string_view name) {
  static const Table kTable = joinRules();
  const auto look = [](std::string_view wanted) -> const OpRule* {
    const auto found = kTable.find(wanted);
    return found == kTable.end() ? nullptr : found->second;
  };
  if (const OpRule* rule = look(name)) return rule;
  // In-place variants compute the same; what they mean for aliases is settled by program.cpp.
  if (name.ends_with('_') && !name.ends_with("__")) return look(name.substr(0, name.size() - 1));
  return nullptr;
}

}  // namespace normlens::formats::torchscript
