#include "core/formats/pt2/write/document_editor.h"

#include <algorithm>

namespace normlens::formats::pt2 {
namespace {

constexpr const char* kValueTables[] = {"tensor_values", "sym_int_values", "sym_float_values", "sym_bool_values"};

std::set<std::string> namesIn(const Json& graph) {
  std::set<std::string> names;
  for (const char* table : kValueTables) {
    const Json* values = graph.find(table);
    if (values == nullptr) continue;
    for (const auto& [name, value] : values->members()) names.insert(name);
  }
  for (const Json& node : graph.at("nodes").items()) {
    if (const Json* name = node.find("name"); name != nullptr && name->isString()) names.insert(name->text());
  }
  return names;
}

// The names in {"as_tensor": {"name": ...}}, {"as_sym_int": {"as_name": ...}}, lists of those.
void addNames(const Json& arguments, std::set<std::string>& names) {
  eachRead(arguments, [&](const Json& name) { names.insert(name.text()); });
}

Json tensorArgument(const std::string& name) {
  return {Json::Object{{"as_tensor", Json(Json::Object{{"name", Json(name)}})}}};
}

// "weight_centered" of "a.b.weight_centered".
std::string placeholderFor(const HeldTensor& held) {
  std::string name = held.kind == HeldTensor::Kind::Parameter ? "p_"
                     : held.kind == HeldTensor::Kind::Buffer  ? "b_"
                                                              : "c_";
  for (const char c : held.fqn) name += c == '.' ? '_' : c;
  return name;
}

}  // namespace

DocumentEditor::DocumentEditor(ProgramFile file) : file_(std::move(file)) {
  graphs_ = graphsIn(file_.program.at("graph_module").at("graph"));
  holders_.resize(graphs_.size());
  std::map<const Json*, int> numbers;
  for (size_t i = 0; i < graphs_.size(); ++i) {
    numbers[graphs_[i]] = static_cast<int>(i);
    names_.push_back(namesIn(*graphs_[i]));
  }
  for (size_t g = 0; g < graphs_.size(); ++g) {
    const auto& nodes = graphs_[g]->at("nodes").items();
    for (size_t n = 0; n < nodes.size(); ++n) {
      for (const Json& input : nodes[n].at("inputs").items()) {
        const Json* inner = input.at("arg").find("as_graph");
        if (inner == nullptr) continue;
        const int number = numbers.at(&inner->at("graph"));
        holders_[static_cast<size_t>(number)] = {static_cast<int>(g), static_cast<int>(n)};
        inner_[{static_cast<int>(g), static_cast<int>(n)}].push_back(number);
      }
    }
  }
}

const std::vector<int>& DocumentEditor::graphsOf(int graph, int node) const {
  static const std::vector<int> none;
  const auto found = inner_.find({graph, node});
  return found == inner_.end() ? none : found->second;
}

Json& DocumentEditor::node(int of, int number) { return graph(of).at("nodes").items()[static_cast<size_t>(number)]; }

std::string DocumentEditor::freshName(int of, const std::string& wanted) {
  const auto taken = [&](const std::string& name) {
    return std::ranges::any_of(names_, [&](const auto& names) { return names.contains(name); });
  };
  std::string name = wanted;
  for (int i = 1; taken(name); ++i) name = wanted + "_" + std::to_string(i);
  names_[static_cast<size_t>(of)].insert(name);
  return name;
}

const Json* DocumentEditor::metaOf(const GraphName& value) const {
  return graphs_[static_cast<size_t>(value.first)]->at("tensor_values").find(value.second);
}

void DocumentEditor::describe(const GraphName& value, Json meta) {
  graph(value.first).at("tensor_values").set(value.second, std::move(meta));
}

void DocumentEditor::insert(int of, int behind, Json made) { insertions_.push_back({of, behind, std::move(made)}); }

void DocumentEditor::setOutputArgument(size_t output, const Json& argument) {
  Json& spec = file_.program.at("graph_module").at("signature").at("output_specs").items().at(output);
  Json& content = spec.members().front().second;
  // An output that updates a held tensor names the value alone.
  const bool isUsers = spec.members().front().first == "user_output";
  content.set("arg", isUsers ? argument : argument.only().second);
}

HeldTensor DocumentEditor::addHeld(const HeldTensor& like, Json meta) {
  Json& module = file_.program.at("graph_module");
  Json& specs = module.at("signature").at("input_specs");
  std::set<std::string> taken;
  size_t at = 0;
  const char* key = like.kind == HeldTensor::Kind::Parameter ? "parameter"
                    : like.kind == HeldTensor::Kind::Buffer  ? "buffer"
                                                             : "tensor_constant";
  const std::string nameKey = std::string(key) + "_name";
  for (size_t i = 0; i < specs.items().size(); ++i) {
    const Json* spec = specs.items()[i].find(key);
    if (spec == nullptr) continue;
    taken.insert(spec->at(nameKey).text());
    if (spec->at("arg").at("name").text() == like.placeholder) at = i;
  }
  HeldTensor made = like;
  made.fqn = like.fqn + "_centered";
  for (int i = 2; taken.contains(made.fqn); ++i) made.fqn = like.fqn + "_centered_" + std::to_string(i);
  made.placeholder = freshName(0, placeholderFor(made));
  Json spec = specs.items()[at];
  spec.at(key).at("arg").set("name", Json(made.placeholder));
  spec.at(key).set(nameKey, Json(made.fqn));
  const auto behind = static_cast<std::ptrdiff_t>(at) + 1;
  specs.items().insert(specs.items().begin() + behind, std::move(spec));
  auto& inputs = graph(0).at("inputs").items();
  inputs.insert(inputs.begin() + behind, tensorArgument(made.placeholder));
  describe({0, made.placeholder}, std::move(meta));
  return made;
}

// cond has its operands in a list, a loop those that it does not carry; a region has them one by one.
std::string DocumentEditor::addOperand(int inside, const std::string& name) {
  const Holder holder = holderOf(inside);
  const Json* known = metaOf({holder.graph, name});
  if (known == nullptr) throw BrokenDocument("nothing is said of an operand");
  const Json meta = *known;
  auto& inputs = node(holder.graph, holder.node).at("inputs").items();
  constexpr size_t kOperands = 3;
  const std::string& target = node(holder.graph, holder.node).at("target").text();
  const bool region = target.ends_with("wrap_with_set_grad_enabled");
  if (region) {
    Json operand = inputs.back();
    operand.set("arg", tensorArgument(name));
    inputs.push_back(std::move(operand));
    graphs_ = graphsIn(file_.program.at("graph_module").at("graph"));
  } else {
    Json* list = inputs.size() > kOperands ? inputs[kOperands].at("arg").find("as_tensors") : nullptr;
    if (list == nullptr) throw BrokenDocument("a graph takes its operands in a form that cannot be added to");
    list->items().emplace_back(Json::Object{{"name", Json(name)}});
  }
  std::string result;
  for (const int sibling : graphsOf(holder.graph, holder.node)) {
    const std::string own = freshName(sibling, name);
    graph(sibling).at("inputs").items().push_back(tensorArgument(own));
    describe({sibling, own}, meta);
    if (sibling == inside) result = own;
  }
  return result;
}

// Lists what is made in a graph as it will be: its inputs, and what its nodes return.
std::set<std::string> DocumentEditor::madeIn(int of) const {
  std::set<std::string> made;
  const Json& graph = *graphs_[static_cast<size_t>(of)];
  addNames(graph.at("inputs"), made);
  const auto& nodes = graph.at("nodes").items();
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!removed_.contains({of, static_cast<int>(i)})) addNames(nodes[i].at("outputs"), made);
  }
  for (const Insertion& insertion : insertions_) {
    if (insertion.graph == of) addNames(insertion.node.at("outputs"), made);
  }
  return made;
}

void DocumentEditor::renameReads(Json& of, int graph, const std::map<GraphName, std::string>& instead) {
  eachRead(of, [&](Json& name) {
    const auto found = instead.find({graph, name.text()});
    if (found != instead.end()) name = Json(found->second);
  });
}

// Removes what reads a value that nothing makes. False: nothing does.
bool DocumentEditor::removeStray(int of, const std::set<std::pair<int, int>>& wanted) {
  const std::set<std::string> made = madeIn(of);
  bool any = false;
  const auto& nodes = graph(of).at("nodes").items();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::pair<int, int> place{of, static_cast<int>(i)};
    if (removed_.contains(place)) continue;
    bool stray = false;
    for (const Json& input : nodes[i].at("inputs").items())
      eachRead(input.at("arg"), [&](const Json& name) { stray = stray || !made.contains(name.text()); });
    if (!stray) continue;
    if (wanted.contains(place)) throw BrokenDocument("a node reads a value that the fold has taken out");
    removed_.insert(place);
    any = true;
  }
  return any;
}

void DocumentEditor::rebuild(int of) {
  auto& nodes = graph(of).at("nodes").items();
  Json::Array made;
  const auto addBehind = [&](int behind) {
    for (Insertion& insertion : insertions_) {
      if (insertion.graph == of && insertion.behind == behind) made.push_back(std::move(insertion.node));
    }
  };
  addBehind(-1);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!removed_.contains({of, static_cast<int>(i)})) made.push_back(std::move(nodes[i]));
    addBehind(static_cast<int>(i));
  }
  nodes = std::move(made);
}

ProgramFile DocumentEditor::finish(const std::map<GraphName, std::string>& instead,
                                   const std::set<std::pair<int, int>>& wanted) {
  for (size_t g = graphs_.size(); g-- > 0;) {
    const auto of = static_cast<int>(g);
    auto& nodes = graph(of).at("nodes").items();
    for (Json& each : nodes) {
      for (Json& input : each.at("inputs").items()) renameReads(input.at("arg"), of, instead);
    }
    while (removeStray(of, wanted)) {
    }
    std::set<std::string> gone;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (removed_.contains({of, static_cast<int>(i)})) addNames(nodes[i].at("outputs"), gone);
    }
    for (const char* table : kValueTables) {
      if (Json* values = graph(of).find(table))
        std::erase_if(values->members(), [&](const Json::Member& value) { return gone.contains(value.first); });
    }
  }
  for (size_t g = graphs_.size(); g-- > 0;) rebuild(static_cast<int>(g));  // what lies inside before what holds it
  return std::move(file_);
}

}  // namespace normlens::formats::pt2
