// The walk that makes a Translation. Private to formats/pt2/translate: includes torch.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <optional>
#include <unordered_map>

#include "core/formats/pt2/translate/module_tree.h"
#include "core/formats/pt2/translate/translation.h"

namespace normlens::formats::pt2 {

class Translator {
 public:
  Translator(const ProgramFile& file, const Signature& signature);

  Translation run(const std::function<at::Tensor(const HeldTensor&)>& tensorOf);

 private:
  using Value = torch::jit::Value;
  using Node = torch::jit::Node;
  using Values = std::vector<Value*>;

  // One graph of the document as it is walked.
  struct Scope {
    int graph = 0;
    const Json* json = nullptr;
    std::unordered_map<std::string, Value*> values;  // by name
    int node = 0;                                    // that is being translated
  };

  // Setting up and finishing: translator.cpp.
  void addModules(const std::function<at::Tensor(const HeldTensor&)>& tensorOf);
  void bindInputs(Scope& scope);
  void addResults(Scope& scope);
  void keepLiveOnly(Translation& made) const;
  Value* readHeld(const HeldTensor& held);

  // Nodes: translate_nodes.cpp.
  void nodes(Scope& scope);
  void node(const Json& json, Scope& scope);
  void operatorNode(const std::string& target, const Json& json, Scope& scope);
  void symbolNode(const std::string& target, const Json& json, Scope& scope);
  void itemNode(const Json& json, Scope& scope);
  Value* asTensor(Value* value, const c10::TypePtr& wanted, const Json& json, const Scope& scope);
  Values castForAutocast(const Json& json, Values inputs, const Scope& scope);
  void bindOutputs(const Json& json, const Values& results, Scope& scope);
  void bind(const std::string& name, Value* value, Scope& scope);
  void bindList(const Json& list, Value* value, Scope& scope);
  [[nodiscard]] torchscript::ValueRecord recordOf(const std::string& name, const Json& graph);
  // The node gets its origin, its source line and its module.
  Node* mark(Node* node, const Scope& scope, bool part = false, bool transparent = false);

  // Operators that are registered in Python alone: translate_nodes.cpp.
  void opaqueNode(const std::string& name, const Json& json, Scope& scope);
  bool quantizedNode(const std::string& name, const Json& json, Scope& scope);
  Value* quantized(const Json& json, bool byChannel, Scope& scope);
  Value* dequantized(const Json& json, bool byChannel, Scope& scope);
  Value* numberOf(const Json& json, const char* argument, c10::Symbol from, const Scope& scope);
  Value* alongChannels(const Json& json, const char* argument, Value* input, const Scope& scope);
  // An operation on tensors that helps to express what the node means; the first that reads its input stands for it.
  Value* step(c10::Symbol op, const std::vector<torch::jit::NamedValue>& operands, at::ScalarType type, Value* like,
              const Scope& scope, bool reads = false);

  // Operands.
  Value* read(const Json& argument, const Scope& scope, c10::TypePtr wanted);
  Value* readSymbol(const Json& symbol, const Scope& scope, const c10::TypePtr& wanted);
  Value* readNumber(const Json& value, const std::string& kind, const c10::TypePtr& wanted);
  Value* readNumbers(const Json& list, const std::string& kind, const c10::TypePtr& wanted);
  [[nodiscard]] static Value* named(const std::string& name, const Scope& scope);
  Value* constant(const c10::IValue& value);
  Value* listOf(const Values& values, const c10::TypePtr& listType);

  // Graphs in graphs.
  void higherOrder(const std::string& name, const Json& json, Scope& scope);
  void cond(const Json& json, Scope& scope);
  void whileLoop(const Json& json, Scope& scope);
  void region(const std::string& name, const Json& json, Scope& scope);
  Values inlined(const Json& graphArgument, const Values& operands, bool autocast = false);
  Values operands(const Json& argument, const Scope& scope);
  Value* truth(Value* value, const Scope& scope);

  const ProgramFile& file_;
  const Signature& signature_;
  std::vector<const Json*> graphs_;
  std::unordered_map<const Json*, int> numbers_;  // Each graph's number.
  using Members = std::unordered_map<std::string_view, const Json*>;
  std::unordered_map<const Json*, Members> described_;  // by graph: its tensor_values
  Translation made_;
  std::shared_ptr<torch::jit::Graph> graph_ = std::make_shared<torch::jit::Graph>();
  std::optional<ModuleTree> modules_;
  Value* self_ = nullptr;
  std::unordered_map<std::string, std::shared_ptr<torch::jit::Source>> sources_;  // by file
  std::unordered_map<std::string, torch::jit::ScopePtr> scopes_;                  // by path of a module
};

// c10's, of the schema's number. BrokenDocument where there is none.
[[nodiscard]] at::ScalarType scalarTypeOfSchema(int64_t number);

}  // namespace normlens::formats::pt2
