// The documents of a program as they are edited: nodes put in and taken out, names that are free, tensors that are new.
// No torch here; what refers to what is the caller's. Throws BrokenDocument.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/pt2/file/signature.h"

namespace normlens::formats::pt2 {

// A value of a graph of the program (an index in graphsIn()).
using GraphName = std::pair<int, std::string>;

class DocumentEditor {
 public:
  explicit DocumentEditor(ProgramFile file);

  // The node that has this graph for an argument, and which of its inputs that is; graph -1 for the program's own.
  struct Holder {
    int graph = -1, node = -1;
  };
  [[nodiscard]] const Holder& holderOf(int graph) const { return holders_[static_cast<size_t>(graph)]; }
  [[nodiscard]] const std::vector<int>& graphsOf(int graph, int node) const;

  // As it is by now. Nodes keep their numbers until finish().
  [[nodiscard]] Json& graph(int graph) { return *graphs_[static_cast<size_t>(graph)]; }
  [[nodiscard]] Json& node(int of, int number);

  // A name like `wanted` that no value and no node has: not of this graph, nor, for who compares values by their names,
  // of another.
  [[nodiscard]] std::string freshName(int of, const std::string& wanted);
  // TensorMeta of a value; null where it has none.
  [[nodiscard]] const Json* metaOf(const GraphName& value) const;
  void describe(const GraphName& value, Json meta);

  // Behind an original node, -1: in front of all. Those of one place stay in order.
  void insert(int of, int behind, Json made);
  void remove(int graph, int node) { removed_.insert({graph, node}); }

  // Sets what an output of the program is, in its signature.
  void setOutputArgument(size_t output, const Json& argument);

  // A tensor like the one that `like` holds, with a name of its own.
  HeldTensor addHeld(const HeldTensor& like, Json meta);
  // One more operand of the graphs that hold `inside` and its siblings (both branches, a loop's condition and body).
  // `name`: of a tensor in the graph around. Gives its name in `inside`.
  std::string addOperand(int inside, const std::string& name);

  // Puts everything in its place. `instead`: what stands for values that are no longer made. What reads a value that is
  // gone for good and is not wanted itself (an assertion, dead code: not in `wanted`) goes, too.
  ProgramFile finish(const std::map<GraphName, std::string>& instead, const std::set<std::pair<int, int>>& wanted);

  [[nodiscard]] ProgramFile& file() { return file_; }

 private:
  struct Insertion {
    int graph, behind;
    Json node;
  };
  [[nodiscard]] std::set<std::string> madeIn(int of) const;
  static void renameReads(Json& of, int graph, const std::map<GraphName, std::string>& instead);
  bool removeStray(int of, const std::set<std::pair<int, int>>& wanted);
  void rebuild(int of);

  ProgramFile file_;
  std::vector<Json*> graphs_;
  std::vector<Holder> holders_;
  std::map<std::pair<int, int>, std::vector<int>> inner_;  // by node: the graphs that it holds
  std::vector<std::set<std::string>> names_;               // by graph
  std::vector<Insertion> insertions_;
  std::set<std::pair<int, int>> removed_;
};

// Calls visit(name) for each value that a node, or a list of arguments, reads; not for what graphs in it read.
template <class AnyJson, class Visit>
void eachRead(AnyJson& json, const Visit& visit) {
  if (json.isArray()) {
    for (auto& item : json.items()) eachRead(item, visit);
  } else if (json.isObject()) {
    for (auto& [key, value] : json.members()) {
      if (key == "as_graph") continue;
      if ((key == "as_tensor" || key == "as_custom_obj") && value.find("name") != nullptr) {
        visit(value.at("name"));
      } else if ((key == "name" || key == "as_name") && value.isString()) {
        visit(value);
      } else {
        eachRead(value, visit);
      }
    }
  }
}

}  // namespace normlens::formats::pt2
