// Finds what an edited module differs in from the translation: the reads of nodes that are still there, the nodes that
// are gone and those that are new. Private to formats/pt2: includes torch.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/formats/pt2/translate/program.h"
#include "core/formats/pt2/write/document_editor.h"
#include "core/formats/pt2/write/graph_pairs.h"

namespace normlens::formats::pt2 {

class Difference {
 public:
  using Value = torch::jit::Value;
  using Node = torch::jit::Node;

  // Graphs of forward(). Throws EditRefused.
  Difference(const Translation& translation, torch::jit::Graph& original, torch::jit::Graph& before,
             torch::jit::Graph& after);

  // A read that has become another: of the node with this number, or, number -1, of the program's results.
  struct Read {
    int number = -1;
    int block = -1;  // of an If or Loop: what this block of it returns; -1: the node's own operands
    int operand = 0;
    const Value* before = nullptr;
    const Value* after = nullptr;
  };
  [[nodiscard]] const std::vector<Read>& reads() const { return reads_; }

  [[nodiscard]] const Node* nodeBefore(int number) const { return before_[static_cast<size_t>(number)]; }
  // The translation's value that this one of the edited module is; null: it is new.
  [[nodiscard]] const Value* original(const Value* after) const;
  // The same for a value of the module before the edits.
  [[nodiscard]] const Value* originalOfBefore(const Value* before) const {
    return pairs_[0].of(behindHelpers(before, translation_));
  }
  // A value of the translation is still made.
  [[nodiscard]] bool isMade(const Value* original) const { return made_.contains(original); }
  // Returns what is read instead of a value that is not made any more; null: nothing is.
  [[nodiscard]] const Value* instead(const Value* original) const;
  [[nodiscard]] const std::unordered_map<const Value*, const Value*>& replacements() const { return instead_; }
  // Maps each new attribute to the one that was read in its place, by path.
  [[nodiscard]] const std::map<std::string, std::string>& newAttributes() const { return newAttributes_; }

  // By graph and node of the document.
  using Places = std::set<std::pair<int, int>>;
  [[nodiscard]] const Places& gone() const { return gone_; }
  [[nodiscard]] const Places& kept() const { return kept_; }

  // A node that an edit has made and that is to be written: no constant, list, attribute or size.
  [[nodiscard]] static bool isNew(const Node& node);

 private:
  void compare(int number, int block, at::ArrayRef<Value*> before, at::ArrayRef<Value*> after);
  void noteReplaced(const Value* before, const Value* after);
  void comparePlaces(const std::vector<Node*>& originals);

  const Translation& translation_;
  std::vector<Node*> before_, after_;
  std::unordered_map<std::string, const Value*> attributes_;  // of the translation, by path
  std::vector<ValuePairs> pairs_;                             // before, after
  std::unordered_map<const Value*, const Value*> instead_;
  std::set<const Value*> made_;
  std::map<std::string, std::string> newAttributes_;
  std::vector<Read> reads_;
  Places gone_, kept_;
};

}  // namespace normlens::formats::pt2
