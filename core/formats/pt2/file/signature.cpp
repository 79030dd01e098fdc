#include "core/formats/pt2/file/signature.h"

#include <algorithm>
#include <set>

#include "core/base/printable.h"

namespace normlens::formats::pt2 {
namespace {

constexpr size_t kLongest = 200;

// The strings of a list; empty where it is another list, or none.
std::vector<std::string> stringsOf(const Json& list) {
  std::vector<std::string> strings;
  if (!list.isArray()) return strings;
  for (const Json& item : list.items()) {
    if (!item.isString()) return {};
    strings.push_back(item.text());
  }
  return strings;
}

// A tree as torch.utils._pytree writes it: {"type", "context", "children_spec"}, a leaf's type null.
class Tree {
 public:
  explicit Tree(const Json* namedTuples) : namedTuples_(namedTuples) {}

  void walk(const Json& spec, const std::string& path, bool isNamed) {
    if (spec.at("type").isNull()) {
      names_.push_back(isNamed && path.size() <= kLongest ? printable(path) : std::string());
      return;
    }
    const auto& children = spec.at("children_spec").items();
    const std::vector<std::string> keys = keysOf(spec, children.size());
    for (size_t i = 0; i < children.size(); ++i) {
      const std::string& key = keys.empty() ? std::to_string(i) : keys[i];
      walk(children[i], path.empty() ? key : path + "." + key, isNamed || !keys.empty());
    }
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(names_); }

 private:
  // Returns what the children are called; empty where they have numbers only. A dict's context is the list of its keys,
  // that of a dataclass the list of its fields and of those that are None; that of a named tuple its class, whose
  // fields are elsewhere. Source: torch/utils/_pytree.py, treespec_dumps and the registrations of its types.
  [[nodiscard]] std::vector<std::string> keysOf(const Json& spec, size_t count) const {
    const Json& context = spec.at("context");
    std::vector<std::string> keys;
    if (spec.at("type").text() == "collections.namedtuple") {
      const Json* fields = namedTuples_ == nullptr ? nullptr : namedTuples_->find(context.text());
      if (fields != nullptr) keys = stringsOf(fields->at("field_names"));
    } else if (const auto parsed = parseJson(context.text()); parsed && parsed->isArray()) {
      const auto& items = parsed->items();
      keys = stringsOf(!items.empty() && items[0].isArray() ? items[0] : *parsed);
    }
    const bool fit = keys.size() == count && std::ranges::find(keys, "") == keys.end();
    return fit ? keys : std::vector<std::string>();
  }

  const Json* namedTuples_;
  std::vector<std::string> names_;
};

constexpr size_t kLongestName = 1024;

UserInput userInput(const Json& argument, const Json& graph) {
  const auto& [kind, value] = argument.only();
  UserInput input;
  if (kind == "as_tensor") {
    input.name = value.at("name").text();
    input.meta = readTensorMeta(graph.at("tensor_values").at(input.name));
    return input;
  }
  input.kind = kind == "as_sym_int"     ? UserInput::Kind::Int
               : kind == "as_sym_float" ? UserInput::Kind::Float
               : kind == "as_sym_bool"  ? UserInput::Kind::Bool
                                        : UserInput::Kind::Tensor;
  if (input.kind == UserInput::Kind::Tensor)
    throw UnsupportedProgram("takes an input of the kind '" + kind.substr(0, 40) + "', which NormLens cannot give it",
                             "export it with tensors and numbers for inputs");
  input.name = value.at("as_name").text();
  const Json* number = graph.at("sym_int_values").find(input.name);
  if (input.kind == UserInput::Kind::Int && number != nullptr) input.number = readSymSize(*number);
  return input;
}

HeldTensor heldTensor(const std::string& kind, const Json& spec) {
  if (kind == "parameter")
    return {HeldTensor::Kind::Parameter, spec.at("arg").at("name").text(), spec.at("parameter_name").text(), true};
  if (kind == "buffer")
    return {HeldTensor::Kind::Buffer, spec.at("arg").at("name").text(), spec.at("buffer_name").text(),
            spec.at("persistent").boolean()};
  return {HeldTensor::Kind::Constant, spec.at("arg").at("name").text(), spec.at("tensor_constant_name").text(), false};
}

bool isPlainValue(const Json& argument) {
  const std::string& kind = argument.only().first;
  return kind == "as_int" || kind == "as_float" || kind == "as_bool" || kind == "as_string" || kind == "as_none";
}

void addInput(const Json& spec, const Json& graph, Signature& into) {
  const auto& [kind, content] = spec.only();
  if (kind == "parameter" || kind == "buffer" || kind == "tensor_constant") {
    into.held.push_back(heldTensor(kind, content));
    checkName(into.held.back().fqn);
    checkName(into.held.back().placeholder);
  } else if (kind == "user_input") {
    if (isPlainValue(content.at("arg"))) return;  // written where it is read
    into.inputs.push_back(userInput(content.at("arg"), graph));
    checkName(into.inputs.back().name);
  } else if (kind == "constant_input") {
    into.baked.push_back(content.at("name").text());
  } else if (kind == "custom_obj") {
    throw UnsupportedProgram("holds an object of a class of its own, which NormLens never loads",
                             "export the model without script objects");
  } else {
    throw UnsupportedProgram("has an input of the kind '" + kind.substr(0, 40) + "', which NormLens does not know",
                             "export it with run_decompositions({})");
  }
}

OutputSpec outputSpec(const Json& spec) {
  const auto& [kind, content] = spec.only();
  OutputSpec made;
  if (kind == "user_output" || kind == "loss_output") return made;
  made.isUsers = false;
  made.isToken = kind == "token";
  if (made.isToken) return made;
  const Json* name = nullptr;
  for (const char* key : {"buffer_name", "parameter_name", "user_input_name"}) {
    if (name == nullptr) name = content.find(key);
  }
  if (name == nullptr)
    throw UnsupportedProgram("has an output of the kind '" + kind.substr(0, 40) + "', which NormLens does not know",
                             "export the forward pass alone");
  made.written = name->text();
  return made;
}

void nameOutputs(const Json& graphModule, std::vector<OutputSpec>& outputs) {
  const std::vector<std::string> names = outputNames(graphModule);
  if (std::ranges::count(outputs, true, &OutputSpec::isUsers) != static_cast<std::ptrdiff_t>(names.size())) return;
  auto name = names.begin();
  for (OutputSpec& output : outputs) {
    if (output.isUsers) output.name = *name++;
  }
}

}  // namespace

std::vector<std::string> outputNames(const Json& graphModule) {
  try {
    for (const Json& call : graphModule.at("module_call_graph").items()) {
      const Json* signature = call.find("signature");
      if (!call.at("fqn").text().empty() || signature == nullptr || signature->isNull()) continue;
      const auto spec = parseJson(signature->at("out_spec").text());
      if (!spec || spec->items().size() != 2) return {};
      Tree tree(graphModule.find("treespec_namedtuple_fields"));
      tree.walk(spec->items()[1], {}, false);
      return tree.take();
    }
  } catch (const BrokenDocument&) {
    return {};
  }
  return {};
}

// An error message may quote the file, and a file may contain anything.
Error unsupportedProgram(const std::filesystem::path& path, const UnsupportedProgram& problem) {
  return {ErrorCode::Unsupported, path.string() + " " + printable(problem.what()), problem.hint};
}

Error damagedProgram(const std::filesystem::path& path, const std::string& what) {
  return {ErrorCode::Unreadable, path.string() + " is a damaged torch.export archive: " + printable(what),
          "copy or export the file again"};
}

void checkName(const std::string& name) {
  const bool bad = name.empty() || name.size() > kLongestName ||
                   std::ranges::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (bad) throw BrokenDocument("a name is empty, too long or has control characters");
}

Signature readSignature(const ProgramFile& file) {
  Signature signature;
  const Json& graph = file.graph();
  const auto& inputs = file.signature().at("input_specs").items();
  const auto& outputs = file.signature().at("output_specs").items();
  if (inputs.size() != graph.at("inputs").items().size() || outputs.size() != graph.at("outputs").items().size())
    throw BrokenDocument("its signature has not as many inputs or outputs as its graph");
  for (const Json& spec : inputs) addInput(spec, graph, signature);
  for (size_t i = 0; i < outputs.size(); ++i) {
    OutputSpec& made = signature.outputs.emplace_back(outputSpec(outputs[i]));
    const std::string& kind = graph.at("outputs").items()[i].only().first;
    made.isResult = made.isUsers && (kind == "as_tensor" || kind.starts_with("as_sym_"));
  }
  nameOutputs(file.graphModule(), signature.outputs);
  std::set<std::string> names;
  for (const HeldTensor& held : signature.held) {
    if (!names.insert(held.placeholder).second) throw BrokenDocument("two inputs are called " + held.placeholder);
  }
  for (const UserInput& input : signature.inputs) {
    if (!names.insert(input.name).second) throw BrokenDocument("two inputs are called " + input.name);
  }
  return signature;
}

std::map<std::string, SymRange> readRanges(const ProgramFile& file) {
  std::map<std::string, SymRange> ranges;
  const Json* all = file.program.find("range_constraints");
  if (all == nullptr) return ranges;
  for (const auto& [symbol, range] : all->members()) {
    SymRange& made = ranges[symbol];
    const Json* low = range.find("min_val");
    const Json* high = range.find("max_val");
    if (low != nullptr && low->isNumber()) made.low = low->integer();
    if (high != nullptr && high->isNumber()) made.high = high->integer();
  }
  return ranges;
}

std::vector<Assertion> readAssertions(const ProgramFile& file) {
  std::vector<Assertion> assertions;
  const Json& graph = file.graph();
  const Json* truths = graph.find("sym_bool_values");
  for (const Json& node : graph.at("nodes").items()) {
    if (truths == nullptr || node.at("target").text() != "torch.ops.aten._assert_scalar.default") continue;
    const auto& inputs = node.at("inputs").items();
    const Json* symbol = inputs.empty() ? nullptr : inputs[0].at("arg").find("as_sym_bool");
    const Json* name = symbol == nullptr ? nullptr : symbol->find("as_name");
    const Json* truth = name == nullptr ? nullptr : truths->find(name->text());
    const Json* expr = truth == nullptr ? nullptr : truth->find("as_expr");
    if (expr == nullptr) continue;
    auto condition = parseSymExpr(expr->at("expr_str").text());
    if (!condition) throw BrokenDocument(condition.error().message);
    const Json* message = inputs.size() < 2 ? nullptr : inputs[1].at("arg").find("as_string");
    std::string text = message == nullptr ? textOf(*condition) : message->text().substr(0, 200);
    assertions.push_back({std::move(*condition), std::move(text)});
  }
  return assertions;
}

}  // namespace normlens::formats::pt2
