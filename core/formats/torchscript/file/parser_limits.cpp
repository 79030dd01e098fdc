#include "core/formats/torchscript/file/parser_limits.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace normlens::formats::torchscript {
namespace {

constexpr int kMostOperators = 500, kMostBlocks = 300;

bool isWordLetter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

template <size_t n>
bool isOneOf(std::string_view word, const std::array<std::string_view, n>& words) {
  return std::ranges::find(words, word) != words.end();
}

// Counts how deep the parser is in the current statement: the operators of the current element of each open bracket.
class Operators {
 public:
  void count() { ++counts_.back(), ++all_; }
  void open() { count(), counts_.push_back(0); }
  void close() {
    if (counts_.size() == 1) return;
    nextElement();
    counts_.pop_back();
  }
  void nextElement() { all_ -= counts_.back(), counts_.back() = 0; }
  void nextStatement() { nextElement(); }
  [[nodiscard]] bool insideBrackets() const { return counts_.size() > 1; }
  [[nodiscard]] bool tooMany() const { return all_ > kMostOperators; }

 private:
  std::vector<int> counts_ = {0};
  int all_ = 0;
};

// The blocks that a line lies in; each elif lies in the one before it.
class Blocks {
 public:
  void nextLine(size_t indent, std::string_view firstWord) {
    while (!open_.empty() && open_.back().indent > indent) close();
    if (open_.empty() || open_.back().indent < indent) open_.push_back({indent, 0});
    if (firstWord == "elif") ++open_.back().elifs, ++elifs_;
    if (firstWord != "elif" && firstWord != "else") elifs_ -= open_.back().elifs, open_.back().elifs = 0;
  }
  [[nodiscard]] bool tooMany() const { return open_.size() + elifs_ > kMostBlocks; }

 private:
  struct Block {
    size_t indent, elifs;
  };
  void close() {
    elifs_ -= open_.back().elifs;
    open_.pop_back();
  }
  std::vector<Block> open_;
  size_t elifs_ = 0;
};

// Words and strings end where LibTorch's lexer ends them: nothing is hidden from the count.
class Reader {
 public:
  explicit Reader(std::string_view code) : code_(code) {}

  const char* run() {
    while (at_ < code_.size()) {
      if (lineStarts_) startLine();
      if (at_ >= code_.size()) break;
      step();
      if (operators_.tooMany() || blocks_.tooMany()) return "nested too deep to be a model's";
      if (emptySubscript_) return "broken: it has an empty subscript";
    }
    return nullptr;
  }

 private:
  [[nodiscard]] std::string_view wordAt(size_t at) const {
    const auto* end = std::find_if_not(code_.begin() + at, code_.end(), isWordLetter);
    return code_.substr(at, static_cast<size_t>(end - code_.begin()) - at);
  }
  void startLine() {
    const size_t from = at_;
    while (at_ < code_.size() && (code_[at_] == ' ' || code_[at_] == '\t')) ++at_;
    if (at_ < code_.size() && code_[at_] != '\n' && code_[at_] != '#') blocks_.nextLine(at_ - from, wordAt(at_));
    lineStarts_ = false;
  }
  // The string that starts here; 0: none does. One quote ends with its line, three do not.
  [[nodiscard]] size_t stringLength() const {
    const std::string_view rest = code_.substr(at_);
    const size_t quotes = rest.starts_with(R"(""")") || rest.starts_with("'''") ? 3 : 1;
    const std::string_view mark = rest.substr(0, quotes);
    for (size_t i = quotes; i < rest.size(); ++i) {
      if (rest.substr(i).starts_with(mark)) return i + quotes;
      if (quotes == 1 && rest[i] == '\n') return 0;
      if (rest[i] == '\\') ++i;
    }
    return 0;
  }

  void step() {
    const char c = code_[at_];
    const size_t string = c == '\'' || c == '"' ? stringLength() : 0;
    if (string > 0) {
      at_ += string;
      operand_ = true;
    } else if (isWordLetter(c)) {
      word(wordAt(at_));
    } else if (c == '#' && !code_.substr(at_).starts_with("# type:")) {
      at_ = std::min(code_.find('\n', at_), code_.size());
    } else if (code_.substr(at_).starts_with("\\\n")) {
      at_ += 2;  // the statement goes on in the next line
      lineStarts_ = true;
    } else {
      ++at_;
      sign(c);
    }
  }

  void word(std::string_view text) {
    constexpr std::array<std::string_view, 9> kOperators = {"not", "and", "or",     "if", "else",
                                                            "in",  "is",  "lambda", "for"};
    constexpr std::array<std::string_view, 6> kOthers = {"return", "assert", "raise", "while", "elif", "with"};
    const bool isOperator = isOneOf(text, kOperators);
    if (isOperator) operators_.count();
    operand_ = !isOperator && !isOneOf(text, kOthers) && text != "Tuple";  // Tuple[] is a type
    at_ += text.size();
  }

  void sign(char c) {
    if (c == ' ' || c == '\t' || c == '\r') return;
    if (c == '\n') {
      if (operators_.insideBrackets()) return;
      operators_.nextStatement();
      lineStarts_ = true;
      operand_ = false;
      return;
    }
    if (c == '[' && operand_) {
      const size_t next = code_.find_first_not_of(" \t\r\n", at_);
      emptySubscript_ = next != std::string_view::npos && code_[next] == ']';
    }
    const bool closes = c == ')' || c == ']' || c == '}';
    if (c == '(' || c == '[' || c == '{') {
      operators_.open();
    } else if (closes) {
      operators_.close();
    } else if (c == ',') {
      operators_.nextElement();
    } else {
      operators_.count();
    }
    operand_ = closes;
  }

  std::string_view code_;
  size_t at_ = 0;
  bool lineStarts_ = true;
  bool operand_ = false;  // what a subscript may follow
  bool emptySubscript_ = false;
  Operators operators_;
  Blocks blocks_;
};

}  // namespace

const char* beyondLibTorchsParser(std::string_view code) { return Reader(code).run(); }

}  // namespace normlens::formats::torchscript
