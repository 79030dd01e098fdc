#include "core/formats/pt2/write/document_editor.h"

#include <algorithm>

namespace normlens::formats::pt2 {
namespace {

constexpr const char* kValueTables[] = {"tensor_values", "sym_int_values", "sym_float_values", "sym_bool_values"};

void addNamesOf(const Json& graph, std::set<std::string>& names) {
  for (const char* table : kValueTables) {
    const Json* values = graph.find(table);
    if (values == nullptr) continue;
    for (const auto& [name, value] : values->members()) names.insert(name);
  }
  for (const Json& node : graph.at("nodes").items()) {
    if (const Json* name = node.find("name"); name != nullptr && name->isString()) names.insert(name->text());
  }
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
  results_ = graphs_[0]->at("outputs").items();
  std::map<const Json*, int> numbers;
  for (size_t i = 0; i < graphs_.size(); ++i) {
    numbers[graphs_[i]] = static_cast<int>(i);
    addNamesOf(*graphs_[i], names_);
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

std::string DocumentEditor::freshName(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !names_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

const Json* DocumentEditor::metaOf(const GraphName& value) const {
  return graphs_[static_cast<size_t>(value.first)]->at("tensor_values").find(value.second);
}

void DocumentEditor::describe(const GraphName& value, Json meta) {
  graph(value.first).at("tensor_values").set(value.second, std::move(meta));
}

void DocumentEditor::forget(int of, const std::set<std::string>& values) {
  for (const char* table : kValueTables) {
    if (Json* known = graph(of).find(table))
      std::erase_if(known->members(), [&](const Json::Member& value) { return values.contains(value.first); });
  }
}

void DocumentEditor::replace(int of, int number, Json made) {
  std::set<std::string> gone;
  addNames(node(of, number).at("outputs"), gone);
  forget(of, gone);
  node(of, number) = std::move(made);
}

void DocumentEditor::readInstead(const GraphName& value, const std::string& other) {
  if (nowRead({value.first, other}) != value.second) instead_.insert_or_assign(value, other);
}

std::string DocumentEditor::nowRead(const GraphName& value) const {
  auto found = instead_.find(value);
  std::string name = value.second;
  for (; found != instead_.end(); found = instead_.find({value.first, name})) name = found->second;
  return name;
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
  made.placeholder = freshName(placeholderFor(made));
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

std::string DocumentEditor::handIn(const std::string& name, int graph) {
  if (graph == 0) return name;
  std::string& known = handedIn_[{graph, name}];
  if (known.empty()) known = addOperand(graph, handIn(name, holderOf(graph).graph));
  return known;
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
  if (target.ends_with("wrap_with_set_grad_enabled")) {
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
    const std::string own = freshName(name);
    graph(sibling).at("inputs").items().push_back(tensorArgument(own));
    describe({sibling, own}, meta);
    if (sibling == inside) result = own;
  }
  return result;
}

void DocumentEditor::renameReads(int of) {
  const auto rename = [&](Json& reads) {
    eachRead(reads, [&](Json& name) { name = Json(nowRead({of, name.text()})); });
  };
  if (std::ranges::none_of(instead_, [&](const auto& each) { return each.first.first == of; })) return;
  for (Json& node : graph(of).at("nodes").items()) {
    for (Json& input : node.at("inputs").items()) rename(input.at("arg"));
  }
  for (Insertion& insertion : insertions_) {
    if (insertion.graph != of) continue;
    for (Json& input : insertion.node.at("inputs").items()) rename(input.at("arg"));
  }
  rename(graph(of).at("outputs"));
}

// The signature of the program names its results, too.
void DocumentEditor::renameResults() {
  const auto& outputs = graph(0).at("outputs").items();
  auto& specs = file_.program.at("graph_module").at("signature").at("output_specs").items();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == results_[i]) continue;
    auto& [kind, content] = specs[i].members().front();
    // An output that updates a held tensor names the value alone.
    content.set("arg", kind == "user_output" ? outputs[i] : outputs[i].only().second);
  }
}

// Readers come after what they read. Returns the names of what is no longer made.
std::set<std::string> DocumentEditor::removeUnread(int of, const Wanted& wanted) {
  std::map<std::string, int> reads;
  const auto count = [&](const Json& node, int by) {
    for (const Json& input : node.at("inputs").items())
      eachRead(input.at("arg"), [&](const Json& name) { reads[name.text()] += by; });
  };
  const auto& nodes = graph(of).at("nodes").items();
  std::set<std::string> gone;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::pair<int, int> place{of, static_cast<int>(i)};
    if (removed_.contains(place)) addNames(nodes[i].at("outputs"), gone);
    if (!removed_.contains(place) && (wanted.contains(place) || inner_.contains(place))) count(nodes[i], 1);
  }
  for (const Insertion& insertion : insertions_) {
    if (insertion.graph == of) count(insertion.node, 1);
  }
  eachRead(graph(of).at("outputs"), [&](const Json& name) { ++reads[name.text()]; });
  for (size_t i = nodes.size(); i-- > 0;) {
    const auto goes = wanted.find({of, static_cast<int>(i)});
    if (goes == wanted.end() || !goes->second || removed_.contains(goes->first)) continue;
    std::set<std::string> made;
    addNames(nodes[i].at("outputs"), made);
    if (std::ranges::any_of(made, [&](const auto& name) { return reads[name] > 0; })) continue;
    removed_.insert(goes->first);
    gone.merge(made);
    count(nodes[i], -1);
  }
  return gone;
}

// What is not wanted goes with what it reads.
void DocumentEditor::removeStray(int of, const Wanted& wanted, std::set<std::string>& gone) {
  const auto& nodes = graph(of).at("nodes").items();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::pair<int, int> place{of, static_cast<int>(i)};
    if (wanted.contains(place) || inner_.contains(place)) continue;
    std::set<std::string> reads;
    for (const Json& input : nodes[i].at("inputs").items()) addNames(input.at("arg"), reads);
    if (std::ranges::none_of(reads, [&](const auto& name) { return gone.contains(name); })) continue;
    removed_.insert(place);
    addNames(nodes[i].at("outputs"), gone);
  }
}

void DocumentEditor::rebuild(int of) {
  auto& nodes = graph(of).at("nodes").items();
  Json::Array made;
  for (size_t i = 0; i <= nodes.size(); ++i) {
    for (Insertion& insertion : insertions_) {
      if (insertion.graph == of && insertion.before == static_cast<int>(i)) made.push_back(std::move(insertion.node));
    }
    if (i < nodes.size() && !removed_.contains({of, static_cast<int>(i)})) made.push_back(std::move(nodes[i]));
  }
  nodes = std::move(made);
}

ProgramFile DocumentEditor::finish(const Wanted& wanted) {
  for (size_t g = graphs_.size(); g-- > 0;) {
    const auto of = static_cast<int>(g);
    renameReads(of);
    std::set<std::string> gone = removeUnread(of, wanted);
    removeStray(of, wanted, gone);
    forget(of, gone);
  }
  renameResults();
  for (size_t g = graphs_.size(); g-- > 0;) rebuild(static_cast<int>(g));  // what lies inside before what holds it
  return std::move(file_);
}

}  // namespace normlens::formats::pt2
