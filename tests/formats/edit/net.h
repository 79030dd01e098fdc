// Small models described once, for tests that run in every file format: a few lines of code over named weights, which
// each format writes as a file of its own (net_files.cpp). No framework.
//
//   {"h = matmul(x, w)\n n = norm(h, gamma, beta)\n y = matmul(n, o)"}
//
// Operations are rows of the table in net.cpp, weights and inputs those listed there.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/formats/model.h"

namespace normlens::formats::test {

// Sizes that a file leaves open: the batch, and the tokens where a format can leave a second one open.
inline constexpr int64_t kBatch = -1, kTokens = -2, kWrittenTokens = 3;

struct Net {
  std::string code;
  std::vector<std::string> outputs = {"y"};
  std::map<std::string, float> equal = {};  // weights whose elements are all this number
};

struct Statement {
  std::string result, op;
  std::vector<std::string> operands;  // names and numbers
};

struct NetParts {
  std::vector<std::string> inputs, weights;  // that the code reads
  std::vector<Statement> statements;
  std::map<std::string, graph::Shape> shapes;         // of all names
  std::map<std::string, std::vector<float>> numbers;  // of the weights
};

// Throws std::logic_error where the code has an operation or a name that there is not.
[[nodiscard]] NetParts partsOf(const Net& net);

struct OpRow {
  const char* name;
  // Says what shape the result has: of all operands (b), of the first (f), of a product (m), with a last size of 1 (r),
  // of rows of a table (e), of a concatenation (c), of a slice (s), without the second axis (d), with the last two axes
  // exchanged (t).
  char shape;
  // "{0}" stands for the first operand, "{y}" for the result. ONNX: a number that is an operand is a Constant by the
  // name of its place, "{#1}" the number itself.
  const char *torchScript, *onnx, *exported;
};
[[nodiscard]] const OpRow& rowOf(const std::string& op);

// A format as the tests of edits see it.
struct TestedFormat {
  std::string name, suffix;
  bool freeTokens = true;
  std::vector<NormFlavour> flavours;  // The first writes one operator.
  void (*write)(const Net& net, const std::filesystem::path& path) = nullptr;
};
[[nodiscard]] const std::vector<TestedFormat>& testedFormats();
inline void PrintTo(const TestedFormat& format, std::ostream* out) { *out << format.name; }

}  // namespace normlens::formats::test
