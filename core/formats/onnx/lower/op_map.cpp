#include <unordered_map>

#include "core/formats/onnx/lower/op_rule.h"
#include "core/formats/onnx/source/operators.h"

namespace normlens::formats::onnx {
namespace {

struct Tables {
  std::unordered_map<std::string_view, const OpRule*> standard, runtime;
};

Tables joinRules() {
  Tables tables;
  for (const auto* family :
       {&linearRules(), &indexRules(), &shapeRules(), &pointwiseRules(), &normRules(), &fusedRules()}) {
    for (const OpRule& rule : *family) {
      if (rule.domain != Domain::Runtime) tables.standard.emplace(rule.name, &rule);
      if (rule.domain != Domain::Standard) tables.runtime.emplace(rule.name, &rule);
    }
  }
  return tables;
}

}  // namespace

const OpRule* findOpRule(const std::string& domain, const std::string& name) {
  static const Tables kTables = joinRules();
  if (!isStandardDomain(domain) && domain != "com.microsoft") return nullptr;
  const auto& table = isStandardDomain(domain) ? kTables.standard : kTables.runtime;
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace normlens::formats::onnx
