// Made-up models for the window's tests: documents as the engine would send them, no engine needed.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::test {

// Builds a GraphDocument scope by scope, in execution order. Ids are indices.
class DocumentBuilder {
 public:
  DocumentBuilder() { document_.scopes.push_back({0, "model", "", "Model", -1}); }

  int scope(int parent, const std::string& name, const std::string& type) {
    const int id = static_cast<int>(document_.scopes.size());
    const std::string above = document_.scopes[static_cast<size_t>(parent)].path;
    document_.scopes.push_back({id, name, above.empty() ? name : above + "." + name, type, parent});
    return id;
  }

  int value(const std::string& name, std::vector<int64_t> shape, bool stream = false) {
    const int id = static_cast<int>(document_.values.size());
    document_.values.push_back({id, name, "float32", std::move(shape), true, false, stream});
    return id;
  }

  int weight(const std::string& name, std::vector<int64_t> shape) {
    const int id = value(name, std::move(shape));
    document_.values.back().constant = true;
    return id;
  }

  // A node with one output; returns the value.
  int op(int scope, const std::string& label, const std::string& role, std::vector<int> inputs,
         std::vector<int64_t> shape, bool stream = false) {
    const int output = value(label, std::move(shape), stream);
    node(scope, "aten::" + label, label, role, std::move(inputs), {output});
    return output;
  }

  int node(int scope, const std::string& opName, const std::string& label, const std::string& role,
           std::vector<int> inputs, std::vector<int> outputs) {
    protocol::GraphNode node;
    node.id = static_cast<int>(document_.nodes.size());
    node.op = opName;
    node.label = label;
    node.scope = scope;
    node.role = fromName<NodeClass>(role).value();
    node.helper = role == "H";
    node.inputs = std::move(inputs);
    node.outputs = std::move(outputs);
    if (role == "N") node.norm = norms_++;
    document_.nodes.push_back(std::move(node));
    return document_.nodes.back().id;
  }

  [[nodiscard]] int lastNode() const { return static_cast<int>(document_.nodes.size()) - 1; }
  std::shared_ptr<const protocol::GraphDocument> take() {
    return std::make_shared<const protocol::GraphDocument>(std::move(document_));
  }

 private:
  protocol::GraphDocument document_;
  int norms_ = 0;
};

using Shape = std::vector<int64_t>;

// A Conv1D as GPT-2 has it: reshape, matrix product, reshape.
inline int conv1d(DocumentBuilder& b, int parent, const std::string& name, int x, int64_t width) {
  const int scope = b.scope(parent, name, "Conv1D");
  const int size = b.op(scope, "size", "H", {x}, {});
  const int flat = b.op(scope, "view", "S", {x, size}, {1024, 768});
  const int product = b.op(scope, "addmm", "L", {flat}, {1024, width});
  return b.op(scope, "view", "S", {product}, {1, 1024, width});
}

inline int gpt2Attention(DocumentBuilder& b, int block, int x) {
  const int attn = b.scope(block, "attn", "GPT2Attention");
  const int fused = conv1d(b, attn, "c_attn", x, 2304);
  const Shape head{1, 12, 1024, 64};
  std::vector<int> parts;
  for (const char* name : {"q", "k", "v"}) parts.push_back(b.value(name, {1, 1024, 768}));
  b.node(attn, "aten::split", "split", "S", {fused}, parts);
  for (int& part : parts) part = b.op(attn, "transpose", "S", {b.op(attn, "view", "S", {part}, head)}, head);
  const int mixed = b.op(attn, "scaled_dot_product_attention", "O", parts, head);
  const int joined = b.op(attn, "reshape", "S", {b.op(attn, "transpose", "S", {mixed}, head)}, {1, 1024, 768});
  const int out = conv1d(b, attn, "c_proj", joined, 768);
  return b.op(b.scope(attn, "resid_dropout", "Dropout"), "dropout", "S", {out}, {1, 1024, 768});
}

inline int gpt2Mlp(DocumentBuilder& b, int block, int x) {
  const int mlp = b.scope(block, "mlp", "GPT2MLP");
  const Shape wide{1, 1024, 3072};
  const int up = conv1d(b, mlp, "c_fc", x, 3072);
  const int act = b.scope(mlp, "act", "NewGELUActivation");
  const int cubed = b.op(act, "pow", "O", {up}, wide);
  const int inner = b.op(act, "add", "R", {up, b.op(act, "mul", "S", {cubed}, wide)}, wide);
  const int bent = b.op(act, "tanh", "O", {b.op(act, "mul", "S", {inner}, wide)}, wide);
  const int active = b.op(act, "mul", "O", {b.op(act, "mul", "S", {up}, wide), bent}, wide);
  const int down = conv1d(b, mlp, "c_proj", active, 768);
  return b.op(b.scope(mlp, "dropout", "Dropout"), "dropout", "S", {down}, {1, 1024, 768});
}

inline int gpt2Block(DocumentBuilder& b, int list, int index, int x) {
  const Shape shape{1, 1024, 768};
  const int block = b.scope(list, std::to_string(index), "GPT2Block");
  const int normed = b.op(b.scope(block, "ln_1", "LayerNorm"), "layer_norm", "N", {x}, shape);
  const int first = b.op(block, "add", "R", {gpt2Attention(b, block, normed), x}, shape, true);
  const int again = b.op(b.scope(block, "ln_2", "LayerNorm"), "layer_norm", "N", {first}, shape);
  return b.op(block, "add", "R", {first, gpt2Mlp(b, block, again)}, shape, true);
}

// GPT-2 as a trace shows it: 12 blocks by default, 25 LayerNorms.
inline std::shared_ptr<const protocol::GraphDocument> gpt2Document(int blocks = 12) {
  DocumentBuilder b;
  const Shape shape{1, 1024, 768};
  const int ids = b.value("input_ids", {1, 1024});
  b.node(0, "input", "input_ids", "I", {}, {ids});
  const int transformer = b.scope(0, "transformer", "GPT2Model");
  const int size = b.op(transformer, "size", "H", {ids}, {});
  const int positions = b.op(transformer, "arange", "H", {size}, {1024});
  const int tokens = b.op(b.scope(transformer, "wte", "Embedding"), "embedding", "L", {ids}, shape);
  const int places = b.op(b.scope(transformer, "wpe", "Embedding"), "embedding", "L", {positions}, shape);
  int x = b.op(transformer, "add", "R", {tokens, places}, shape, true);
  x = b.op(b.scope(transformer, "drop", "Dropout"), "dropout", "S", {x}, shape, true);
  const int list = b.scope(transformer, "h", "ModuleList");
  for (int i = 0; i < blocks; ++i) x = gpt2Block(b, list, i, x);
  const int normed = b.op(b.scope(transformer, "ln_f", "LayerNorm"), "layer_norm", "N", {x}, shape);
  const int logits = b.op(b.scope(0, "lm_head", "Linear"), "linear", "L", {normed}, {1, 1024, 50257});
  b.node(0, "output", "logits", "G", {logits}, {});
  return b.take();
}

// Towers of GPT-2 blocks side by side on one embedding, each tower in stages of twelve blocks: deep nesting, many
// residual streams, and a picture that is as wide as it is tall.
inline std::shared_ptr<const protocol::GraphDocument> towersDocument(int towers, int blocksPerTower) {
  constexpr int kStage = 12;
  DocumentBuilder b;
  const Shape shape{1, 1024, 768};
  const int ids = b.value("input_ids", {1, 1024});
  b.node(0, "input", "input_ids", "I", {}, {ids});
  const int tokens = b.op(b.scope(0, "wte", "Embedding"), "embedding", "L", {ids}, shape);
  std::vector<int> ends;
  for (int t = 0; t < towers; ++t) {
    const int tower = b.scope(0, "tower_" + std::to_string(t), "Tower");
    int x = tokens;
    for (int done = 0; done < blocksPerTower; done += kStage) {
      const int stage = b.scope(tower, "stage_" + std::to_string(done / kStage), "Stage");
      const int list = b.scope(stage, "h", "ModuleList");
      for (int i = done; i < std::min(done + kStage, blocksPerTower); ++i) x = gpt2Block(b, list, i - done, x);
    }
    ends.push_back(b.op(b.scope(tower, "ln_f", "LayerNorm"), "layer_norm", "N", {x}, shape));
  }
  const int all = b.op(0, "cat", "O", ends, {1, 1024, int64_t{768} * towers});
  b.node(0, "output", "features", "G", {all}, {});
  return b.take();
}

// One post-LN layer: x -> attention -> add -> LayerNorm -> feed forward -> add -> LayerNorm.
inline int bertLayer(DocumentBuilder& b, int list, int index, int x, int mask) {
  const Shape shape{8, 128, 768}, heads{8, 12, 128, 64}, scores{8, 12, 128, 128}, wide{8, 128, 3072};
  const int layer = b.scope(list, std::to_string(index), "BertLayer");
  const int attention = b.scope(layer, "attention", "BertAttention");
  const int self = b.scope(attention, "self", "BertSelfAttention");
  std::vector<int> parts;
  for (const char* name : {"query", "key", "value"}) {
    const int linear = b.op(b.scope(self, name, "Linear"), "linear", "L", {x}, shape);
    parts.push_back(b.op(self, "transpose", "S", {b.op(self, "view", "S", {linear}, heads)}, heads));
  }
  const int keys = b.op(self, "transpose", "S", {parts[1]}, heads);
  const int raw = b.op(self, "div", "S", {b.op(self, "matmul", "O", {parts[0], keys}, scores)}, scores);
  const int masked = b.op(self, "add", "S", {raw, mask}, scores);
  const int weights = b.op(self, "softmax", "O", {masked}, scores);
  const int mixed = b.op(self, "matmul", "O", {weights, parts[2]}, heads);
  const int joined = b.op(self, "reshape", "S", {b.op(self, "permute", "S", {mixed}, heads)}, shape);
  const int output = b.scope(attention, "output", "BertSelfOutput");
  const int dense = b.op(b.scope(output, "dense", "Linear"), "linear", "L", {joined}, shape);
  const int sum = b.op(output, "add", "R", {dense, x}, shape, true);
  const int normed = b.op(b.scope(output, "LayerNorm", "LayerNorm"), "layer_norm", "N", {sum}, shape, true);
  const int middle = b.scope(layer, "intermediate", "BertIntermediate");
  const int up = b.op(b.scope(middle, "dense", "Linear"), "linear", "L", {normed}, wide);
  const int active = b.op(b.scope(middle, "intermediate_act_fn", "GELUActivation"), "gelu", "O", {up}, wide);
  const int last = b.scope(layer, "output", "BertOutput");
  const int down = b.op(b.scope(last, "dense", "Linear"), "linear", "L", {active}, shape);
  const int again = b.op(last, "add", "R", {down, normed}, shape, true);
  return b.op(b.scope(last, "LayerNorm", "LayerNorm"), "layer_norm", "N", {again}, shape, true);
}

// BERT: post-LN, an attention mask that every layer reads, inputs listed after the ops as the engine does.
inline std::shared_ptr<const protocol::GraphDocument> bertDocument(int layers = 12) {
  DocumentBuilder b;
  const Shape shape{8, 128, 768};
  const int ids = b.value("input_ids", {8, 128}), maskIn = b.value("attention_mask", {8, 128});
  const int bert = b.scope(0, "bert", "BertModel");
  const int wide = b.op(bert, "unsqueeze", "S", {maskIn}, {8, 1, 1, 128});
  const int mask = b.op(bert, "mul", "S", {b.op(bert, "rsub", "S", {wide}, {8, 1, 1, 128})}, {8, 1, 1, 128});
  const int embeddings = b.scope(bert, "embeddings", "BertEmbeddings");
  const int words = b.op(b.scope(embeddings, "word_embeddings", "Embedding"), "embedding", "L", {ids}, shape);
  const int types = b.op(b.scope(embeddings, "token_type_embeddings", "Embedding"), "embedding", "L", {}, shape);
  const int places = b.op(b.scope(embeddings, "position_embeddings", "Embedding"), "embedding", "L", {}, shape);
  const int sum = b.op(embeddings, "add", "R", {b.op(embeddings, "add", "R", {words, types}, shape), places}, shape);
  int x = b.op(b.scope(embeddings, "LayerNorm", "LayerNorm"), "layer_norm", "N", {sum}, shape, true);
  const int list = b.scope(b.scope(bert, "encoder", "BertEncoder"), "layer", "ModuleList");
  for (int i = 0; i < layers; ++i) x = bertLayer(b, list, i, x, mask);
  b.node(0, "input_ids", "input_ids", "I", {}, {ids});
  b.node(0, "attention_mask", "attention_mask", "I", {}, {maskIn});
  b.node(0, "output 0", "output 0", "G", {x}, {});
  return b.take();
}

// One module, `count` ops in a braid: nothing to open or close, the worst case for a layered layout.
inline std::shared_ptr<const protocol::GraphDocument> flatDocument(int count) {
  DocumentBuilder b;
  std::vector<int> last(4);
  for (int i = 0; i < 4; ++i) last[static_cast<size_t>(i)] = b.op(0, "input", "I", {}, {8});
  for (int i = 4; i < count; ++i) {
    const auto lane = static_cast<size_t>(i % 4);
    const std::vector<int> inputs =
        i % 7 == 0 ? std::vector<int>{last[lane], last[(lane + 1) % 4]} : std::vector<int>{last[lane]};
    last[lane] = b.op(0, i % 7 == 0 ? "add" : "relu", i % 7 == 0 ? "R" : "O", inputs, {8});
  }
  return b.take();
}

// One layer called `calls` times, as ALBERT does.
inline std::shared_ptr<const protocol::GraphDocument> sharedLayerDocument(int calls) {
  DocumentBuilder b;
  int x = b.op(0, "input", "I", {}, {8, 32});
  const int layer = b.scope(0, "layer", "AlbertLayer");
  for (int i = 0; i < calls; ++i) {
    const int y = b.op(layer, "linear", "L",
                       {b.op(layer, "relu", "O", {b.op(layer, "linear", "L", {x}, {8, 32})}, {8, 32})}, {8, 32});
    x = b.op(0, "add", "R", {x, y}, {8, 32}, true);
  }
  return b.take();
}

// The zero-mean graph of one LayerNorm of gpt2Document(): residual sums, projections and tables above it.
inline protocol::ZeroMeanGraph gpt2ZeroMean(const protocol::GraphDocument& document, int norm) {
  protocol::ZeroMeanGraph graph;
  graph.norm = norm;
  std::vector<int> producer(document.values.size(), -1);
  for (const auto& node : document.nodes) {
    for (const int value : node.outputs) producer[static_cast<size_t>(value)] = node.id;
  }
  std::vector<bool> seen(document.nodes.size(), false);
  std::vector<int> open;
  for (const auto& node : document.nodes) {
    if (node.norm == norm && node.role == NodeClass::LayerNorm) open.push_back(node.id);
  }
  while (!open.empty()) {
    const auto& node = document.nodes[static_cast<size_t>(open.back())];
    open.pop_back();
    if (seen[static_cast<size_t>(node.id)]) continue;
    seen[static_cast<size_t>(node.id)] = true;
    graph.vertices.push_back({node.id, node.role, node.role == NodeClass::Linear ? "centered" : ""});
    if (node.role == NodeClass::Linear) continue;
    for (const int value : node.inputs) {
      graph.values.push_back(value);
      if (producer[static_cast<size_t>(value)] >= 0) open.push_back(producer[static_cast<size_t>(value)]);
    }
  }
  return graph;
}

}  // namespace normlens::test
