#include "core/graph/text.h"

#include <array>
#include <charconv>
#include <sstream>

namespace normlens::graph {
namespace {

constexpr int64_t kWrittenInFull = 64;

std::string number(double value) {
  std::array<char, 32> buffer{};
  char* const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

template <class Items, class Print>
std::string joined(const Items& items, Print print) {
  std::string out;
  for (const auto& item : items) {
    if (!out.empty()) out += ", ";
    out += print(item);
  }
  return out;
}

std::string sizesText(const std::vector<int64_t>& sizes) {
  return "[" + joined(sizes, [](int64_t size) { return std::to_string(size); }) + "]";
}

std::string typeText(const Value& value) {
  if (!value.shape) return value.dtype == DType::Unknown ? "?" : std::string(dtypeName(value.dtype));
  return std::string(dtypeName(value.dtype)) + sizesText(*value.shape);
}

std::string declaredText(const Value& value) {
  return value.declared ? " declared " + sizesText(*value.declared) : std::string();
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + '"';
}

std::string attributeText(const Attribute& attribute) {
  struct Visitor {
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const {
      const std::string text = number(value);
      return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
    }
    std::string operator()(const std::string& value) const { return quoted(value); }
    std::string operator()(const std::vector<int64_t>& value) const { return sizesText(value); }
    std::string operator()(const std::vector<double>& value) const { return "<" + joined(value, number) + ">"; }
  };
  return std::visit(Visitor{}, attribute);
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph) {}

  std::string run() {
    out_ << "graph {\n";
    for (const ValueId id : graph_.inputs()) {
      const Value& input = graph_.value(id);
      out_ << "  input %" << input.name << ": " << typeText(input) << declaredText(input) << "\n";
    }
    for (const Value& value : graph_.values) {
      if (value.constant != kNone) constant(value);
    }
    body(0, 1);
    out_ << "}\n";
    return out_.str();
  }

 private:
  void constant(const Value& value) {
    const Constant& item = graph_.constant(value.constant);
    out_ << "  const %" << value.name << ": " << typeText(value);
    const auto count = elementCount(item.view.shape);
    const auto numbers = count && *count <= kWrittenInFull ? toDoubles(item.view) : std::nullopt;
    if (numbers) {
      out_ << " values <" << joined(*numbers, number) << ">";
    } else {
      out_ << " random " << value.constant;
    }
    if (!item.volatileReason.empty()) out_ << " volatile " << quoted(item.volatileReason);
    out_ << declaredText(value) << "\n";
  }

  std::string operand(ValueId id) const {
    if (id == kNoValue) return "_";
    const Value& value = graph_.value(id);
    return value.literal ? number(*value.literal) : "%" + value.name;
  }

  void body(BlockId id, int depth) {
    const std::string indent(static_cast<size_t>(depth) * 2, ' ');
    for (const NodeId nodeId : graph_.block(id).nodes) node(graph_.node(nodeId), indent, depth);
    out_ << indent << "return " << joined(graph_.block(id).returns, [this](ValueId v) { return operand(v); }) << "\n";
  }

  void node(const Node& item, const std::string& indent, int depth) {
    out_ << indent << joined(item.outputs, [this](ValueId v) {
      return "%" + graph_.value(v).name + ": " + typeText(graph_.value(v));
    });
    out_ << " = " << opKindName(item.kind) << "(" << joined(item.operands, [this](ValueId v) { return operand(v); })
         << ")";
    if (!item.attributes.empty()) {
      out_ << " {" << joined(item.attributes, [](const auto& a) { return a.first + " = " + attributeText(a.second); })
           << "}";
    }
    if (item.function != Function::Other) out_ << " function " << functionName(item.function);
    if (!item.op.empty()) out_ << " op " << quoted(item.op);
    if (!item.name.empty()) out_ << " name " << quoted(item.name);
    if (item.scope != 0) out_ << " scope " << quoted(graph_.scope(item.scope).path);
    if (item.helper) out_ << " helper";
    out_ << "\n";
    for (const BlockId inner : item.blocks) {
      out_ << indent << "block (" << joined(graph_.block(inner).params, [this](ValueId v) {
        return "%" + graph_.value(v).name + ": " + typeText(graph_.value(v));
      }) << ") {\n";
      body(inner, depth + 1);
      out_ << indent << "}\n";
    }
  }

  const Graph& graph_;
  std::ostringstream out_;
};

}  // namespace

std::string printGraph(const Graph& graph) { return Printer(graph).run(); }

}  // namespace normlens::graph
