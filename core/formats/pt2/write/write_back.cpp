#include "core/formats/pt2/write/write_back.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/pt2/file/container.h"
#include "core/formats/pt2/file/meta_algebra.h"
#include "core/formats/pt2/file/node_place.h"
#include "core/formats/pt2/file/tensor_meta.h"
#include "core/formats/pt2/translate/module_tree.h"
#include "core/formats/pt2/write/program_edits.h"
#include "core/formats/torchscript/program/module_index.h"
#include "core/formats/torchscript/program/program.h"

namespace normlens::formats::pt2 {
namespace {

namespace journal = torchscript::journal;
using torch::jit::Module;
using torch::jit::Node;
using torch::jit::Value;
using torchscript::RecordedEdits;
using torchscript::TorchScriptModel;

struct ChangedTensor {
  HeldTensor held;
  at::Tensor tensor;
  std::string like;  // of one that is new: the FQN of the tensor whose entry it gets a copy of; else empty
};

// TensorMeta of a tensor that is all that its record holds: dense in its own order of axes.
Json metaOfRecord(const Json& meta, const at::Tensor& tensor) {
  const auto numbers = [](at::IntArrayRef of) {
    Json::Array made;
    for (const int64_t number : of) made.emplace_back(Json::Object{{"as_int", Json(number)}});
    return made;
  };
  Json made = denseMeta(meta, numbers(tensor.sizes()));
  made.set("strides", Json(numbers(tensor.strides())));
  return made;
}

class Table {
 public:
  Table(Json& config, std::string folder, std::string stem, const Program& program)
      : config_(config), folder_(std::move(folder)), stem_(std::move(stem)), program_(program) {}

  void place(const std::vector<ChangedTensor>& changed, std::map<std::string, at::Tensor>& written) {
    for (const ChangedTensor& change : changed) {
      if (!change.like.empty()) entries().emplace_back(change.held.fqn, Json(entry(change.like)));
    }
    std::map<std::string, std::string> recordOf;  // by memory of the new tensor
    for (const ChangedTensor& change : changed) {
      std::string& record = recordOf[torchscript::memoryKey(change.tensor)];
      if (record.empty()) record = recordFor(change, changed);
      Json& made = entry(change.held.fqn);
      made.set("path_name", Json(record));
      Json& meta = made.at("tensor_meta");
      meta = metaOfRecord(meta, change.tensor);
      written[folder_ + record] = change.tensor;
    }
  }

 private:
  Json::Object& entries() { return config_.at("config").members(); }
  Json& entry(const std::string& fqn) { return config_.at("config").at(fqn); }

  // The record that the tensor had, where nobody reads anything else of it any more.
  std::string recordFor(const ChangedTensor& change, const std::vector<ChangedTensor>& changed) {
    const std::string held = entry(change.like.empty() ? change.held.fqn : change.like).at("path_name").text();
    const auto becomesThis = [&](const std::string& fqn) {
      const auto other = std::ranges::find_if(changed, [&](const ChangedTensor& each) { return each.held.fqn == fqn; });
      return other != changed.end() && torchscript::sameTensor(other->tensor, change.tensor);
    };
    bool alone = change.like.empty() && modelsIn(*program_.archive).size() == 1 && !taken_.contains(held);
    for (const auto& [fqn, each] : entries())
      alone = alone && (each.at("path_name").text() != held || becomesThis(fqn));
    std::string name = alone ? held : freshRecord();
    taken_.insert(name);
    return name;
  }

  std::string freshRecord() {
    for (int64_t i = 0;; ++i) {
      std::string name = stem_ + std::to_string(i);
      const std::string full = std::string(program_.archive->prefix()) + folder_ + name;
      const bool inTable = std::ranges::any_of(
          entries(), [&](const Json::Member& each) { return each.second.at("path_name").text() == name; });
      if (program_.archive->find(full) == nullptr && !inTable && !taken_.contains(name)) return name;
    }
  }

  Json& config_;
  std::string folder_, stem_;
  const Program& program_;
  std::set<std::string> taken_;
};

// Writes the changed tensors into the archive. A record whose tensors have all become one is written anew; where others
// read it, the changed tensor gets a record of its own. Changes the tables of `file`. Returns what is to be written, by
// the record's name. Throws EditRefused.
std::map<std::string, at::Tensor> placeTensors(const Program& program, const std::vector<ChangedTensor>& changed,
                                               ProgramFile& file) {
  std::vector<ChangedTensor> weights, constants;
  for (ChangedTensor change : changed) {
    if (!change.tensor.is_non_overlapping_and_dense()) throw EditRefused("a changed weight is not dense");
    (change.held.persistent ? weights : constants).push_back(std::move(change));
  }
  std::map<std::string, at::Tensor> written;
  if (!weights.empty()) Table(file.weights, "data/weights/", "weight_", program).place(weights, written);
  if (!constants.empty()) Table(file.constants, "data/constants/", "tensor_", program).place(constants, written);
  return written;
}

// The tensor that an attribute holds after the edits.
at::Tensor editedTensorAt(const Module& module, const std::string& path, const torchscript::EditsByInstance& edits) {
  c10::IValue owner = module._ivalue();
  const auto parts = ModuleTree::partsOf(path);
  for (size_t i = 0; i + 1 < parts.size(); ++i) owner = owner.toObjectRef().getAttr(parts[i]);
  if (const auto edited = edits.find(&owner.toObjectRef()); edited != edits.end()) {
    const auto value = edited->second.values.find(parts.back());
    if (value != edited->second.values.end()) return value->second.toTensor();
  }
  return owner.toObjectRef().getAttr(parts.back()).toTensor();
}

// The tensors of the edited module, with what is new of them put into the documents.
struct HeldTensorsAfter {
  std::vector<ChangedTensor> changed;
  std::map<std::string, at::Tensor> tensors;  // by FQN
  std::map<std::string, std::string> added;   // placeholders by the module's name for them
};

// Those that are new get a name beside the one whose place they take, by which the nodes then read them.
HeldTensorsAfter holdTensors(const Program& program, const TorchScriptModel& model, const RecordedEdits& recorded,
                             DocumentEditor& editor) {
  const auto& held = program.signature.held;
  const Module& module = model.source().module;
  HeldTensorsAfter after;
  for (const HeldTensor& each : held) {
    at::Tensor tensor = editedTensorAt(module, each.fqn, recorded.instances);
    if (!torchscript::sameTensor(editedTensorAt(module, each.fqn, {}), tensor)) {
      after.changed.push_back({each, tensor, {}});
      const Json meta = *editor.metaOf({0, each.placeholder});
      editor.describe({0, each.placeholder}, metaOfRecord(meta, tensor));
    }
    after.tensors[each.fqn] = std::move(tensor);
  }
  std::map<std::string, journal::CarryMean::Held> added;  // by the attribute's name
  for (const auto& edit : recorded.frames[0]) {
    if (const auto* read = std::get_if<journal::ReadTensor>(&edit.record))
      added.emplace(read->attribute, journal::CarryMean::Held{read->tensor, read->attribute, read->like});
    const auto* mean = std::get_if<journal::CarryMean>(&edit.record);
    if (mean == nullptr) continue;
    for (const auto* terms : {&mean->linears, &mean->constants}) {
      for (const auto& term : *terms) added.emplace(term.row.attribute, term.row);
    }
  }
  added.erase("");  // the code holds it
  for (const auto& [attribute, each] : added) {
    const auto like = std::ranges::find(held, each.like, &HeldTensor::fqn);
    if (like == held.end()) throw EditRefused("a new weight takes the place of none");
    const Json meta = *editor.metaOf({0, like->placeholder});
    const HeldTensor made = editor.addHeld(*like, metaOfRecord(meta, each.tensor));
    after.changed.push_back({made, each.tensor, like->fqn});
    after.tensors[made.fqn] = each.tensor;
    after.added[attribute] = made.placeholder;
  }
  return after;
}

// The translation's value that one of a copy of its module is (of a float64 twin): copies keep the numbers of nodes.
const Value* originalOf(const Value& value, const Translation& translation) {
  const bool isGiven = value.node()->kind() == c10::prim::Param;
  const Node* node = isGiven ? value.node()->owningBlock()->owningNode() : value.node();
  if (node == nullptr) return translation.module.get_method("forward").graph()->inputs()[value.offset()];
  const int number = originNumber(*node);
  if (number < 0) return nullptr;
  const Node* original = translation.nodes[static_cast<size_t>(number)];
  return isGiven ? original->blocks()[0]->inputs()[value.offset()] : original->output(value.offset());
}

// Describes values of a narrow stream, before nodes are written that read them.
void describeNarrow(const std::vector<fold::NarrowValue>& narrow, const TorchScriptModel& model,
                    const Translation& translation, DocumentEditor& editor) {
  for (const fold::NarrowValue& value : narrow) {
    const auto at = static_cast<size_t>(value.value);
    const int inProgram = model.lowered().programValue[at];
    if (inProgram < 0 || !model.lowered().elementPath[at].empty()) continue;
    const Value* original = originalOf(*model.program().value(inProgram).value, translation);
    for (size_t graph = 0; graph < translation.names.size(); ++graph) {
      const auto name = translation.names[graph].find(original);
      if (name == translation.names[graph].end()) continue;
      const GraphName of{static_cast<int>(graph), name->second};
      if (const Json* meta = editor.metaOf(of))
        editor.describe(of, resizedMeta(*meta, static_cast<size_t>(value.axis), value.channels.width));
    }
  }
}

std::unordered_map<const Value*, graph::Shape> shapesOf(const torchscript::TorchScriptModel& probed) {
  std::unordered_map<const Value*, graph::Shape> shapes;
  const auto& values = probed.program().values;
  for (size_t i = 0; i < values.size(); ++i) {
    const graph::ValueId id = probed.lowered().graphValue[i];
    if (id == graph::kNoValue) continue;
    if (const auto& shape = probed.graph().value(id).shape) shapes.emplace(values[i].value, *shape);
  }
  return shapes;
}

}  // namespace

WrittenProgram writeBack(const Program& program, const TorchScriptModel& model, const RecordedEdits& recorded,
                         const std::vector<fold::NarrowValue>& narrow) {
  DocumentEditor editor(program.file);
  describeNarrow(narrow, model, program.translation, editor);
  HeldTensorsAfter held = holdTensors(program, model, recorded, editor);
  auto made = std::make_shared<Program>();
  made->archive = program.archive;
  made->file = repeatEdits(program, editor, recorded.frames[0], held.added);
  made->rules = program.rules;
  made->samples = program.samples;
  made->dtype = program.dtype;
  made->isAsInFile = false;
  made->isRepacked = program.isRepacked;
  made->written = placeTensors(program, held.changed, made->file);
  made->written.insert(program.written.begin(), program.written.end());  // but for those that are written again
  WrittenProgram written{std::move(made), std::move(held.tensors)};
  written.read();
  return written;
}

void WrittenProgram::read() const {
  program->signature = readSignature(program->file);
  program->translation =
      translate(program->file, program->signature, [&](const HeldTensor& held) { return tensors.at(held.fqn); });
}

void describeSizes(Program& program, const torchscript::TorchScriptModel& probed) {
  const auto shapes = shapesOf(probed);
  const auto graphs = graphsIn(program.file.program.at("graph_module").at("graph"));
  for (size_t graph = 0; graph < graphs.size(); ++graph) {
    Json& metas = graphs[graph]->at("tensor_values");
    for (const auto& [value, name] : program.translation.names[graph]) {
      const auto shape = shapes.find(value);
      Json* meta = shape == shapes.end() ? nullptr : metas.find(name);
      if (meta == nullptr) continue;
      const TensorMeta known = readTensorMeta(*meta);
      if (known.sizes.size() != shape->second.size()) continue;
      for (size_t axis = 0; axis < known.sizes.size(); ++axis) {
        const int64_t size = shape->second[axis];
        if (known.sizes[axis].isFixed() && known.sizes[axis].example != size) *meta = resizedMeta(*meta, axis, size);
      }
    }
  }
}

}  // namespace normlens::formats::pt2
