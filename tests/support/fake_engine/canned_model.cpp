#include "tests/support/fake_engine/canned_model.h"

#include <utility>

namespace normlens::fake {

namespace {

using protocol::GraphNode;
using protocol::GraphValue;

class Builder {
 public:
  explicit Builder(bool postNorm) {
    model_.postNorm = postNorm;
    model_.graph.scopes.push_back({0, "", "", postNorm ? "BertModel" : "GPT2LMHeadModel", -1});
  }

  int scope(int parent, const std::string& name, const std::string& type) {
    const std::string& above = model_.graph.scopes[static_cast<size_t>(parent)].path;
    const int id = static_cast<int>(model_.graph.scopes.size());
    model_.graph.scopes.push_back({id, name, above.empty() ? name : above + "." + name, type, parent});
    return id;
  }

  int value(const std::string& name, bool stream = false, const std::vector<int64_t>& shape = {1, 16, 64}) {
    GraphValue value;
    value.id = static_cast<int>(model_.graph.values.size());
    value.name = name;
    value.stream = stream;
    value.shape = shape;  // handed out by analyze only
    model_.graph.values.push_back(value);
    return value.id;
  }

  int constant(const std::string& name, const std::vector<int64_t>& shape) {
    const int id = value(name, false, shape);
    GraphValue& made = model_.graph.values.back();
    made.constant = made.has_shape = true;
    made.dtype = "float32";
    return id;
  }

  int node(const std::string& op, const std::string& role, int scope, std::vector<int> inputs, int output) {
    GraphNode node;
    node.id = static_cast<int>(model_.graph.nodes.size());
    node.op = op.find("::") == std::string::npos && role != "I" && role != "G" ? "aten::" + op : op;
    node.label = op;
    node.name = model_.graph.scopes[static_cast<size_t>(scope)].path;
    node.scope = scope;
    node.role = fromName<NodeClass>(role).value();
    node.inputs = std::move(inputs);
    if (output >= 0) node.outputs = {output};
    model_.graph.nodes.push_back(node);
    return node.id;
  }

  int linear(int parent, const std::string& name, int input, int64_t in, int64_t out) {
    const int at = scope(parent, name, "Linear");
    const std::string path = model_.graph.scopes[static_cast<size_t>(at)].path;
    const int weight = constant(path + ".weight", {out, in});
    const int bias = constant(path + ".bias", {out});
    const int made = value(path, false, {1, 16, out});
    lastLinear_ = node("linear", "L", at, {input, weight, bias}, made);
    lastWeight_ = path + ".weight";
    return made;
  }

  int norm(int parent, const std::string& name, int input) {
    const int at = scope(parent, name, "LayerNorm");
    const std::string path = model_.graph.scopes[static_cast<size_t>(at)].path;
    const int made = value(path, model_.postNorm);
    const int id =
        node("layer_norm", "N", at, {input, constant(path + ".weight", {64}), constant(path + ".bias", {64})}, made);
    GraphNode& written = model_.graph.nodes.back();
    written.norm = static_cast<int>(model_.normNodes.size());
    written.attributes = {{"normalized_shape", "[64]"}, {"eps", "1e-05"}};
    model_.normNodes.push_back(id);
    model_.normInputs.push_back(input);
    model_.producers.push_back(producers_);
    model_.weights.push_back(weights_);
    if (model_.postNorm) startStream(id, path);
    return made;
  }

  int add(int scope, int a, int b, const std::string& name) {
    producers_.push_back(lastLinear_);
    weights_.push_back(lastWeight_);
    const int made = value(name, true);
    node("add", "R", scope, {a, b}, made);
    return made;
  }

  int table(const std::string& name, int index, int64_t rows) {
    const int at = scope(0, name, "Embedding");
    const int made = value(name, false);
    producers_.push_back(node("embedding", "L", at, {constant(name + ".weight", {rows, 64}), index}, made));
    weights_.push_back(name + ".weight");
    return made;
  }

  int embeddings() {
    const int ids = value("input_ids", false, {1, 16});
    node("input_ids", "I", 0, {}, ids);
    const int words = table(model_.postNorm ? "word_embeddings" : "wte", ids, 211);
    const int places = table(model_.postNorm ? "position_embeddings" : "wpe", ids, 32);
    const int sum = value("embedded", true);
    node("add", "R", 0, {words, places}, sum);
    return sum;
  }

  int attention(int parent, int input) {
    const int at = scope(parent, "attn", "Attention");
    const int fused = linear(at, "c_attn", input, 64, 192);
    const int q = value("q"), k = value("k"), v = value("v");
    GraphNode& split = model_.graph.nodes[static_cast<size_t>(node("split", "S", at, {fused}, q))];
    split.outputs = {q, k, v};
    const int mixed = value("attended");
    node("scaled_dot_product_attention", "O", at, {q, k, v}, mixed);
    return linear(at, "c_proj", mixed, 64, 64);
  }

  int mlp(int parent, int input) {
    const int at = scope(parent, "mlp", "MLP");
    const int up = linear(at, "c_fc", input, 64, 256);
    const int bent = value("bent", false, {1, 16, 256});
    node("gelu", "O", at, {up}, bent);
    return linear(at, "c_proj", bent, 256, 64);
  }

  int block(int parent, int number, int stream) {
    const int at = scope(parent, std::to_string(number), model_.postNorm ? "BertLayer" : "GPT2Block");
    if (model_.postNorm) {
      stream = norm(at, "attention_norm", add(at, stream, attention(at, stream), "sum"));
      return norm(at, "output_norm", add(at, stream, mlp(at, stream), "sum"));
    }
    stream = add(at, stream, attention(at, norm(at, "ln_1", stream)), "sum");
    return add(at, stream, mlp(at, norm(at, "ln_2", stream)), "sum");
  }

  void finish(int output) { node("output", "G", 0, {output}, -1); }
  CannedModel take() { return std::move(model_); }

 private:
  // After a norm the stream begins anew at its output.
  void startStream(int normNode, const std::string& path) {
    producers_ = {normNode};
    weights_ = {path + ".weight"};
  }

  CannedModel model_;
  std::vector<int> producers_;
  std::vector<std::string> weights_;
  int lastLinear_ = -1;
  std::string lastWeight_;
};

}  // namespace

CannedModel makeTransformer(int blocks, bool postNorm) {
  Builder builder(postNorm);
  int stream = builder.embeddings();
  if (postNorm) stream = builder.norm(0, "embeddings_norm", stream);
  const int layers = builder.scope(0, postNorm ? "layer" : "h", "ModuleList");
  for (int i = 0; i < blocks; ++i) stream = builder.block(layers, i, stream);
  if (!postNorm) stream = builder.norm(0, "ln_f", stream);
  builder.finish(postNorm ? stream : builder.linear(0, "lm_head", stream, 64, 211));
  return builder.take();
}

}  // namespace normlens::fake
