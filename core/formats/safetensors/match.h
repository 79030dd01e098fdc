// Which tensor of a checkpoint a constant of a model is: the one with the same numbers. Where several have them (norms
// that were never trained, biases of zeros), names decide: those of the constant, and the modules that read it.
//
// Thread: one at a time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/safetensors/checkpoint.h"
#include "core/graph/graph.h"

namespace normlens::formats::safetensors {

// A tensor that has a constant's numbers.
struct Equal {
  Checkpoint::Place place;
  bool exchanged = false;  // its two axes are the constant's in the other order
  graph::TensorView view;  // of the checkpoint's memory, in the constant's shape
};

struct Match {
  std::vector<Equal> equal;   // all of them
  std::vector<Equal> chosen;  // of these what the constant is; several where a tied one was saved twice
  std::string unsure;         // half a sentence: why it cannot be told which it is; `chosen` is empty then
};

class Matcher {
 public:
  // Both outlive it.
  Matcher(const graph::Graph& graph, const Checkpoint& checkpoint);

  // Without equals: nothing in the checkpoint has its numbers.
  [[nodiscard]] const Match& match(graph::ConstantId constant);
  // A sentence for a constant without equals, with the tensor that is nearest to it.
  [[nodiscard]] std::string whyNotFound(graph::ConstantId constant) const;
  // Other constants with the numbers of this one, in whatever order of axes.
  [[nodiscard]] std::vector<graph::ConstantId> twins(graph::ConstantId constant) const;
  // The modules in which these reads of the constant stand: paths of scopes.
  [[nodiscard]] std::vector<std::string> modulesOf(const graph::Uses& uses) const;
  // What a tensor called `name` in such a module would be called: "lm_head" + ".weight".
  [[nodiscard]] static std::string inModule(const std::string& module, const std::string& name);

 private:
  [[nodiscard]] std::vector<Equal> equalsOf(graph::ConstantId constant) const;
  struct Likeness {
    size_t parts = 0;    // how many parts of a tensor's name agree, from the last on
    bool whole = false;  // the one name ends in all of the other
    bool wholeModule =
        false;  // the same of a module that reads it, and of what the tensor's name has before its last part
  };
  [[nodiscard]] Likeness likeness(graph::ConstantId constant, const std::string& name) const;
  [[nodiscard]] bool isNamed(graph::ConstantId constant, const std::vector<Equal>& equal, const std::string& name,
                             const std::vector<graph::ConstantId>& others) const;
  [[nodiscard]] Match choose(graph::ConstantId constant) const;

  const graph::Graph& graph_;
  const Checkpoint& checkpoint_;
  std::vector<graph::ValueId> values_;  // by constant
  std::map<graph::ConstantId, Match> matches_;
};

// How many parts of two paths agree, from the last on: 2 of "m.h.0.weight" and "x.0.weight".
[[nodiscard]] size_t commonEnd(const std::string& a, const std::string& b);

}  // namespace normlens::formats::safetensors
