// One net in three files. A .pt is a zip of code and pickles, a .pt2 one of JSON: neither needs torch.
#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>

#include "tests/formats/archive/zip_builder.h"
#include "tests/formats/edit/net.h"
#include "tests/formats/onnx/onnx_fixture.h"
#include "tests/formats/pt2/program_text.h"

namespace normlens::formats::test {
namespace {

bool isName(const std::string& operand) { return std::isalpha(static_cast<unsigned char>(operand[0])) != 0; }

// The template of a statement with each place filled.
std::string filledIn(const std::string& text, const Statement& statement,
                     const std::function<std::string(const std::string&)>& operand) {
  std::string out;
  size_t at = 0;
  for (size_t open = text.find('{'); open != std::string::npos; open = text.find('{', at)) {
    const size_t close = text.find('}', open);
    const std::string place = text.substr(open + 1, close - open - 1);
    out += text.substr(at, open - at);
    if (place == "y") {
      out += statement.result;
    } else if (place[0] == '#') {
      out += statement.operands.at(std::stoul(place.substr(1)));
    } else {
      out += operand(statement.operands.at(std::stoul(place)));
    }
    at = close + 1;
  }
  return out + text.substr(at);
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

std::string bytesOf(const std::vector<float>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)};
}

std::string pickled(int64_t number) {
  const auto narrow = static_cast<int32_t>(number);
  return "J" + std::string(reinterpret_cast<const char*>(&narrow), sizeof narrow);
}

std::string pickled(const std::string& text) {
  const auto length = static_cast<uint32_t>(text.size());
  return "X" + std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

std::string pickledTensor(const graph::Shape& shape, const std::string& record) {
  std::string sizes, strides;
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) {
    sizes = pickled(shape[i]) + sizes;
    strides = pickled(stride) + strides;
  }
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + pickled("storage") + "ctorch\nFloatStorage\n" + pickled(record) +
         pickled("cpu") + pickled(stride) + "tQ" + pickled(0) + "(" + sizes + "t(" + strides +
         "t\x89"
         "ccollections\nOrderedDict\n)RtR";
}

void writeTorchScript(const Net& net, const std::filesystem::path& path) {
  const NetParts parts = partsOf(net);
  const auto isWeight = [&](const std::string& name) { return parts.numbers.contains(name); };
  std::string code = "class Net(Module):\n  __parameters__ = [";
  for (const auto& name : parts.weights) code += "\"" + name + "\", ";
  code += "]\n  __buffers__ = []\n";
  for (const auto& name : parts.weights) code += "  " + name + " : Tensor\n";
  code += "  def forward(self: __torch__.Net";
  for (const auto& name : parts.inputs) code += ", " + name + ": Tensor";
  std::vector<std::string> types(net.outputs.size(), "Tensor");
  const bool isTuple = types.size() > 1;
  code += ") -> " + (isTuple ? "Tuple[" + joined(types) + "]" : "Tensor") + ":\n";
  for (const auto& statement : parts.statements) {
    const auto operand = [&](const std::string& word) { return (isWeight(word) ? "self." : "") + word; };
    code += "    " + statement.result + " = " + filledIn(rowOf(statement.op).torchScript, statement, operand) + "\n";
  }
  code += "    return " + (isTuple ? "(" + joined(net.outputs) + ")" : net.outputs[0]) + "\n";
  std::string data =
      "\x80\x02"
      "c__torch__\nNet\n)\x81}(";
  std::vector<ZipEntry> entries;
  for (size_t i = 0; i < parts.weights.size(); ++i) {
    const auto& name = parts.weights[i];
    data += pickled(name) + pickledTensor(parts.shapes.at(name), std::to_string(i));
    entries.push_back({.name = "m/data/" + std::to_string(i), .content = bytesOf(parts.numbers.at(name))});
  }
  entries.push_back({.name = "m/data.pkl", .content = data + "ub."});
  entries.push_back({.name = "m/code/__torch__.py", .content = code});
  entries.push_back({.name = "m/constants.pkl", .content = "\x80\x02)."});
  entries.push_back({.name = "m/version", .content = "10\n"});
  writeFile(path, buildZip(entries));
}

std::string onnxType(const graph::Shape& shape, const char* type = "float") {
  std::vector<std::string> sizes;
  for (const int64_t size : shape)
    sizes.push_back(size == kBatch ? "B" : size == kTokens ? "T" : size < 0 ? "U" : std::to_string(size));
  return type + ("[" + joined(sizes) + "] ");
}

void writeOnnx(const Net& net, const std::filesystem::path& path) {
  const NetParts parts = partsOf(net);
  std::vector<std::string> inputs, outputs;
  for (const auto& name : parts.inputs)
    inputs.push_back(onnxType(parts.shapes.at(name), name == "ids" ? "int64" : "float") + name);
  for (const auto& name : net.outputs) outputs.push_back(onnxType(parts.shapes.at(name)) + name);
  std::string code;
  int constants = 0;
  for (const auto& statement : parts.statements) {
    const auto operand = [&](const std::string& word) {
      if (isName(word)) return word;
      const std::string name = "number" + std::to_string(++constants);
      code += name + " = Constant <value_float = " + word + "> ()\n";
      return name;
    };
    const std::string line = filledIn(rowOf(statement.op).onnx, statement, operand);
    code += line + "\n";
  }
  auto model = onnx::modelFromText("<ir_version: 8, opset_import: [\"\" : 17]> g (" + joined(inputs) + ") => (" +
                                   joined(outputs) + ") {\n" + code + "}");
  for (const auto& name : parts.weights) {
    auto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t size : parts.shapes.at(name)) tensor.add_dims(size);
    tensor.set_raw_data(bytesOf(parts.numbers.at(name)));
  }
  std::ofstream file(path, std::ios::binary);
  model.SerializeToOstream(&file);
}

std::string exportedValue(const std::string& text) {
  if (text[0] == '[') return R"({"as_ints": )" + text + "}";
  if (text == "true") return R"({"as_bool": true})";
  if (text[0] == '<') {
    const size_t comma = text.find(',');
    return R"({"as_tensors": [{"name": ")" + text.substr(1, comma - 1) + R"("}, {"name": ")" +
           text.substr(comma + 1, text.size() - comma - 2) + R"("}]})";
  }
  if (isName(text)) return R"({"as_tensor": {"name": ")" + text + R"("}})";
  return (text.find_first_of(".e") == std::string::npos ? R"({"as_int": )" : R"({"as_float": )") + text + "}";
}

void writeExported(const Net& net, const std::filesystem::path& path) {
  const NetParts parts = partsOf(net);
  const auto meta = [&](const std::string& name, bool isMask) {
    std::vector<int> sizes;
    for (const int64_t size : parts.shapes.at(name))
      sizes.push_back(static_cast<int>(size < kBatch ? size - kTokens + kWrittenTokens : size));
    return pt2::test::tensorMeta(sizes, isMask ? 12 : name == "ids" ? 5 : 7);
  };
  pt2::test::ProgramParts program;
  for (const auto& name : parts.weights)
    program.held.push_back({"p_" + name, name, meta(name, false), bytesOf(parts.numbers.at(name))});
  for (const auto& name : parts.inputs) program.inputs.emplace_back(name, meta(name, false));
  for (const auto& statement : parts.statements) {
    const auto operand = [&](const std::string& word) { return (parts.numbers.contains(word) ? "p_" : "") + word; };
    std::istringstream words(filledIn(rowOf(statement.op).exported, statement, operand));
    std::string target, inputs;
    words >> target;
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      inputs += (inputs.empty() ? "" : ", ") +
                pt2::test::argument(word.substr(0, equals), exportedValue(word.substr(equals + 1)));
    }
    program.nodes.push_back(pt2::test::node(target, inputs, statement.result, "", ""));
    program.values.emplace_back(statement.result, meta(statement.result, statement.op == "positive"));
  }
  program.outputs = net.outputs;
  program.dynamic = true;
  writeFile(path, buildZip(pt2::test::programOf(program).entries()));
}

}  // namespace

const std::vector<TestedFormat>& testedFormats() {
  using enum NormFlavour;
  static const std::vector<TestedFormat> formats = {
      {"TorchScript", ".pt", true, {Portable, Primitives, Fast}, writeTorchScript},
      {"Onnx", ".onnx", true, {Standard, Primitives, Ort}, writeOnnx},
      {"Exported", ".pt2", false, {Portable, Primitives, Fast}, writeExported},
  };
  return formats;
}

}  // namespace normlens::formats::test
