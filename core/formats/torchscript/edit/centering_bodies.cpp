#include "core/formats/torchscript/edit/centering_bodies.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/formats/torchscript/edit/sum_way.h"

namespace normlens::formats::torchscript {
namespace {

using torch::jit::Node;
using torch::jit::Value;

using Read = CenteredReads::Read;
using Reads = std::vector<Read>;

void add(Reads& reads, const Read& read) {
  const auto same = [&](const Read& other) {
    return other.site.node == read.site.node && other.site.input == read.site.input;
  };
  if (std::ranges::none_of(reads, same)) reads.push_back(read);
}

std::map<Value*, std::vector<OperandSite>> byValue(const Reads& reads) {
  std::map<Value*, std::vector<OperandSite>> out;
  for (const Read& read : reads) out[read.value].push_back(read.site);
  return out;
}

bool isWithin(const Node* node, const torch::jit::Block* outer) {
  for (const auto* block = node->owningBlock(); block != outer; block = block->owningNode()->owningBlock()) {
    if (block->owningNode() == nullptr) return false;
  }
  return true;
}

class BodiesOfCentering {
 public:
  BodiesOfCentering(const Program& program, const CenteredReads& centered)
      : program_(program), centered_(centered), madeIn_(chainTo(centered.frame)) {
    for (const Read& read : centered.reads) add(groups_[read.site.frame], read);
    if (!centered.writtenInto) leaveToCallers();
  }

  void write(FrameEdits& frames) {
    const bool oneRead = groups_.size() == 1 && byValue(groups_.begin()->second).size() == 1;
    if (!oneRead && !centered_.writtenInto && findWays()) {
      for (auto& [frame, body] : bodies_) write(frame, body, frames);
      return;
    }
    for (const auto& [frame, reads] : groups_) centerWithin(frame, reads, BodyUse::Any, frames);
  }

 private:
  // Records what one body does besides centering or getting the centered value.
  struct Body {
    std::vector<Node*> handedTo;  // calls that take it as a further argument
    Node* from = nullptr;         // the call that returns it
    bool isArgument = false;
    bool returned = false;
  };

  // The body and all around it, outermost last.
  [[nodiscard]] std::vector<int> chainTo(int frame) const {
    std::vector<int> chain;
    for (; frame != kNone; frame = program_.frame(frame).parent) chain.push_back(frame);
    return chain;
  }

  // Inner bodies first: a call that may be handed the centered value in the other's place is itself such a read.
  void leaveToCallers() {
    for (int f = static_cast<int>(program_.frames.size()); f-- > 0;) {
      const Frame& frame = program_.frame(f);
      if (!groups_.contains(f) || !isPlainCall(frame)) continue;
      for (Value* parameter : frame.graph->param_node()->outputs()) {
        if (!readsOnlyCentered(f, *parameter)) continue;
        std::erase_if(groups_[f], [&](const Read& read) { return read.value == parameter; });
        add(groups_[frame.parent], readAt(argumentFor(frame, *parameter)));
      }
      if (groups_[f].empty()) groups_.erase(f);
    }
  }

  [[nodiscard]] bool readsOnlyCentered(int frame, const Value& parameter) {
    const Reads& reads = groups_[frame];
    return parameter.hasUses() && std::ranges::all_of(parameter.uses(), [&](const torch::jit::Use& use) {
             // A read within a fused op is of what the op makes, whichever operand its place names.
             return std::ranges::any_of(reads, [&](const Read& read) {
               return read.value == &parameter && read.site.node == use.user &&
                      static_cast<size_t>(read.site.input) == use.offset;
             });
           });
  }

  // False: the centered value cannot be handed on to all of them.
  bool findWays() {
    size_t lowest = madeIn_.size(), highest = 0;
    for (const auto& [frame, reads] : groups_) {
      const auto way = chainTo(frame);
      const auto common = std::ranges::find_first_of(madeIn_, way);
      const auto place = static_cast<size_t>(common - madeIn_.begin());
      lowest = std::min(lowest, place);
      highest = std::max(highest, place);
      bodies_[*common];
      for (int f = frame; f != *common; f = program_.frame(f).parent) {
        if (!mayRename(program_.frame(f))) return false;
        bodies_[f].isArgument = true;
        auto& calls = bodies_[program_.frame(f).parent].handedTo;
        Node* call = program_.frame(f).call;
        if (std::ranges::find(calls, call) == calls.end()) calls.push_back(call);
      }
    }
    for (size_t i = lowest; i < highest; ++i) {
      const Frame& frame = program_.frame(madeIn_[i]);
      if (!mayRename(frame) || frame.graph->outputs().size() != 1) return false;
      bodies_[madeIn_[i]].returned = true;
      bodies_[frame.parent].from = frame.call;
    }
    source_ = madeIn_[lowest];
    original_ = readIn(source_);
    return original_ && std::ranges::all_of(bodies_, [&](const auto& entry) { return isThere(entry.first); });
  }

  // The first read of the value in this body, or of what it hands on as the value.
  [[nodiscard]] std::optional<Read> readIn(int frame) const {
    std::optional<Read> first;
    const auto take = [&](const Read& read) {
      const auto isEarlier = [&] {
        const Node *a = read.value->node(), *b = first->value->node();
        return a != b && (a->kind() == c10::prim::Param || (b->kind() != c10::prim::Param && a->isBefore(b)));
      };
      if (read.value != nullptr && (!first || isEarlier())) first = read;
    };
    if (const auto own = groups_.find(frame); own != groups_.end()) std::ranges::for_each(own->second, take);
    for (const auto& [f, body] : bodies_) {
      const Frame& callee = program_.frame(f);
      if (!body.isArgument || callee.parent != frame) continue;
      const auto inner = readIn(f);
      if (inner && inner->value->node() == callee.graph->param_node()) take(readAt(argumentFor(callee, *inner->value)));
    }
    return first;
  }

  // Not within a branch that is left before the other reads.
  [[nodiscard]] bool isThere(int frame) const {
    const Body& body = bodies_.at(frame);
    if (body.isArgument) return true;
    const torch::jit::Block* made =
        body.from != nullptr ? body.from->owningBlock() : original_->value->node()->owningBlock();
    const auto seesIt = [&](const Node* node) { return isWithin(node, made); };
    return std::ranges::all_of(nodesThatSeeIt(frame), seesIt);
  }

  [[nodiscard]] std::vector<Node*> nodesThatSeeIt(int frame) const {
    const Body& body = bodies_.at(frame);
    std::vector<Node*> nodes = body.handedTo;
    if (body.returned) nodes.push_back(program_.frame(frame).graph->return_node());
    if (const auto own = groups_.find(frame); own != groups_.end()) {
      for (const Read& read : own->second) nodes.push_back(read.site.node);
    }
    return nodes;
  }

  void centerWithin(int frame, const Reads& reads, BodyUse use, FrameEdits& frames) const {
    for (auto& [value, sites] : byValue(reads)) {
      BodyEdit edit = insertCode(sites, centered_.code);
      edit.use = use;
      frames[static_cast<size_t>(frame)].push_back(std::move(edit));
    }
  }

  void write(int frame, const Body& body, FrameEdits& frames) {
    const auto own = groups_.find(frame);
    const Reads reads = own == groups_.end() ? Reads{} : own->second;
    std::string text = signature("hand on centered", body.from, body.isArgument, body.returned);
    for (const Node* call : body.handedTo) text += signature(call);
    for (const Read& read : reads) text += signature(read.site.node, read.site.input);
    std::function<Value*(GraphCopy&)> get;
    if (body.isArgument) {
      get = [](GraphCopy& copy) { return copy.addArgument("centered"); };
    } else if (body.from != nullptr) {
      get = [call = body.from](GraphCopy& copy) { return copy.takeResult(call); };
    } else {
      auto made = codedBefore(nodesThatSeeIt(frame), original_->site, centered_.code);
      text += made.signature;
      get = std::move(made.make);
    }
    const auto run = [get, reads, body](GraphCopy& copy) {
      Value* value = get(copy);
      for (const Read& read : reads) readInstead(copy, read.site, value);
      for (const Node* call : body.handedTo) copy.at(call)->addInput(value);
      if (body.returned) copy.addResult(value);
    };
    // Who calls the body as it was gets one that centers for itself.
    const bool newSignature = body.isArgument || body.returned;
    journal::Record record;
    if (bodies_.size() == 1) {
      const auto emit = [code = centered_.code](auto& graph, Value* x) { return emitted(code, graph, x); };
      journal::InsertCode code{{original_->site}, emit};
      for (const Read& read : reads) code.reads.push_back(read.site);
      record = std::move(code);
    }
    frames[static_cast<size_t>(frame)].push_back({text, run, std::move(record), BodyUse::Together, newSignature});
    centerWithin(frame, reads, BodyUse::Alone, frames);
  }

  const Program& program_;
  const CenteredReads& centered_;
  std::vector<int> madeIn_;       // the body that makes it, and those around it
  std::map<int, Reads> groups_;   // by frame
  std::map<int, Body> bodies_;    // by frame: those that the centered value passes
  int source_ = 0;                // the one that centers
  std::optional<Read> original_;  // there
};

}  // namespace

Read readAt(const OperandSite& site) { return {site, site.node->input(static_cast<size_t>(site.input))}; }

void centerAcrossBodies(const Program& program, const CenteredReads& reads, FrameEdits& frames) {
  BodiesOfCentering(program, reads).write(frames);
}

}  // namespace normlens::formats::torchscript
