#include "core/lab/export/program_export.h"

#include <torch/version.h>

#include <algorithm>
#include <span>

#include "core/formats/archive/archive_writer.h"
#include "core/formats/pt2/file/legacy.h"
#include "core/formats/pt2/file/meta_algebra.h"
#include "core/formats/pt2/file/program_file.h"
#include "core/formats/pt2/file/tensor_meta.h"
#include "core/lab/export/forward.h"

namespace normlens::lab {
namespace {

using formats::pt2::Json;
using Array = Json::Array;
using Object = Json::Object;
using formats::pt2::schemaNumber;

// What torch.export writes for one tensor x, but for what depends on the network.
constexpr const char* kProgram = R"({
  "graph_module": {
    "graph": {"inputs": [], "outputs": [], "nodes": [], "tensor_values": {}, "sym_int_values": {}, "sym_bool_values": {},
              "is_single_tensor_return": false, "custom_obj_values": {}, "sym_float_values": {}},
    "signature": {"input_specs": [], "output_specs": []},
    "module_call_graph": [{"fqn": "", "signature": {
      "inputs": [], "outputs": [],
      "in_spec": "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [)"
                                 R"({\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [)"
                                 R"({\"type\": null, \"context\": null, \"children_spec\": []}]}, )"
                                 R"({\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]",
      "out_spec": "[1, {\"type\": null, \"context\": null, \"children_spec\": []}]",
      "forward_arg_names": ["x"]}}],
    "metadata": {}, "treespec_namedtuple_fields": {}},
  "opset_version": {"aten": 10},
  "range_constraints": {"s0": {"min_val": 1, "max_val": null}},
  "schema_version": {"major": 8, "minor": 15},
  "verifiers": ["TRAINING"],
  "torch_version": ")" TORCH_VERSION R"(",
  "guards_code": []})";
constexpr const char* kTensor =
    R"({"dtype": 0, "sizes": [], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [],
        "storage_offset": {"as_int": 0}, "layout": 7})";
constexpr int64_t kBatch = 2;  // of the example that the sizes speak of

Json parsed(const char* text) { return formats::pt2::parseJson(text).value(); }

Json integer(int64_t number) { return Object{{"as_int", number}}; }
Json freeSize(const std::string& symbol, int64_t example) {
  return Object{{"as_expr", Object{{"expr_str", "Symbol('" + symbol + "', positive=True, integer=True)"},
                                   {"hint", integer(example)}}}};
}
Json integers(std::initializer_list<int64_t> numbers) {
  return Object{{"as_ints", Array(numbers.begin(), numbers.end())}};
}
Json named(const std::string& name) { return Object{{"as_tensor", Object{{"name", name}}}}; }

// Axes in another order, as a view; those that are not named are gone.
Json permutedMeta(const Json& of, std::initializer_list<size_t> axes) {
  Json made = of;
  for (const char* list : {"sizes", "strides"}) {
    Array& items = made.at(list).items();
    items.clear();
    for (const size_t axis : axes) items.push_back(of.at(list).items()[axis]);
  }
  return made;
}

// Node by node, and beside them what is said of each value.
class ProgramWriter final : public ForwardWriter {
 public:
  ProgramWriter(const Network& network, const RunSettings& settings) : ForwardWriter(network, settings) {
    const at::Tensor& first = network.parameters().front().value;
    const bool isDouble = first.scalar_type() == at::kDouble;
    plain_.set("dtype", schemaNumber(isDouble ? graph::DType::Float64 : graph::DType::Float32));
    Json input = denseMeta(plain_, {freeSize("s0", kBatch), isTransformer() ? length_ : integer(first.size(1))});
    if (isTransformer()) input.set("dtype", schemaNumber(graph::DType::Int64));
    values_.set(kInput, std::move(input));
  }

  Json program(int layers) {
    const Json scores = named(writeForward(layers));
    Json program = parsed(kProgram);
    if (isTransformer())
      program.at("range_constraints")
          .set("s1", Object{{"min_val", int64_t{1}}, {"max_val", int64_t{settings().context}}});
    Json& signature = program.at("graph_module").at("signature");
    inputs_.push_back(named(kInput));
    inputSpecs_.emplace_back(Object{{"user_input", Object{{"arg", named(kInput)}}}});
    signature.set("input_specs", inputSpecs_);
    signature.set("output_specs", Array{Object{{"user_output", Object{{"arg", scores}}}}});
    Json& graph = program.at("graph_module").at("graph");
    graph.set("inputs", inputs_);
    graph.set("outputs", Array{scores});
    graph.set("nodes", nodes_);
    graph.set("tensor_values", values_);
    graph.set("sym_int_values", lengths_);
    return program;
  }

  // By the names of their records; by FQN what data/weights tells of each.
  [[nodiscard]] const std::vector<std::pair<std::string, at::Tensor>>& weights() const { return weights_; }
  [[nodiscard]] const Object& weightTable() const { return weightTable_; }

 private:
  Value linear(const std::string& part, const Value& x) override {
    const Value weight = held(part + ".weight"), bias = held(part + ".bias");
    Array sizes = metaOf(x).at("sizes").items();
    sizes.back() = metaOf(weight).at("sizes").items().front();
    return node("linear.default", {{"input", named(x)}, {"weight", named(weight)}, {"bias", named(bias)}},
                denseMeta(plain_, std::move(sizes)), part);
  }
  Value layerNorm(const std::string& part, const Value& x) override {
    const Json weight = named(held(part + ".weight")), bias = named(held(part + ".bias"));
    return node(
        "layer_norm.default",
        {{"input", named(x)}, {"normalized_shape", width()}, {"weight", weight}, {"bias", bias}, {"eps", eps()}},
        metaOf(x), part);
  }
  Value rmsNorm(const std::string& part, const Value& x) override {
    const Json weight = named(held(part + ".weight")), bias = named(held(part + ".bias"));
    const Value scaled =
        node("rms_norm.default",
             {{"input", named(x)}, {"normalized_shape", width()}, {"weight", weight}, {"eps", eps()}}, metaOf(x), part);
    return node("add.Tensor", {{"self", named(scaled)}, {"other", bias}}, metaOf(x), part);
  }
  Value lookUp(const std::string& part, const Value& characters) override {
    const Value weight = held(part + ".weight");
    Array sizes = metaOf(characters).at("sizes").items();
    sizes.push_back(integer(settings().width));
    return node("embedding.default", {{"weight", named(weight)}, {"indices", named(characters)}},
                denseMeta(plain_, std::move(sizes)), part);
  }
  Value places(const std::string& part, const Value& characters) override {
    const Value length = "sym_size_int", weight = held(part + ".weight");
    lengths_.emplace_back(length, length_);
    const Json isLength = Object{{"as_sym_int", Object{{"as_name", length}}}};
    addNode("sym_size.int", length, {{"self", named(characters)}, {"dim", integer(1)}}, isLength, "");
    return node("slice.Tensor",
                {{"self", named(weight)}, {"dim", integer(0)}, {"start", integer(0)}, {"end", isLength}},
                denseMeta(plain_, {length_, integer(settings().width)}), part);
  }
  Value activation(const std::string& op, const Value& x) override {
    return node(op + ".default", {{"self", named(x)}}, metaOf(x));
  }
  Value add(const Value& a, const Value& b) override {
    return node("add.Tensor", {{"self", named(a)}, {"other", named(b)}}, metaOf(a));
  }

  Value attention(const Value& qkv) override {
    const int64_t heads = settings().heads;
    Json meta = unflattenedMeta(metaOf(qkv), 2, {3, heads, headSize()});
    const Value cut =
        node("unflatten.int", {{"self", named(qkv)}, {"dim", integer(2)}, {"sizes", integers({3, heads, headSize()})}},
             meta);
    meta = permutedMeta(meta, {2, 0, 3, 1, 4});
    const Value turned = node("permute.default", {{"self", named(cut)}, {"dims", integers({2, 0, 3, 1, 4})}}, meta);
    const auto part = [&](int64_t index) {
      Json one = permutedMeta(meta, {1, 2, 3, 4});
      one.set("storage_offset", integer(index * settings().width));
      return named(node("select.int", {{"self", named(turned)}, {"dim", integer(0)}, {"index", integer(index)}}, one));
    };
    const Json query = part(0), key = part(1), value = part(2);
    // [batch, length, head, ...] as torch lays it out.
    const Json laidOut = denseMeta(plain_, permutedMeta(meta, {1, 3, 2, 4}).at("sizes").items());
    const Value mixed = node("scaled_dot_product_attention.default",
                             {{"query", query},
                              {"key", key},
                              {"value", value},
                              {"attn_mask", Object{{"as_none", true}}},
                              {"dropout_p", Object{{"as_float", 0.0}}},
                              {"is_causal", Object{{"as_bool", true}}}},
                             permutedMeta(laidOut, {0, 2, 1, 3}));
    const Value back =
        node("transpose.int", {{"self", named(mixed)}, {"dim0", integer(1)}, {"dim1", integer(2)}}, laidOut);
    return node("flatten.using_ints", {{"self", named(back)}, {"start_dim", integer(2)}}, flattenedMeta(laidOut, 2, 3));
  }

  [[nodiscard]] Json width() const { return integers({settings().width}); }
  [[nodiscard]] Json eps() const { return Object{{"as_float", settings().norm_eps}}; }
  [[nodiscard]] const Json& metaOf(const Value& value) const { return values_.at(value); }

  // A parameter as a value.
  Value held(const std::string& fqn) {
    const at::Tensor tensor = parameter(fqn);
    const std::string record = "weight_" + std::to_string(weights_.size());
    const Value value = fresh("p_" + fqn);
    Array sizes;
    for (const int64_t size : tensor.sizes()) sizes.push_back(integer(size));
    Json meta = denseMeta(plain_, std::move(sizes));
    meta.set("requires_grad", true);
    weights_.emplace_back(record, tensor);
    weightTable_.emplace_back(
        fqn, Object{{"path_name", record}, {"is_param", true}, {"use_pickle", false}, {"tensor_meta", meta}});
    inputs_.push_back(named(value));
    inputSpecs_.emplace_back(Object{{"parameter", Object{{"arg", Object{{"name", value}}}, {"parameter_name", fqn}}}});
    values_.set(value, std::move(meta));
    return value;
  }

  // arguments: by the schema's names, in its order. part: the layer that it is of.
  Value node(const std::string& target, const Object& arguments, Json meta, const std::string& part = "") {
    const Value value = fresh(target.substr(0, target.find('.')));
    addNode(target, value, arguments, named(value), part);
    values_.set(value, std::move(meta));
    return value;
  }
  void addNode(const std::string& target, const Value& name, const Object& arguments, const Json& output,
               const std::string& part) {
    Array inputs;
    for (const auto& [argument, value] : arguments)
      inputs.emplace_back(Object{{"name", argument}, {"arg", value}, {"kind", int64_t{1}}});
    std::string modules = "L__self__,,LaboratoryNetwork";
    if (!part.empty()) modules += ";L__self___" + part + "," + part + ",parts." + part;
    nodes_.emplace_back(Object{{"target", "torch.ops.aten." + target},
                               {"inputs", inputs},
                               {"outputs", Array{output}},
                               {"metadata", Object{{"nn_module_stack", modules}}},
                               {"is_hop_single_tensor_return", Json()},
                               {"name", name}});
  }
  [[nodiscard]] Value fresh(std::string name) const {
    std::ranges::replace(name, '.', '_');
    Value made = name;
    for (int i = 1; values_.find(made) != nullptr; ++i) made = name + "_" + std::to_string(i);
    return made;
  }

  Json plain_ = parsed(kTensor);
  Json length_ = freeSize("s1", settings().context);
  Array nodes_, inputs_, inputSpecs_;
  Json values_ = Object();
  Object lengths_, weightTable_;
  std::vector<std::pair<std::string, at::Tensor>> weights_;
};

}  // namespace

Status writeProgram(const Network& network, const RunSettings& settings, int layers,
                    const std::filesystem::path& path) {
  namespace pt2 = formats::pt2;
  ProgramWriter writer(network, settings);
  const std::string program = writer.program(layers).dump();
  const std::string weights = Json(Object{{"config", writer.weightTable()}}).dump();
  const std::string constants = Json(Object{{"config", Object()}}).dump();
  std::vector<formats::RecordToWrite> records;
  const auto put = [&](const std::string& name, std::span<const std::byte> bytes) {
    records.push_back({path.stem().string() + "/" + name, formats::ZipMethod::Stored, bytes.size(), {bytes}, {}});
  };
  const auto putText = [&](const std::string& name, std::string_view text) {
    put(name, std::as_bytes(std::span(text)));
  };
  for (const auto& [name, tensor] : writer.weights())
    put("data/weights/" + name, {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()});
  putText(pt2::weightsRecord("model"), weights);
  putText(pt2::constantsRecord("model"), constants);
  putText(pt2::programRecord("model"), program);
  putText("data/sample_inputs/model.pt", {});  // no example is kept
  for (const auto& [name, content] : pt2::kContainerRecords) putText(std::string(name), content);
  return formats::writeArchive(path, std::move(records), {}, {});
}

}  // namespace normlens::lab
