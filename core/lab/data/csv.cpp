#include "core/lab/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "core/base/plural.h"

namespace normlens::lab {
namespace {

using Cells = std::vector<std::string>;

std::string quoted(const std::string& text) { return "\"" + text.substr(0, 60) + "\""; }
std::string inLine(size_t line) { return " in line " + std::to_string(line); }
tl::unexpected<Error> wrong(std::string what) { return fail(ErrorCode::BadInput, std::move(what)); }

char separatorOf(std::string_view head) {
  char best = ',';
  for (const char candidate : {',', ';', '\t'}) {
    if (std::ranges::count(head, candidate) > std::ranges::count(head, best)) best = candidate;
  }
  return best;
}

std::string trimmed(std::string_view cell) {
  const auto first = cell.find_first_not_of(" \r");
  if (first == std::string_view::npos) return {};
  return std::string(cell.substr(first, cell.find_last_not_of(" \r") - first + 1));
}

// nullopt: a quote is not closed.
std::optional<Cells> cellsOf(std::string_view line, char separator) {
  Cells cells(1);
  bool inQuotes = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && inQuotes && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (c == '"') {
      inQuotes = !inQuotes;
    } else if (c == separator && !inQuotes) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  if (inQuotes) return std::nullopt;
  for (std::string& cell : cells) cell = trimmed(cell);
  return cells;
}

std::optional<double> numberOf(const std::string& cell) {
  const char* begin = cell.data() + (cell.starts_with('+') ? 1 : 0);
  double value = 0;
  const auto [end, error] = std::from_chars(begin, cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  return value;
}

class Reader {
 public:
  explicit Reader(const std::string& target) : target_(target) {}

  Status line(std::string_view text, size_t number) {
    if (separator_ == 0) separator_ = separatorOf(text);
    const auto cells = cellsOf(text, separator_);
    if (!cells) return wrong("has a quote" + inLine(number) + " that is not closed");
    if (head_.empty()) return readHead(*cells);
    if (cells->size() != head_.size()) {
      return wrong("has " + plural(cells->size(), "cell") + inLine(number) + ", and its first line names " +
                   plural(head_.size(), "column"));
    }
    return row(*cells, number);
  }

  Result<Rows> finish() {
    if (head_.empty()) return wrong("is empty");
    if (labels_.empty()) return wrong("has a first line and no rows below it");
    std::map<std::string, int64_t> classes;
    for (const std::string& label : labels_) classes.emplace(label, 0);
    const std::string column = quoted(head_[class_]);
    if (classes.size() < 2) return wrong("has one class only in column " + column + ": there is nothing to tell apart");
    if (classes.size() > 1000) {
      return wrong("has " + std::to_string(classes.size()) + " different classes in column " + column +
                   ": 1000 are the most, and a measured number is no class");
    }
    int64_t next = 0;
    for (auto& [label, index] : classes) index = next++;
    rows_.classes = static_cast<int>(classes.size());
    for (const std::string& label : labels_) rows_.all.classes.push_back(classes.at(label));
    return std::move(rows_);
  }

 private:
  Status readHead(const Cells& cells) {
    if (std::ranges::all_of(cells, [](const std::string& cell) { return numberOf(cell).has_value(); }))
      return wrong("has numbers only in its first line, which must name the columns");
    if (cells.size() < 2) return wrong("has one column: it needs numbers and a class in each row");
    const auto found = std::ranges::find(cells, target_);
    if (!target_.empty() && found == cells.end()) return wrong("has no column " + quoted(target_));
    class_ = target_.empty() ? cells.size() - 1 : static_cast<size_t>(found - cells.begin());
    head_ = cells;
    rows_.features = static_cast<int>(cells.size()) - 1;
    return {};
  }

  Status row(const Cells& cells, size_t line) {
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i == class_) {
        if (cells[i].empty()) return wrong("has no class" + inLine(line) + ", column " + quoted(head_[i]));
        labels_.push_back(cells[i]);
        continue;
      }
      const auto number = numberOf(cells[i]);
      const std::string place = inLine(line) + ", column " + quoted(head_[i]) + ": " + quoted(cells[i]);
      if (!number) return wrong("has no number" + place);
      if (!std::isfinite(*number)) return wrong("has a number that is not finite" + place);
      rows_.all.inputs.push_back(*number);
    }
    return {};
  }

  const std::string& target_;
  char separator_ = 0;
  Cells head_;
  size_t class_ = 0;
  Rows rows_;
  std::vector<std::string> labels_;
};

}  // namespace

Result<Rows> readCsv(const std::string& text, const std::string& target) {
  std::string_view rest = text;
  if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
  if (rest.find('\0') != std::string_view::npos) return wrong("is no text");
  Reader reader(target);
  for (size_t number = 1; !rest.empty(); ++number) {
    const auto end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (trimmed(line).empty()) continue;
    if (const Status read = reader.line(line, number); !read) return tl::unexpected(read.error());
  }
  return reader.finish();
}

}  // namespace normlens::lab
