#include "core/formats/torchscript/edit/carry_means.h"

#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/edit/mean_tensors.h"
#include "core/formats/torchscript/edit/apply_new_nodes.h"
#include "core/formats/torchscript/edit/place_weights.h"
#include "core/formats/torchscript/edit/sum_way.h"
#include "core/formats/torchscript/program/memory_sharing.h"
#include "core/formats/torchscript/program/tensor_convert.h"

namespace normlens::formats::torchscript {
namespace {

using graph::ValueId;
using journal::CarryMean;
using torch::jit::Node;
using torch::jit::Value;

// Holds what one body does for one edit.
struct Part {
  CarryMean mean;
  std::vector<Node*> calls;  // that return a part of the mean
  bool returned = false;     // so does this body; else it gives the mean back to the reads
};

Value* heldTensor(GraphCopy& copy, const CarryMean::Held& held) {
  if (held.attribute.empty()) return copy.graph()->insertConstant(held.tensor);
  Node* get = copy.graph()->create(c10::prim::GetAttr, {copy.graph()->inputs()[0]});
  get->s_(c10::attr::name, held.attribute);
  get->output()->setType(c10::TensorType::get());
  return copy.graph()->insertNode(get)->output();
}

// Adds values of one block behind the last of them.
Value* summed(torch::jit::Graph& graph, const std::vector<Value*>& values) {
  Value* sum = nullptr;
  Node* last = nullptr;
  for (Value* value : values) {
    Node* made = value->node();
    if (last != nullptr && made->owningBlock() != last->owningBlock())
      throw EditRefused("a part of a mean is computed in a branch or loop");
    if (last == nullptr || made->isAfter(last)) last = made;
  }
  const torch::jit::WithInsertPoint here(last->next());
  for (Value* value : values) sum = sum == nullptr ? value : graph.insert(c10::aten::add, {sum, value});
  return sum;
}

void run(const Part& part, GraphCopy& copy) {
  torch::jit::Graph& graph = *copy.graph();
  std::vector<Value*> values;
  for (const auto& linear : part.mean.linears) {
    const torch::jit::WithInsertPoint here(copy.at(linear.read.node));
    Value* row = heldTensor(copy, linear.row);
    values.push_back(emittedRow(graph, copy.read(linear.read), row));
    if (linear.view == nullptr) continue;
    Node* view = copy.at(linear.view);
    const torch::jit::WithInsertPoint behind(view->next());
    values.back() = emittedWithRowsOf(graph, values.back(), view->output(0));
  }
  for (const auto& constant : part.mean.constants) {
    const torch::jit::WithInsertPoint here(copy.at(constant.read.node));
    values.push_back(heldTensor(copy, constant.row));
  }
  for (const CarryMean::Centered& value : part.mean.values) {
    const Node* maker = value.made->node();
    const bool isGiven = maker->kind() == c10::prim::Param;
    Value* made = isGiven ? graph.inputs()[value.made->offset()] : copy.at(maker)->output(value.made->offset());
    const torch::jit::WithInsertPoint here(isGiven ? *graph.nodes().begin() : copy.at(maker)->next());
    values.push_back(emittedMean(graph, made));
  }
  for (const Node* call : part.calls) values.push_back(copy.takeResult(call));
  for (const int earlier : part.mean.earlier) values.push_back(copy.noted(earlier));
  Value* mean = summed(graph, values);
  if (part.returned) return copy.addResult(mean);
  copy.note(part.mean.number, mean);
  std::vector<Node*> readers;
  for (const OperandSite& site : part.mean.reads) readers.push_back(copy.at(site.node));
  const torch::jit::WithInsertPoint here(pointBefore(readers));
  Value* whole = graph.insert(c10::aten::add, {copy.read(part.mean.reads.front()), mean});
  for (const OperandSite& site : part.mean.reads) readInstead(copy, site, whole);
}

std::string signatureOf(const Part& part) {
  std::string text = signature("carry mean", part.mean.number, part.returned);
  for (const auto* terms : {&part.mean.linears, &part.mean.constants}) {
    for (const auto& term : *terms) {
      text += signature(term.read.node, term.read.input, term.row.attribute, term.row.tensor.unsafeGetTensorImpl(),
                        term.view);
    }
  }
  for (const OperandSite& site : part.mean.reads) text += signature(site.node, site.input);
  for (const auto& value : part.mean.values) text += signature(value.made);
  for (const Node* call : part.calls) text += signature(call);
  for (const int earlier : part.mean.earlier) text += signature(earlier);
  return text;
}

class MeanCarrier {
 public:
  MeanCarrier(const LoweredModel& model, FrameEdits& frames, EditsByInstance& instances)
      : model_(model), frames_(frames), instances_(instances) {}

  void carry(const fold::RestoreMean& edit, int number) {
    parts_.clear();
    addReads(edit, number);
    auto dtype = model_.graph().value(edit.value).dtype;
    if (dtype == graph::DType::Unknown) dtype = model_.facts.dtype;
    for (const auto& linear : edit.linears) {
      const OperandSite site = siteOf({linear.node, linear.input, graph::kNone});
      const auto& view = model_.graph().constant(linear.weight).view;
      partOf(site.frame)
          .mean.linears.push_back({site, held(site.frame, linear.weight, meanOfOutputs(view, linear.inputDim, dtype)),
                                   viewOf(linear.viewed, site.frame)});
    }
    for (const graph::Use& use : edit.constants) {
      const OperandSite site = siteOf(use);
      const auto constant = model_.graph().value(operandOf(use)).constant;
      const auto& view = model_.graph().constant(constant).view;
      partOf(site.frame).mean.constants.push_back({site, held(site.frame, constant, meanOfRows(view, dtype)), nullptr});
    }
    for (const graph::Use& use : edit.values) {
      const int inProgram = model_.lowered.programValue[static_cast<size_t>(operandOf(use))];
      if (inProgram < 0) throw EditRefused("a mean would have to be taken inside an operation of the file");
      const ProgramValue& made = model_.program.value(inProgram);
      if (made.value->node()->owningBlock()->owningNode() != nullptr && made.value->node()->kind() == c10::prim::Param)
        throw EditRefused("a part of a mean is computed in a branch or loop");
      partOf(made.frame).mean.values.push_back({siteOf(use), made.value});
    }
    for (const ValueId value : edit.earlier) {
      const auto known = numbers_.find(value);
      if (known == numbers_.end() || known->second.frame != frame_)
        throw EditRefused("the mean of a stream would have to be handed to another module");
      parts_[frame_].mean.earlier.push_back(known->second.number);
    }
    numbers_[edit.value] = {number, frame_};
    for (auto& [frame, part] : parts_) write(frame, std::move(part));
  }

 private:
  struct Carried {
    int number = 0, frame = 0;
  };

  // All in one body, which gives the mean back.
  void addReads(const fold::RestoreMean& edit, int number) {
    if (edit.uses.empty()) throw EditRefused("a mean is given back to no read");
    const auto& renamed = model_.program.inPlace.renamed;
    const int value = model_.lowered.programValue[static_cast<size_t>(edit.value)];
    if (std::ranges::any_of(renamed, [&](const auto& values) { return std::ranges::count(values, value) > 0; }))
      throw EditRefused("the program writes into a stream that would keep its mean beside it");
    frame_ = siteOf(edit.uses.front()).frame;
    CarryMean& mean = parts_[frame_].mean;
    mean.number = number;
    for (const graph::Use& use : edit.uses) {
      const OperandSite site = siteOf(use);
      const OperandSite& first = mean.reads.empty() ? site : mean.reads.front();
      const bool same = site.frame == frame_ && read(site) == read(first);
      if (!same || writesInto(*site.node, static_cast<size_t>(site.input)))
        throw EditRefused("a stream that would keep its mean is read in several modules, or written into");
      mean.reads.push_back(site);
    }
  }

  static Value* read(const OperandSite& site) { return site.node->input(static_cast<size_t>(site.input)); }

  [[nodiscard]] OperandSite siteOf(const graph::Use& use) const {
    const OperandSite& site = model_.lowered.siteOf(use);
    if (site.node == nullptr) throw EditRefused("a mean would have to be taken inside an operation of the file");
    return site;
  }
  [[nodiscard]] Node* viewOf(ValueId viewed, int frame) const {
    if (viewed == graph::kNoValue) return nullptr;
    const ProgramNode& view = model_.programNode(model_.graph().value(viewed).producer);
    if (view.frame != frame || view.node->outputs().size() != 1)
      throw EditRefused("the mean of a stream would have to be handed to another module");
    return view.node;
  }
  [[nodiscard]] ValueId operandOf(const graph::Use& use) const {
    return model_.graph().node(use.node).operands.at(static_cast<size_t>(use.operand));
  }

  // The part of this body; those around it, up to the one that gives the mean back, hand it on.
  Part& partOf(int body) {
    for (int f = body; f != frame_; f = model_.program.frame(f).parent) {
      const Frame& frame = model_.program.frame(f);
      if (frame.parent == kNone || !mayRename(frame) || frame.graph->outputs().size() != 1)
        throw EditRefused("the mean of a stream would have to be handed to another module");
      Part& part = parts_[f];
      part.returned = true;
      auto& calls = parts_[frame.parent].calls;
      if (std::ranges::find(calls, frame.call) == calls.end()) calls.push_back(frame.call);
    }
    return parts_[body];
  }

  CarryMean::Held held(int frame, graph::ConstantId constant, const graph::TensorView& view) {
    CarryMean::Held out{tensorOf(view), {}, {}};
    const TensorSite& site = model_.constantTensor(constant).sites.front();
    const ObjectPtr& self = model_.program.frame(frame).self;
    if (!self || !self->type()->is_module()) return out;
    out.like = site.path;
    const std::string base = site.attribute.empty() ? "constant" : site.attribute;
    out.attribute = addAttribute(instances_, self, base + "_mean", out.tensor, isParameter(site));
    return out;
  }

  void write(int frame, Part part) {
    BodyEdit edit{signatureOf(part), [part](GraphCopy& copy) { run(part, copy); }};
    if (part.returned) {
      edit.use = BodyUse::Together;
      edit.newSignature = true;
    }
    if (parts_.size() == 1) edit.record = std::move(part.mean);
    frames_[static_cast<size_t>(frame)].push_back(std::move(edit));
  }

  const LoweredModel& model_;
  FrameEdits& frames_;
  EditsByInstance& instances_;
  int frame_ = 0;                       // whose body gives the mean back
  std::map<int, Part> parts_;           // by frame
  std::map<ValueId, Carried> numbers_;  // by the value of the edit
};

}  // namespace

void carryMeans(const LoweredModel& model, const std::vector<fold::RestoreMean>& edits, FrameEdits& frames,
                EditsByInstance& instances) {
  MeanCarrier carrier(model, frames, instances);
  for (size_t i = 0; i < edits.size(); ++i) carrier.carry(edits[i], static_cast<int>(i));
}

}  // namespace normlens::formats::torchscript
