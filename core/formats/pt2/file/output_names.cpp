#include "core/formats/pt2/file/output_names.h"

#include <algorithm>

#include "core/base/printable.h"

namespace normlens::formats::pt2 {
namespace {

constexpr size_t kLongest = 200;

// The strings of a list; empty where it is another list, or none.
std::vector<std::string> stringsOf(const Json& list) {
  std::vector<std::string> strings;
  if (!list.isArray()) return strings;
  for (const Json& item : list.items()) {
    if (!item.isString()) return {};
    strings.push_back(item.text());
  }
  return strings;
}

// A tree as torch.utils._pytree writes it: {"type", "context", "children_spec"}, a leaf's type null.
class Tree {
 public:
  explicit Tree(const Json* namedTuples) : namedTuples_(namedTuples) {}

  void walk(const Json& spec, const std::string& path, bool isNamed) {
    if (spec.at("type").isNull()) {
      names_.push_back(isNamed && path.size() <= kLongest ? printable(path) : std::string());
      return;
    }
    const auto& children = spec.at("children_spec").items();
    const std::vector<std::string> keys = keysOf(spec, children.size());
    for (size_t i = 0; i < children.size(); ++i) {
      const std::string& key = keys.empty() ? std::to_string(i) : keys[i];
      walk(children[i], path.empty() ? key : path + "." + key, isNamed || !keys.empty());
    }
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(names_); }

 private:
  // Returns what the children are called; empty where they have numbers only. A dict's context is the list of its keys,
  // that of a dataclass the list of its fields and of those that are None; that of a named tuple its class, whose
  // fields are elsewhere. Source: torch/utils/_pytree.py, treespec_dumps and the registrations of its types.
  [[nodiscard]] std::vector<std::string> keysOf(const Json& spec, size_t count) const {
    const Json& context = spec.at("context");
    std::vector<std::string> keys;
    if (spec.at("type").text() == "collections.namedtuple") {
      const Json* fields = namedTuples_ == nullptr ? nullptr : namedTuples_->find(context.text());
      if (fields != nullptr) keys = stringsOf(fields->at("field_names"));
    } else if (const auto parsed = parseJson(context.text()); parsed && parsed->isArray()) {
      const auto& items = parsed->items();
      keys = stringsOf(!items.empty() && items[0].isArray() ? items[0] : *parsed);
    }
    const bool fit = keys.size() == count && std::ranges::find(keys, "") == keys.end();
    return fit ? keys : std::vector<std::string>();
  }

  const Json* namedTuples_;
  std::vector<std::string> names_;
};

}  // namespace

std::vector<std::string> outputNames(const Json& graphModule) {
  try {
    for (const Json& call : graphModule.at("module_call_graph").items()) {
      const Json* signature = call.find("signature");
      if (!call.at("fqn").text().empty() || signature == nullptr || signature->isNull()) continue;
      const auto spec = parseJson(signature->at("out_spec").text());
      if (!spec || spec->items().size() != 2) return {};
      Tree tree(graphModule.find("treespec_namedtuple_fields"));
      tree.walk(spec->items()[1], {}, false);
      return tree.take();
    }
  } catch (const BrokenDocument&) {
    return {};
  }
  return {};
}

}  // namespace normlens::formats::pt2
