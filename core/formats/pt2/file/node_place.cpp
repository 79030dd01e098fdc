#include "core/formats/pt2/file/node_place.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace normlens::formats::pt2 {
namespace {

constexpr size_t kLongestPath = 1024;
constexpr std::ptrdiff_t kMostModules = 64;

const std::string* metadata(const Json& node, std::string_view name) {
  const Json* all = node.find("metadata");
  const Json* text = all == nullptr ? nullptr : all->find(name);
  return text != nullptr && text->isString() ? &text->text() : nullptr;
}

// "a.b.0": what may be shown of a module.
bool isPath(std::string_view path) {
  if (path.empty()) return true;
  if (path.size() > kLongestPath || path.front() == '.' || path.back() == '.') return false;
  if (path.find("..") != std::string_view::npos || std::ranges::count(path, '.') >= kMostModules) return false;
  return std::ranges::all_of(path, [](unsigned char c) { return c > 0x20 && c != 0x7f; });
}

// A strict export runs the model inside a module of torch's own.
std::string withoutExportRoot(std::string_view path) {
  constexpr std::string_view kRoot = "_export_root";
  if (path == kRoot) return {};
  if (path.starts_with(kRoot) && path[kRoot.size()] == '.') path.remove_prefix(kRoot.size() + 1);
  return std::string(path);
}

}  // namespace

// "key,path,type;key,path,type"
std::vector<ModuleOnStack> moduleStack(const Json& node) {
  std::vector<ModuleOnStack> stack;
  const std::string* text = metadata(node, "nn_module_stack");
  if (text == nullptr) return stack;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    const size_t first = entry.find(','), second = entry.find(',', first == std::string_view::npos ? first : first + 1);
    if (second == std::string_view::npos) return {};
    const std::string_view path = entry.substr(first + 1, second - first - 1), type = entry.substr(second + 1);
    if (!isPath(path) || path.starts_with("_empty_nn_module_stack")) return {};
    stack.push_back({withoutExportRoot(path), std::string(type.substr(type.rfind('.') + 1))});
  }
  return stack;
}

SourceLine sourceLine(const Json& node) {
  const std::string* trace = metadata(node, "stack_trace");
  if (trace == nullptr) return {};
  constexpr std::string_view kFile = "File \"", kLine = "\", line ";
  const size_t at = trace->rfind(kFile);
  if (at == std::string::npos) return {};
  const size_t end = trace->find(kLine, at);
  if (end == std::string::npos) return {};
  SourceLine made{trace->substr(at + kFile.size(), end - at - kFile.size()), 0};
  const char* number = trace->data() + end + kLine.size();
  std::from_chars(number, trace->data() + trace->size(), made.line);
  return made.line > 0 && made.file.find('\n') == std::string::npos ? made : SourceLine{};
}

}  // namespace normlens::formats::pt2
