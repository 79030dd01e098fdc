#include "tests/formats/pt2/program_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace normlens::formats::pt2::test {
namespace {

std::string size(int64_t value, int64_t factor = 1) {
  if (value >= 0) return R"({"as_int": )" + std::to_string(value * factor) + "}";
  const std::string symbol = R"(Symbol('s0', positive=True, integer=True))";
  const std::string expr = factor == 1 ? symbol : "Mul(Integer(" + std::to_string(factor) + "), " + symbol + ")";
  return R"({"as_expr": {"expr_str": ")" + expr + R"(", "hint": {"as_int": )" + std::to_string(3 * factor) + "}}}";
}

std::string held(const std::string& placeholder, const std::string& fqn) {
  return R"({"parameter": {"arg": {"name": ")" + placeholder + R"("}, "parameter_name": ")" + fqn + R"("}})";
}

std::vector<float> numbers(int count, float seed) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(std::sin(seed + 1.7F * static_cast<float>(i)));
  return values;
}

}  // namespace

std::string argument(const std::string& name, const std::string& arg) {
  return R"({"name": ")" + name + R"(", "arg": )" + arg + R"(, "kind": 1})";
}
std::string tensor(const std::string& name) { return R"({"as_tensor": {"name": ")" + name + R"("}})"; }

std::string node(const std::string& target, const std::string& inputs, const std::string& output,
                 const std::string& module, const std::string& type) {
  const std::string trace = R"(File \"model.py\", line 7, in forward\n    y = self.)" + module;
  const std::string stack = "L__self__,,m.Net;L__self__" + module + "," + module + "," + type;
  return R"({"target": "torch.ops.)" + target + R"(", "inputs": [)" + inputs + R"(], "outputs": [)" + tensor(output) +
         R"(], "metadata": {)" +
         (module.empty() ? "" : R"("stack_trace": ")" + trace + R"(", "nn_module_stack": ")" + stack + "\"") +
         R"(}, "is_hop_single_tensor_return": null, "name": ")" + output + R"("})";
}

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::string tensorMeta(const std::vector<int>& sizes, int dtype) {
  std::string shape, strides;
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t stride = 1;
    bool symbolic = false;
    for (size_t k = i + 1; k < sizes.size(); ++k) {
      if (sizes[k] < 0) {
        symbolic = true;
      } else {
        stride *= sizes[k];
      }
    }
    shape += (i == 0 ? "" : ", ") + size(sizes[i]);
    strides += (i == 0 ? "" : ", ") + (symbolic ? size(-1, stride) : size(stride));
  }
  return R"({"dtype": )" + std::to_string(dtype) + R"(, "sizes": [)" + shape +
         R"(], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [)" + strides +
         R"(], "storage_offset": {"as_int": 0}, "layout": 7})";
}

ProgramText programOf(const ProgramParts& parts) {
  std::string inputs, specs, values, outputs, results, nodes, weights;
  const auto join = [](std::string& list, const std::string& next) { list += (list.empty() ? "" : ", ") + next; };
  ProgramText text;
  for (const auto& [placeholder, fqn, meta, bytes] : parts.held) {
    const auto record = "weight_" + std::to_string(text.records.size());
    join(inputs, tensor(placeholder));
    join(specs, held(placeholder, fqn));
    join(values, R"(")" + placeholder + R"(": )" + meta);
    join(weights, R"(")" + fqn + R"(": {"path_name": ")" + record +
                      R"(", "is_param": true, "use_pickle": false, "tensor_meta": )" + meta + "}");
    text.records["data/weights/" + record] = bytes;
  }
  for (const auto& [name, meta] : parts.inputs) {
    join(inputs, tensor(name));
    join(specs, R"({"user_input": {"arg": )" + tensor(name) + "}}");
    join(values, R"(")" + name + R"(": )" + meta);
  }
  for (const auto& node : parts.nodes) join(nodes, node);
  for (const auto& [name, meta] : parts.values) join(values, R"(")" + name + R"(": )" + meta);
  for (const auto& name : parts.outputs) {
    join(outputs, tensor(name));
    join(results, R"({"user_output": {"arg": )" + tensor(name) + "}}");
  }
  text.program =
      R"({"graph_module": {"graph": {"inputs": [)" + inputs + R"(], "outputs": [)" + outputs + R"(], "nodes": [)" +
      nodes + R"(], "tensor_values": {)" + values +
      R"(}, "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": false, "custom_obj_values": {}, "sym_float_values": {}}, "signature": {"input_specs": [)" +
      specs + R"(], "output_specs": [)" + results +
      R"(]}, "module_call_graph": [], "metadata": {}, "treespec_namedtuple_fields": {}}, "opset_version": {"aten": 10}, "range_constraints": {)" +
      (parts.dynamic ? R"("s0": {"min_val": 2, "max_val": 64})" : "") +
      R"(}, "schema_version": {"major": 8, "minor": 20}, "verifiers": ["TRAINING"], "torch_version": "2.15.0", "guards_code": []})";
  text.weights = R"({"config": {)" + weights + "}}";
  return text;
}

ProgramText linearAndNorm(int width, bool dynamic) {
  const std::string square = tensorMeta({width, width}), vector = tensorMeta({width}),
                    rows = tensorMeta({dynamic ? -1 : 3, width});
  const std::string linear = argument("input", tensor("x")) + ", " + argument("weight", tensor("p_fc_weight")) + ", " +
                             argument("bias", tensor("p_fc_bias"));
  const std::string norm = argument("input", tensor("linear")) + ", " +
                           argument("normalized_shape", R"({"as_ints": [)" + std::to_string(width) + "]}") + ", " +
                           argument("weight", tensor("p_ln_weight")) + ", " + argument("bias", tensor("p_ln_bias")) +
                           ", " + argument("eps", R"({"as_float": 1e-05})");
  ProgramParts parts;
  for (const char* name : {"fc.weight", "fc.bias", "ln.weight", "ln.bias"}) {
    const auto seed = static_cast<float>(parts.held.size());
    std::string placeholder = "p_" + std::string(name);
    std::ranges::replace(placeholder, '.', '_');
    const bool isSquare = parts.held.empty();
    parts.held.push_back(
        {placeholder, name, isSquare ? square : vector, floats(numbers(isSquare ? width * width : width, seed))});
  }
  parts.inputs = {{"x", rows}};
  parts.nodes = {node("aten.linear.default", linear, "linear", "fc", "torch.nn.modules.linear.Linear"),
                 node("aten.layer_norm.default", norm, "layer_norm", "ln", "torch.nn.LayerNorm")};
  parts.values = {{"linear", rows}, {"layer_norm", rows}};
  parts.outputs = {"layer_norm"};
  parts.dynamic = dynamic;
  return programOf(parts);
}

std::vector<formats::test::ZipEntry> ProgramText::entries(const std::string& folder) const {
  std::vector<formats::test::ZipEntry> made;
  for (const auto& [name, content] : records) made.push_back({.name = folder + name, .content = content});
  made.push_back({.name = folder + "data/weights/model_weights_config.json", .content = weights});
  made.push_back({.name = folder + "data/constants/model_constants_config.json", .content = constants});
  made.push_back({.name = folder + "models/model.json", .content = program});
  made.push_back({.name = folder + "archive_format", .content = "pt2"});
  made.push_back({.name = folder + "archive_version", .content = "0"});
  made.push_back({.name = folder + "byteorder", .content = "little"});
  return made;
}

std::vector<formats::test::ZipEntry> ProgramText::entriesOfTwo() const {
  auto both = entries();
  both.push_back({.name = "m/data/weights/other_weights_config.json", .content = weights});
  both.push_back({.name = "m/data/constants/other_constants_config.json", .content = constants});
  both.push_back({.name = "m/models/other.json", .content = program});
  return both;
}

ProgramText& ProgramText::bend(const std::string& from, const std::string& to) {
  const size_t at = program.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) program.replace(at, from.size(), to);
  return *this;
}

}  // namespace normlens::formats::pt2::test
