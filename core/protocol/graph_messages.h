// The graph as the window draws it. See messages.h for the rules.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/protocol/field_list.h"

namespace normlens::protocol {

struct GraphNode {
  int id = 0;
  std::string op;     // "aten::layer_norm"
  std::string label;  // "layer_norm"
  std::string name;   // module path, may be empty
  int scope = 0;
  std::string role;         // "L" "S" "R" "Z" "O" "N" (LayerNorm) "M" (RMSNorm) "I" (input) "G" (output) "H" (helper)
  bool helper = false;      // hidden by default
  std::vector<int> inputs;  // value ids
  std::vector<int> outputs;
  std::vector<std::pair<std::string, std::string>> attributes;  // name, printed value
  std::string source;
  int norm = -1;  // index of the LayerNorm it belongs to, or -1
};
NORMLENS_FIELDS(GraphNode, id, op, label, name, scope, role, helper, inputs, outputs, attributes, source, norm)

struct GraphValue {
  int id = 0;
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  bool has_shape = false;
  bool constant = false;  // weight or literal: not drawn as an edge
  bool stream = false;    // lies on a residual stream

  bool operator==(const GraphValue&) const = default;
};
NORMLENS_FIELDS(GraphValue, id, name, dtype, shape, has_shape, constant, stream)

struct GraphScope {
  int id = 0;
  std::string name;  // "ln_1"
  std::string path;  // "transformer.h.0.ln_1"
  std::string type;  // class name
  int parent = -1;   // -1: the model itself, id 0
};
NORMLENS_FIELDS(GraphScope, id, name, path, type, parent)

struct GraphDocument {
  std::vector<GraphNode> nodes;  // execution order; includes one node per graph input and output (roles I, G)
  std::vector<GraphValue> values;
  std::vector<GraphScope> scopes;
};
NORMLENS_FIELDS(GraphDocument, nodes, values, scopes)

}  // namespace normlens::protocol
