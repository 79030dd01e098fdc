#include "core/formats/onnx/lower/scopes.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

namespace normlens::formats::onnx {
namespace {

constexpr size_t kMaxParts = 64;
constexpr std::string_view kScopesKey = "pkg.torch.onnx.name_scopes";

std::optional<std::string_view> metadata(const NodeProto& node, std::string_view key) {
  for (const auto& entry : node.metadata_props()) {
    if (entry.key() == key) return entry.value();
  }
  return std::nullopt;
}

std::vector<std::string> splitAt(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (start <= text.size()) {
    const size_t end = std::min(text.find_first_of(separators, start), text.size());
    if (end > start) parts.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

// A Python list of strings, as dynamo writes it: "['', 'encoder', 'encoder.ln']".
std::vector<std::string> pythonStrings(std::string_view text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size(); ++at) {
    const char quote = text[at];
    if (quote != '\'' && quote != '"') continue;
    const size_t end = text.find(quote, at + 1);
    if (end == std::string_view::npos) break;
    out.emplace_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return out;
}

std::string lastPart(const std::string& path) {
  return path.substr(path.rfind('.') == std::string::npos ? 0 : path.rfind('.') + 1);
}

// Every entry but the last is a module's full path; the last is the operation. classes: one for each entry.
std::vector<ScopePart> fromDynamo(const std::vector<std::string>& paths, const std::vector<std::string>& classes) {
  std::vector<ScopePart> parts;
  std::string above;
  for (size_t i = 0; i + 1 < paths.size(); ++i) {
    const std::string& path = paths[i];
    if (path.empty() || path == above) continue;
    const bool below = above.empty() || path.starts_with(above + ".");
    for (const std::string& name :
         splitAt(below && !above.empty() ? std::string_view(path).substr(above.size() + 1) : path, "."))
      parts.push_back({name, {}});
    if (!parts.empty() && i < classes.size()) parts.back().type = lastPart(classes[i]);
    above = path;
  }
  return parts;
}

std::vector<ScopePart> scopeParts(const NodeProto& node) {
  std::vector<ScopePart> parts;
  if (const auto scopes = metadata(node, kScopesKey)) {
    const auto classes = metadata(node, "pkg.torch.onnx.class_hierarchy");
    parts = fromDynamo(pythonStrings(*scopes), pythonStrings(classes.value_or("")));
  } else {
    const size_t end = node.name().rfind('/');
    if (end == std::string::npos) return parts;
    for (std::string& name : splitAt(std::string_view(node.name()).substr(0, end), "/."))
      parts.push_back({std::move(name), {}});
  }
  if (parts.size() > kMaxParts) parts.resize(kMaxParts);
  return parts;
}

}  // namespace

graph::ScopeId ScopeReader::child(graph::ScopeId parent, const ScopePart& part, graph::Graph& graph) {
  const auto [at, added] = known_.try_emplace(std::to_string(parent) + "\n" + part.name, graph::kNone);
  if (added) at->second = graph.addScope(parent, part.name, part.type);
  auto& scope = graph.scopes[static_cast<size_t>(at->second)];
  if (scope.type.empty()) scope.type = part.type;
  return at->second;
}

std::optional<graph::ScopeId> ScopeReader::scopeOf(const NodeProto& node, graph::ScopeId around, graph::Graph& graph) {
  // Neighbors mostly lie in one scope: what is written is looked up before it is taken apart.
  std::string written = std::to_string(around) + "\n";
  if (const auto scopes = metadata(node, kScopesKey)) {
    written += *scopes;
  } else {
    const size_t end = node.name().rfind('/');
    if (end == std::string::npos) return std::nullopt;
    written.append(node.name(), 0, end);
  }
  const auto [at, added] = byNode_.try_emplace(std::move(written), around);
  if (!added) return at->second;
  graph::ScopeId scope = around;
  const auto parts = scopeParts(node);
  // Some exporters begin the names inside a function with the name of its call.
  const bool repeats = around != 0 && !parts.empty() && parts.front().name == graph.scope(around).name;
  for (const ScopePart& part : std::span(parts).subspan(repeats ? 1 : 0)) scope = child(scope, part, graph);
  at->second = scope;
  return scope;
}

namespace {

int depthOf(const graph::Graph& graph, graph::ScopeId scope) {
  int depth = 0;
  for (; scope != graph::kNone; scope = graph.scope(scope).parent) ++depth;
  return depth;
}

// The deepest scope around both; kNone stands for "nothing yet".
graph::ScopeId around(const graph::Graph& graph, graph::ScopeId a, graph::ScopeId b) {
  if (a == graph::kNone) return b;
  if (b == graph::kNone) return a;
  int depthA = depthOf(graph, a), depthB = depthOf(graph, b);
  for (; depthA > depthB; --depthA) a = graph.scope(a).parent;
  for (; depthB > depthA; --depthB) b = graph.scope(b).parent;
  while (a != b) {
    a = graph.scope(a).parent;
    b = graph.scope(b).parent;
  }
  return a;
}

}  // namespace

void placeUnscoped(graph::Graph& graph) {
  const auto unscoped = [](const graph::Node& node) { return node.scope == graph::kNone; };
  // Readers are behind what they read, so that theirs are known by then.
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (!unscoped(*node)) continue;
    for (const graph::ValueId output : node->outputs) {
      for (const graph::Use& use : graph.value(output).uses) {
        if (use.node != graph::kNone) node->scope = around(graph, node->scope, graph.node(use.node).scope);
      }
    }
  }
  for (graph::Node& node : graph.nodes) {
    if (!unscoped(node)) continue;
    for (const graph::ValueId operand : node.operands) {
      const auto producer = operand == graph::kNoValue ? graph::kNone : graph.value(operand).producer;
      if (producer != graph::kNone) node.scope = around(graph, node.scope, graph.node(producer).scope);
    }
    if (unscoped(node)) node.scope = 0;
  }
}

}  // namespace normlens::formats::onnx
