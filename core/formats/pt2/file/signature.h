// Lists what goes into an exported program's graph and comes out of it. No torch here. Errors inside the module:
// BrokenDocument; UnsupportedProgram for what a sound file has and NormLens cannot take.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/formats/pt2/file/json.h"
#include "core/formats/pt2/file/program_file.h"
#include "core/formats/pt2/file/tensor_meta.h"

namespace normlens::formats::pt2 {

// Reads what a program's results are called: the keys of the dicts and the fields of the dataclasses that its call
// returns, from the tree that the file has of it (out_spec). No torch here. Nothing relies on it: what cannot be read
// is left out.

// By leaf of the tree, which are the user's outputs: "logits"; "hidden_states.1" of what lies in a list or tuple; empty
// where nothing on the way to it has a name. Empty: the file has none. graphModule: of the document.
[[nodiscard]] std::vector<std::string> outputNames(const Json& graphModule);

// "it ..." of a file that is sound and that NormLens cannot work with, and what to do instead.
struct UnsupportedProgram : std::runtime_error {
  UnsupportedProgram(const std::string& what, std::string todo) : std::runtime_error(what), hint(std::move(todo)) {}
  std::string hint;
};

[[nodiscard]] Error unsupportedProgram(const std::filesystem::path& path, const UnsupportedProgram& problem);
[[nodiscard]] Error damagedProgram(const std::filesystem::path& path, const std::string& what);

// A tensor that the file holds.
struct HeldTensor {
  enum class Kind : uint8_t { Parameter, Buffer, Constant } kind = Kind::Parameter;
  std::string placeholder;  // its name in the graph: "p_ln_weight"
  std::string fqn;          // "ln.weight"
  bool persistent = true;   // it is in the table of weights, else in that of constants
};

struct UserInput {
  enum class Kind : uint8_t { Tensor, Int, Float, Bool } kind = Kind::Tensor;
  std::string name;
  TensorMeta meta;  // Describes a tensor.
  SymSize number;   // Describes an int.
};

struct OutputSpec {
  bool isUsers = true;    // else it is a buffer, parameter or input after the run
  bool isToken = false;   // It stands for an effect and has no value.
  std::string written;    // the buffer or parameter, where it is one
  bool isResult = false;  // a tensor or number of the user's: what a run returns
  std::string name;       // A result's name, where the file has one.
};

struct Signature {
  std::vector<HeldTensor> held;
  std::vector<UserInput> inputs;    // in the order of the graph's
  std::vector<std::string> baked;   // inputs that are Python constants: every call passes the same
  std::vector<OutputSpec> outputs;  // 1:1 with the graph's
};
[[nodiscard]] Signature readSignature(const ProgramFile& file);

// The symbols' ranges, by their text ("s70", "2*s44").
struct SymRange {
  int64_t low = 0;
  int64_t high = INT64_MAX;
};
[[nodiscard]] std::map<std::string, SymRange> readRanges(const ProgramFile& file);

// Holds what the program asserts of sizes as it runs. The translated program does not: it is checked before a run.
struct Assertion {
  SymExpr condition;
  std::string message;  // the file's own
};
[[nodiscard]] std::vector<Assertion> readAssertions(const ProgramFile& file);

// A name that may become one of a module, tensor or value: not empty, of a sane length, no control characters.
void checkName(const std::string& name);

}  // namespace normlens::formats::pt2
