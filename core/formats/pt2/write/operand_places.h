// Where the document has what a node of the translated program reads. Private to formats/pt2: includes torch.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include "core/formats/pt2/translate/program.h"
#include "core/formats/pt2/write/document_editor.h"

namespace normlens::formats::pt2 {

struct DocumentRead {
  int graph = 0;
  int node = -1;        // of the graph; -1: an output of the graph itself
  size_t argument = 0;  // which of the node's inputs, or which output
  int element = -1;     // of a list; -1: the argument itself
};

class OperandPlaces {
 public:
  OperandPlaces(const Program& program, DocumentEditor& editor) : program_(program), editor_(editor) {}

  // An input of a node, of a list that a node reads, or of a return node. By the node that is in its place by now.
  // Throws EditRefused where the document has no place for it.
  [[nodiscard]] DocumentRead readAt(const torch::jit::Node& node, size_t input) const;
  // The node's place in the document. Throws EditRefused where it has none of its own.
  [[nodiscard]] const Origin& placeOf(const torch::jit::Node& node) const;

  [[nodiscard]] Json& argumentAt(const DocumentRead& read) const;
  // The name of the tensor that is read; null: a number that is written there.
  [[nodiscard]] Json* nameAt(const DocumentRead& read) const;

 private:
  [[nodiscard]] DocumentRead returnAt(const torch::jit::Block& block, size_t output) const;
  [[nodiscard]] size_t argumentOf(const Origin& origin, const torch::jit::Node& node, size_t input) const;

  const Program& program_;
  DocumentEditor& editor_;
};

}  // namespace normlens::formats::pt2
