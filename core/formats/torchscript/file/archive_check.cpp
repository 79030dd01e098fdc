#include "core/formats/torchscript/file/archive_check.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/printable.h"
#include "core/formats/archive/pickle_scan.h"
#include "core/formats/file/file_kind.h"

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
  bool operand_ = false;  // A subscript may follow.
  bool emptySubscript_ = false;
  Operators operators_;
  Blocks blocks_;
};

constexpr uint64_t kMaxPickle = uint64_t{1} << 30;    // a gigabyte of object structure
constexpr uint64_t kMaxUnpacked = uint64_t{2} << 30;  // Limits all compressed records together.
constexpr uint64_t kMaxCode = uint64_t{64} << 20;

// As LibTorch sees a letter of a record's name.
constexpr char lowerCase(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

class ArchiveChecker {
 public:
  explicit ArchiveChecker(const Archive& archive)
      : archive_(archive), path_(archive.file().path().string()), prefix_(archive.prefix()) {}

  Status run() {
    for (auto check :
         {&ArchiveChecker::namesAreLibTorchs, &ArchiveChecker::isTorchScript, &ArchiveChecker::unpacksWithinBounds}) {
      RETURN_IF_ERROR((this->*check)());
    }
    RETURN_IF_ERROR(codeIsSane());
    RETURN_IF_ERROR(tensorsAreWhole("data.pkl", "data/"));
    RETURN_IF_ERROR(tensorsAreWhole("constants.pkl", "constants/"));
    return checkCrcs(archive_, std::min(hardwareThreads(), 4),
                     [&](const ZipRecord& record) { return !holdsTensor(archive_, record); });
  }

 private:
  [[nodiscard]] const ZipRecord* find(const std::string& name) const { return archive_.find(prefix_ + name); }
  [[nodiscard]] bool hasFolder(const std::string& name) const {
    return std::ranges::any_of(archive_.records(),
                               [&](const ZipRecord& record) { return record.name.starts_with(prefix_ + name); });
  }
  [[nodiscard]] tl::unexpected<Error> damaged(const std::string& what) const {
    return fail(ErrorCode::Unreadable, path_ + " is a damaged TorchScript archive: " + printable(what),
                "copy or export the file again");
  }
  [[nodiscard]] tl::unexpected<Error> otherKind(const std::string& what) const {
    return fail(ErrorCode::Unsupported, path_ + " is " + printable(what) + ", not a TorchScript model", kExportHint);
  }

  // LibTorch finds M/DATA.PKL as m/data.pkl; the checks below do not.
  [[nodiscard]] Status namesAreLibTorchs() const {
    std::set<std::string> seen;
    for (const ZipRecord& record : archive_.records()) {
      std::string name = record.name;
      std::ranges::transform(name, name.begin(), lowerCase);
      if (!seen.insert(std::move(name)).second) return damaged("record '" + record.name + "' is there twice");
      if (isLibTorchsButForCase(record.name))
        return damaged("the record '" + record.name + "' differs by case from a name that LibTorch reads");
    }
    return {};
  }
  [[nodiscard]] bool isLibTorchsButForCase(std::string_view name) const {
    constexpr std::array<std::string_view, 6> kStarts = {"code/",    "data/",         "constants/",
                                                         "data.pkl", "constants.pkl", "model.json"};
    constexpr std::array<std::string_view, 2> kCode = {".py", ".debug_pkl"};
    const auto same = [](std::string_view part, std::string_view wanted) {
      return std::ranges::equal(part, wanted, {}, lowerCase, lowerCase);
    };
    const auto differs = [&](std::string_view part, std::string_view wanted) {
      return part != wanted && same(part, wanted);
    };
    const std::string_view folder = name.substr(0, prefix_.size());
    if (!same(folder, prefix_)) return false;
    const std::string_view rest = name.substr(prefix_.size());
    return folder != prefix_ ||
           std::ranges::any_of(kStarts, [&](auto start) { return differs(rest.substr(0, start.size()), start); }) ||
           (rest.starts_with("code/") && std::ranges::any_of(kCode, [&](std::string_view end) {
              return rest.size() > end.size() && differs(rest.substr(rest.size() - end.size()), end);
            }));
  }

  [[nodiscard]] Status isTorchScript() const {
    if (archive_.records().empty()) return otherKind("an empty zip archive");
    if (find(".data/extern_modules") != nullptr)
      return otherKind(hasFolder(".data/ts_code/") ? "a torch.package archive with TorchScript modules inside"
                                                   : "a torch.package archive");
    if (hasFolder("models/") || find("archive_format") != nullptr ||
        find("serialized_exported_program.json") != nullptr)
      return otherKind("a torch.export archive (.pt2)");
    const ZipRecord* data = find("data.pkl");
    const bool hasConstants = find("constants.pkl") != nullptr, hasCode = hasFolder("code/");
    if (data == nullptr) {
      if (hasCode || hasConstants) return damaged("the record data.pkl is missing");
      const bool isKeras = find("config.json") != nullptr && find("metadata.json") != nullptr;
      return otherKind(isKeras ? "a Keras model (.keras)" : "an ordinary zip archive");
    }
    if (!hasConstants && !hasCode) return isCheckpoint(*data);
    if (!hasCode) return damaged("it has no code/ folder, so there is no graph to read");
    if (!hasConstants) return damaged("the record constants.pkl is missing");
    if (find("version") == nullptr && find(".data/version") == nullptr) return damaged("the version record is missing");
    if (find("model.json") != nullptr) return otherKind("an archive with a model of PyTorch 1.3 or older");
    return {};
  }

  // Describes in the error what torch.save() wrote, by the classes that the pickle names.
  [[nodiscard]] Status isCheckpoint(const ZipRecord& data) const {
    ASSIGN_OR_RETURN(const auto text, archive_.read(data, kMaxPickle));
    const auto scan = scanPickle(text);
    if (!scan) return otherKind("a pickled checkpoint that is not looked into (" + scan.error().message + ")");
    for (const std::string& global : scan->globals) {
      const bool harmless = global.starts_with("torch._utils ") || global.starts_with("collections ") ||
                            (global.starts_with("torch ") && global.find("__torch__") == std::string::npos) ||
                            global.starts_with("torch.storage ") || global.starts_with("torch.serialization ") ||
                            global.starts_with("numpy") || global.starts_with("_codecs ");
      if (!harmless)
        return otherKind("a pickled Python object such as an nn.Module (it names '" +
                         global.substr(global.find(' ') + 1) +
                         "' and needs its Python code; NormLens never unpickles it)");
    }
    return otherKind(scan->rootIsDict ? "a pickled checkpoint or state_dict (weights without a graph)"
                                      : "a state_dict or another pickled checkpoint (weights without a graph)");
  }

  [[nodiscard]] Status unpacksWithinBounds() const {
    uint64_t total = 0;
    for (const ZipRecord& record : archive_.records()) {
      if (record.method == ZipMethod::Stored) continue;
      total += std::min(record.size, kMaxUnpacked + 1);
      if (total > kMaxUnpacked)
        return fail(ErrorCode::Unsupported,
                    path_ + " unpacks to more than 2 GiB from compressed records, like a zip bomb",
                    "store the archive's records without compression (torch.jit.save does)");
    }
    return {};
  }

  Status codeIsSane() {
    for (const ZipRecord& record : archive_.records()) {
      if (!record.name.starts_with(prefix_ + "code/")) continue;
      ASSIGN_OR_RETURN(const auto code, archive_.read(record, kMaxCode));
      if (record.name.ends_with(".debug_pkl")) {
        const auto scan = scanPickle(code, PickleUse::Load);
        if (!scan)
          return damaged("cannot parse the TorchScript code record '" + record.name + "': " + scan.error().message);
      }
      if (!record.name.ends_with(".py")) continue;
      if (code.find("Enum") != std::string::npos) pickles_ = PickleUse::LoadWithEnums;
      if (const char* problem = beyondLibTorchsParser(code))
        return damaged("the code in '" + record.name + "' is " + problem);
    }
    return {};
  }

  // Each declared storage has a record with at least as many bytes.
  [[nodiscard]] Status tensorsAreWhole(const std::string& pickle, const std::string& folder) const {
    ASSIGN_OR_RETURN(const auto text, archive_.read(*find(pickle), kMaxPickle));
    const auto scan = scanPickle(text, pickles_);
    if (!scan) return damaged(pickle + ": " + scan.error().message);
    uint64_t whole = 0, read = 0;
    for (const ZipRecord& record : archive_.records()) whole += record.size;
    for (const DeclaredStorage& storage : scan->storages) {
      const ZipRecord* record = find(folder + storage.key);
      if (record == nullptr) return damaged("the tensor record '" + folder + storage.key + "' is missing");
      const int64_t bytes = storageType(storage.type).bytes;
      int64_t needed = 0;
      if (bytes == 0) return damaged("'" + folder + storage.key + "' has the unknown element type " + storage.type);
      if (__builtin_mul_overflow(bytes, storage.elements, &needed) || record->size < static_cast<uint64_t>(needed))
        return damaged("the tensor record '" + folder + storage.key + "' has " + std::to_string(record->size) +
                       " bytes, expected " + std::to_string(storage.elements) + " x " + std::to_string(bytes));
      // LibTorch reads a record as often as a pickle refers to it; its own refer once to each.
      constexpr uint64_t kMostReads = 4;
      uint64_t size = 0;
      if (__builtin_mul_overflow(record->size, storage.reads, &size) || size / kMostReads > whole ||
          (read += size) / kMostReads > whole)
        return damaged("the tensor record '" + folder + storage.key + "' is asked for again and again");
    }
    return {};
  }

  const Archive& archive_;
  std::string path_;
  std::string prefix_;
  PickleUse pickles_ = PickleUse::Load;
};

}  // namespace

const char* beyondLibTorchsParser(std::string_view code) { return Reader(code).run(); }

bool holdsTensor(const Archive& archive, const ZipRecord& record) {
  const std::string_view name =
      std::string_view(record.name).substr(std::min(archive.prefix().size(), record.name.size()));
  return record.method == ZipMethod::Stored && (name.starts_with("data/") || name.starts_with("constants/"));
}

Result<std::shared_ptr<const Archive>> openCheckedArchive(const std::shared_ptr<const MappedFile>& file) {
  const FileKind kind = detectKind(file->bytes());
  if (kind != FileKind::Zip) return tl::unexpected(notReadable(file->path(), kind, "TorchScript"));
  auto archive = Archive::open(file);
  if (!archive) return archive;
  RETURN_IF_ERROR(ArchiveChecker(**archive).run());
  return archive;
}

}  // namespace normlens::formats::torchscript
