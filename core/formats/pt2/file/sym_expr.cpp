#include "core/formats/pt2/file/sym_expr.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/formats/pt2/file/json.h"

namespace normlens::formats::pt2 {
namespace {

constexpr int kMostDepth = 64;
constexpr size_t kMostNodes = 4096;
constexpr size_t kMostLetters = 256;  // Limits a name or a number.

class SreprReader {
 public:
  explicit SreprReader(std::string_view text) : text_(text) {}

  SymExpr whole() {
    SymExpr made = expression(0);
    if (at_ != text_.size()) broken();
    return made;
  }

 private:
  [[noreturn]] void broken() const {
    throw BrokenDocument("the size '" + std::string(text_.substr(0, 60)) + "' is no expression that can be read");
  }
  bool takes(char c) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::string_view word() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' ||
                                  text_[at_] == '.' || text_[at_] == '-'))
      ++at_;
    if (at_ - start > kMostLetters) broken();
    return text_.substr(start, at_ - start);
  }
  std::string quoted() {
    const char quote = text_[at_++];
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos || end - at_ > kMostLetters) broken();
    std::string made(text_.substr(at_, end - at_));
    at_ = end + 1;
    return made;
  }
  [[nodiscard]] bool startsQuoted() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"');
  }

  SymExpr expression(int depth) {
    if (depth > kMostDepth || ++nodes_ > kMostNodes) broken();
    const std::string_view name = word();
    if (name.empty()) broken();
    if (!takes('(')) return leaf(name);
    SymExpr made{SymExpr::Kind::Call, 0, std::string(name.substr(name.rfind('.') + 1)), {}};
    std::string text;
    if (!takes(')')) {
      do argument(made, text, depth);
      while (takes(','));
      if (!takes(')')) broken();
    }
    if (made.name == "Symbol" || made.name == "Dummy") return {SymExpr::Kind::Symbol, 0, text, {}};
    if (made.name == "Integer" && made.args.size() == 1) return made.args[0];
    return made;
  }

  // A bare number, or a name such as true, oo.
  static SymExpr leaf(std::string_view name) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
    if (error == std::errc() && end == name.data() + name.size()) return {SymExpr::Kind::Integer, value, {}, {}};
    return {SymExpr::Kind::Call, 0, std::string(name), {}};
  }

  // A text, an expression, or an assumption such as positive=True, which is passed over.
  void argument(SymExpr& of, std::string& text, int depth) {
    if (startsQuoted()) {
      text = quoted();
      return;
    }
    const size_t start = at_;
    static_cast<void>(word());
    if (takes('=')) {
      if (startsQuoted()) {
        static_cast<void>(quoted());
      } else if (word().empty()) {
        broken();
      }
      return;
    }
    at_ = start;
    of.args.push_back(expression(depth + 1));
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t nodes_ = 0;
};

using Value = std::optional<int64_t>;

Value floorOf(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
  const int64_t whole = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? whole - 1 : whole;
}

Value combined(const std::string& name, int64_t a, int64_t b) {
  int64_t out = 0;
  if (name == "Add") return __builtin_add_overflow(a, b, &out) ? Value() : out;
  if (name == "Mul") return __builtin_mul_overflow(a, b, &out) ? Value() : out;
  if (name == "Max") return std::max(a, b);
  if (name == "Min") return std::min(a, b);
  if (name == "FloorDiv" || name == "CleanDiv" || name == "IntTrueDiv") {
    const Value whole = floorOf(a, b);
    return name != "FloorDiv" && whole && *whole * b != a ? Value() : whole;
  }
  if (name == "Mod" || name == "PythonMod") {
    const Value whole = floorOf(a, b);
    return whole ? Value(a - *whole * b) : Value();
  }
  if (name == "CeilDiv") {
    const Value whole = floorOf(a, b);
    return whole ? Value(*whole + (*whole * b != a ? 1 : 0)) : Value();
  }
  if (name == "GreaterThan") return a >= b;
  if (name == "LessThan") return a <= b;
  if (name == "StrictGreaterThan") return a > b;
  if (name == "StrictLessThan") return a < b;
  if (name == "Equality") return a == b;
  if (name == "Unequality") return a != b;
  if (name == "And") return a != 0 && b != 0;
  if (name == "Or") return a != 0 || b != 0;
  if ((name == "Pow" || name == "PowByNatural") && b >= 0 && b <= 64) {
    out = 1;
    for (int64_t i = 0; i < b; ++i) {
      if (__builtin_mul_overflow(out, a, &out)) return std::nullopt;
    }
    return out;
  }
  return std::nullopt;
}

}  // namespace

Result<SymExpr> parseSymExpr(std::string_view srepr) {
  try {
    return SreprReader(srepr).whole();
  } catch (const BrokenDocument& error) {
    return fail(ErrorCode::Unreadable, error.what());
  }
}

std::optional<int64_t> valueOf(const SymExpr& expr, const SymValues& symbols) {
  if (expr.kind == SymExpr::Kind::Integer) return expr.value;
  if (expr.kind == SymExpr::Kind::Symbol) {
    const auto found = symbols.find(expr.name);
    return found == symbols.end() ? std::nullopt : std::optional(found->second);
  }
  if (expr.args.empty()) return std::nullopt;
  Value out = valueOf(expr.args[0], symbols);
  for (size_t i = 1; i < expr.args.size() && out; ++i) {
    const Value next = valueOf(expr.args[i], symbols);
    out = next ? combined(expr.name, *out, *next) : std::nullopt;
  }
  return expr.args.size() == 1 ? std::nullopt : out;
}

bool solveFor(const SymExpr& expr, int64_t wanted, SymValues& known) {
  if (expr.kind == SymExpr::Kind::Symbol) return known.try_emplace(expr.name, wanted).second;
  if (expr.kind != SymExpr::Kind::Call || (expr.name != "Add" && expr.name != "Mul")) return false;
  const SymExpr* open = nullptr;
  int64_t rest = expr.name == "Add" ? 0 : 1;
  for (const SymExpr& arg : expr.args) {
    const Value value = valueOf(arg, known);
    if (!value) {
      if (open != nullptr) return false;
      open = &arg;
      continue;
    }
    const Value next = combined(expr.name, rest, *value);
    if (!next) return false;
    rest = *next;
  }
  if (open == nullptr) return false;
  int64_t inner = 0;
  if (expr.name == "Add") {
    if (__builtin_sub_overflow(wanted, rest, &inner)) return false;
  } else {
    if (rest == 0 || (rest == -1 && wanted == INT64_MIN) || wanted % rest != 0) return false;
    inner = wanted / rest;
  }
  return solveFor(*open, inner, known);
}

std::string textOf(const SymExpr& expr) {
  if (expr.kind == SymExpr::Kind::Integer) return std::to_string(expr.value);
  if (expr.kind == SymExpr::Kind::Symbol || expr.args.empty()) return expr.name;
  const bool sum = expr.name == "Add", product = expr.name == "Mul";
  std::string out = sum || product ? "" : expr.name + "(";
  for (size_t i = 0; i < expr.args.size(); ++i) {
    const SymExpr& arg = expr.args[i];
    const std::string text = textOf(arg);
    const bool wrapped = product && arg.kind == SymExpr::Kind::Call && arg.name == "Add";
    out += (i == 0 ? "" : sum ? " + " : product ? "*" : ", ") + (wrapped ? "(" + text + ")" : text);
  }
  return sum || product ? out : out + ")";
}

}  // namespace normlens::formats::pt2
