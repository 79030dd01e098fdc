#include "tests/support/graph_text.h"

#include <cctype>
#include <charconv>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>

namespace normlens::graph {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Graph> run() {
    try {
      expectWord("graph");
      expect('{');
      while (peekWord("input")) input();
      while (peekWord("const")) constant();
      body(0);
      expect('}');
    } catch (const std::runtime_error& error) {
      return fail(ErrorCode::Usage, "graph text, line " + std::to_string(line_) + ": " + error.what());
    }
    if (auto status = checkGraph(graph_); !status) return tl::unexpected(status.error());
    return std::move(graph_);
  }

 private:
  [[noreturn]] static void bad(const std::string& message) { throw std::runtime_error(message); }

  void skipSpace() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        if (text_[at_] == '\n') ++line_;
        ++at_;
      } else {
        return;
      }
    }
  }
  bool accept(char c) {
    skipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) bad(std::string("expected '") + c + "'");
  }
  static bool wordChar(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' || c == ':' ||
           c == '-' || c == '+';
  }
  std::string word() {
    skipSpace();
    const size_t begin = at_;
    while (at_ < text_.size() && wordChar(text_[at_])) ++at_;
    if (begin == at_) bad("expected a word");
    // A name is followed by ": type"; the colon is not part of it.
    while (at_ > begin && text_[at_ - 1] == ':') --at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  bool peekWord(std::string_view expected) {
    skipSpace();
    return text_.substr(at_).starts_with(expected) &&
           (at_ + expected.size() >= text_.size() || !wordChar(text_[at_ + expected.size()]));
  }
  bool acceptWord(std::string_view expected) {
    if (!peekWord(expected)) return false;
    at_ += expected.size();
    return true;
  }
  void expectWord(std::string_view expected) {
    if (!acceptWord(expected)) bad("expected '" + std::string(expected) + "'");
  }
  std::string string() {
    expect('"');
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') ++at_;
      if (at_ < text_.size()) out += text_[at_++];
    }
    expect('"');
    return out;
  }
  static double real(const std::string& token) {
    double value = 0;
    const auto result = std::from_chars(token.data(), token.data() + token.size(), value);
    if (result.ec != std::errc{} || result.ptr != token.data() + token.size())
      bad("expected a number, not '" + token + "'");
    return value;
  }
  int64_t integer() { return static_cast<int64_t>(real(word())); }

  std::vector<int64_t> integers() {
    std::vector<int64_t> items;
    while (!accept(']')) {
      items.push_back(integer());
      accept(',');
    }
    return items;
  }
  void declared(Value& value) {
    if (!acceptWord("declared")) return;
    expect('[');
    value.declared = integers();
  }
  void type(Value& value) {
    expect(':');
    if (accept('?')) return;
    const std::string name = word();
    value.dtype = dtypeFromName(name);
    if (value.dtype == DType::Unknown) bad("no element type '" + name + "'");
    if (accept('[')) value.shape = integers();
  }
  Value typedName() {
    expect('%');
    Value value;
    value.name = word();
    if (names_.contains(value.name)) bad("%" + value.name + " is made twice");
    type(value);
    return value;
  }
  void input() {
    expectWord("input");
    Value value = typedName();
    declared(value);
    const std::string name = value.name;
    names_[name] = graph_.addParam(0, std::move(value));
  }
  std::vector<double> reals() {
    expect('<');
    std::vector<double> numbers;
    while (!accept('>')) {
      numbers.push_back(real(word()));
      accept(',');
    }
    return numbers;
  }
  void constant() {
    expectWord("const");
    Value value = typedName();
    if (!value.shape) bad("a constant needs a shape");
    Constant item;
    item.name = value.name;
    if (acceptWord("random")) {
      item.view = randomTensor(*value.shape, static_cast<uint64_t>(integer()));
      if (value.dtype != DType::Float32)
        item.view = tensorFromDoubles(*value.shape, *toDoubles(item.view), value.dtype);
    } else {
      expectWord("values");
      const auto numbers = reals();
      if (static_cast<int64_t>(numbers.size()) != elementCount(*value.shape)) bad("wrong number of elements");
      item.view = tensorFromDoubles(*value.shape, numbers, value.dtype);
    }
    if (acceptWord("volatile")) item.volatileReason = string();
    declared(value);
    const ValueId made = graph_.addConstant(std::move(item));
    graph_.values[static_cast<size_t>(made)].declared = std::move(value.declared);
    names_[value.name] = made;
  }
  ValueId operand() {
    if (acceptWord("_")) return kNoValue;
    if (accept('%')) {
      const std::string name = word();
      const auto found = names_.find(name);
      if (found == names_.end()) bad("%" + name + " is not made before this line");
      return found->second;
    }
    return graph_.addLiteral(real(word()));
  }
  Attribute attribute() {
    skipSpace();
    if (at_ < text_.size() && text_[at_] == '"') return string();
    if (at_ < text_.size() && text_[at_] == '<') return reals();
    if (acceptWord("true")) return true;
    if (acceptWord("false")) return false;
    if (accept('[')) return integers();
    const std::string token = word();
    if (token.find_first_of(".en") == std::string::npos) return static_cast<int64_t>(real(token));
    return real(token);
  }
  Function function() {
    const std::string name = word();
    for (int i = 0; i < static_cast<int>(Function::Count_); ++i) {
      if (functionName(static_cast<Function>(i)) == name) return static_cast<Function>(i);
    }
    bad("no function '" + name + "'");
  }
  ScopeId scopeOf(const std::string& path) {
    ScopeId parent = 0;
    std::istringstream parts(path);
    for (std::string part; std::getline(parts, part, '.');) {
      const std::string& above = graph_.scope(parent).path;
      const std::string full = above.empty() ? part : std::string(above).append(".").append(part);
      const auto [found, added] = scopes_.try_emplace(full, 0);
      if (added) found->second = graph_.addScope(parent, part, "");
      parent = found->second;
    }
    return parent;
  }
  void body(BlockId block) {
    while (!acceptWord("return")) statement(block);
    skipSpace();
    while (at_ < text_.size() && text_[at_] != '}') {
      graph_.addReturn(block, operand());
      accept(',');
      skipSpace();
    }
  }
  void statement(BlockId block) {
    std::vector<Value> outputs;
    do {
      outputs.push_back(typedName());
    } while (accept(','));
    expect('=');
    Node node;
    node.block = block;
    const std::string kind = word();
    while (node.kind < OpKind::Count_ && opKindName(node.kind) != kind)
      node.kind = static_cast<OpKind>(static_cast<int>(node.kind) + 1);
    if (node.kind == OpKind::Count_) bad("no op kind '" + kind + "'");
    expect('(');
    while (!accept(')')) {
      node.operands.push_back(operand());
      accept(',');
    }
    if (accept('{')) {
      while (!accept('}')) {
        std::string key = word();
        expect('=');
        Attribute value = attribute();
        node.attributes.emplace_back(std::move(key), std::move(value));
        accept(',');
      }
    }
    if (acceptWord("function")) node.function = function();
    if (acceptWord("op")) node.op = string();
    if (acceptWord("name")) node.name = string();
    if (acceptWord("scope")) node.scope = scopeOf(string());
    node.helper = acceptWord("helper");
    std::vector<std::string> made;
    made.reserve(outputs.size());
    for (const Value& value : outputs) made.push_back(value.name);
    const NodeId id = graph_.addNode(std::move(node), std::move(outputs));
    while (acceptWord("block")) nested(id);
    for (size_t i = 0; i < made.size(); ++i) names_[made[i]] = graph_.node(id).outputs[i];
  }
  void nested(NodeId owner) {
    const BlockId block = graph_.addBlock(owner);
    expect('(');
    while (!accept(')')) {
      Value param = typedName();
      const std::string name = param.name;
      names_[name] = graph_.addParam(block, std::move(param));
      accept(',');
    }
    expect('{');
    body(block);
    expect('}');
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  Graph graph_;
  std::map<std::string, ValueId, std::less<>> names_;
  std::map<std::string, ScopeId, std::less<>> scopes_;
};

}  // namespace

Result<Graph> parseGraph(std::string_view text) { return Parser(text).run(); }

Graph parsed(const std::string& text) {
  auto graph = parseGraph(text);
  if (!graph) throw std::logic_error(graph.error().message + "\n" + text);
  return std::move(*graph);
}

TensorView randomTensor(const Shape& shape, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<double> numbers(static_cast<size_t>(elementCount(shape).value_or(0)));
  for (double& item : numbers) item = normal(engine);
  return tensorFromDoubles(shape, numbers);
}

}  // namespace normlens::graph
