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

  // A name like `wanted` that no value and no node has, of whichever graph: for who compares values by their names.
  [[nodiscard]] std::string freshName(const std::string& wanted);
  // TensorMeta of a value; null where it has none.
  [[nodiscard]] const Json* metaOf(const GraphName& value) const;
  void describe(const GraphName& value, Json meta);

  // In front of a node of the file, or at the end. Those of one place stay in order.
  void insert(int of, int before, Json made) { insertions_.push_back({of, before, std::move(made)}); }
  void remove(int graph, int node) { removed_.insert({graph, node}); }
  // Another node is in the place of one, whose values are described no more.
  void replace(int of, int number, Json made);
  // All that reads the value reads another one of its graph.
  void readInstead(const GraphName& value, const std::string& other);
  [[nodiscard]] std::string nowRead(const GraphName& value) const;

  // A tensor like the one that `like` holds, with a name of its own.
  HeldTensor addHeld(const HeldTensor& like, Json meta);
  // Returns what a tensor of the program's own graph is called in this one, to which it is handed from now on.
  std::string handIn(const std::string& name, int graph);

  // Puts everything in its place. `wanted`: what counts as a reader, and whether it goes without one; all else (an
  // assertion, dead code) goes with what it reads.
  using Wanted = std::map<std::pair<int, int>, bool>;
  ProgramFile finish(const Wanted& wanted);

 private:
  struct Insertion {
    int graph, before;
    Json node;
  };
  // One more operand of the graphs that hold `inside` and its siblings (both branches, a loop's condition and body).
  // `name`: of a tensor in the graph around. Gives its name in `inside`.
  std::string addOperand(int inside, const std::string& name);
  void forget(int of, const std::set<std::string>& values);
  void renameReads(int of);
  void renameResults();
  std::set<std::string> removeUnread(int of, const Wanted& wanted);
  void removeStray(int of, const Wanted& wanted, std::set<std::string>& gone);
  void rebuild(int of);

  ProgramFile file_;
  std::vector<Json*> graphs_;
  std::vector<Holder> holders_;
  std::map<std::pair<int, int>, std::vector<int>> inner_;  // by node: the graphs that it holds
  Json::Array results_;                                    // of the program, as the file has them
  std::set<std::string> names_;                            // of all graphs
  std::vector<Insertion> insertions_;
  std::set<std::pair<int, int>> removed_;
  std::map<GraphName, std::string> instead_;
  std::map<GraphName, std::string> handedIn_;  // by the name in the program's own graph
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
