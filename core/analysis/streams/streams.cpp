#include "core/analysis/streams/streams.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "core/analysis/claims/kept_channels.h"
#include "core/analysis/graph_names.h"
#include "core/analysis/norms/constant_behind.h"
#include "core/analysis/norms/norms.h"
#include "core/analysis/plan/planner.h"
#include "core/analysis/streams/stream_finder.h"
#include "core/fold/stream_edits.h"
#include "core/graph/queries.h"
#include "core/ops/index_maps.h"
#include "core/ops/rules.h"

namespace normlens::analysis {
namespace {

// The linears that read a norm of a narrow stream, where all that reads it are such.
struct NormReaders {
  std::vector<fold::NarrowConstant> linears;  // `channels` is left open
  std::vector<ChannelAxis> written;           // views and broadcasts between the norm and them
  std::vector<ChannelReads> between;          // the norm's output, all up to them, and views of their weights; no uses
};

constexpr int64_t kLargestBeta = int64_t{1} << 24;

class Readers {
 public:
  Readers(const Graph& graph, const LayerNorm& norm, const Plan& plan) : graph_(graph), norm_(norm), plan_(plan) {}

  std::optional<NormReaders> find() {
    const Shape* shape = ops::shapeOf(graph_, norm_.input);
    const bool oneOp = norm_.form == NormForm::Op && graph_.node(norm_.node).kind == OpKind::LayerNorm;
    if (!oneOp || shape == nullptr || norm_.axes.size() != 1 || !areLastAxes(norm_.axes, shape->size()))
      return std::nullopt;
    channels_ = shape->back();
    const auto type = graph_.value(norm_.input).dtype;
    if (graph_.value(norm_.output).dtype != type || !isGammaKnown() || !isBetaGone()) return std::nullopt;
    if (!follow(norm_.output)) return std::nullopt;
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool isGammaKnown() {
    if (norm_.gamma == kNoValue) return true;
    gamma_ = {norm_.node, 1, kNone};
    const auto found = constantBehind(graph_, gamma_, 0);
    return found && found->use == gamma_ && graph::isFloat(graph_.value(norm_.gamma).dtype);
  }

  [[nodiscard]] bool isBetaGone() const {
    if (norm_.beta == kNoValue) return true;
    const auto moves = [&](const PlannedEdit& planned) {
      const auto* shift = std::get_if<fold::AbsorbShift>(&planned.edit);
      return shift != nullptr && shift->norm == norm_.index;
    };
    if (std::ranges::any_of(plan_.edits, moves)) return true;
    const auto constant = graph_.value(norm_.beta).constant;
    if (constant == kNone || !graph_.constant(constant).volatileReason.empty()) return false;
    return graph::isZero(graph_.constant(constant).view, kLargestBeta);
  }

  // Down to linears on every path.
  bool follow(ValueId first) {
    std::vector<ValueId> open{first};
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      const auto& value = graph_.value(id);
      if (!value.opaqueReason.empty() || !graph::isFloat(value.dtype) || !value.shape) return false;
      out_.between.push_back({id, static_cast<int>(value.shape->size()) - 1, {}});
      for (const Use& use : value.uses) {
        if (use.node == kNone) return false;
        const Node& node = graph_.node(use.node);
        if (use.operand == 0 && keepsChannels(graph_, node, channels_)) {
          passOn(use.node, open);
        } else if (graph::asksByAxis(node)) {
          out_.written.push_back({use.node, static_cast<int>(value.shape->size()) - 1});
        } else if (!readsLinearly(use, node)) {
          return false;
        }
      }
    }
    return !out_.linears.empty();
  }

  void passOn(graph::NodeId id, std::vector<ValueId>& open) {
    const Node& node = graph_.node(id);
    open.insert(open.end(), node.outputs.begin(), node.outputs.end());
    if (node.kind != OpKind::Reshape && node.kind != OpKind::Expand) return;
    out_.written.push_back({id, static_cast<int>(ops::shapeOf(graph_, node.outputs[0])->size()) - 1});
  }

  bool readsLinearly(const Use& use, const Node& node) {
    switch (node.kind) {
      case OpKind::Linear:
        return use.operand == 0 && addLinear({use.node, 1, kNone}, 1);
      case OpKind::AddMatMul:
        return use.operand == 1 && addLinear({use.node, 2, kNone}, 0);
      case OpKind::MatMul:
        return use.operand == 0 && addLinear({use.node, 1, kNone}, 0);
      default:
        return false;
    }
  }

  // inputAxis: of the weight operand, the one that is summed with the channels.
  bool addLinear(const Use& weightUse, int64_t inputAxis) {
    const Shape* shape =
        ops::shapeOf(graph_, graph::operandAt(graph_.node(weightUse.node), static_cast<size_t>(weightUse.operand)));
    if (shape == nullptr || shape->size() != 2 || (*shape)[static_cast<size_t>(inputAxis)] != channels_) return false;
    const auto weight = constantBehind(graph_, weightUse, inputAxis);
    if (!weight || !addViews(weightUse, static_cast<int>(inputAxis)) ||
        graph_.constant(weight->constant).view.shape.size() != 2)
      return false;
    const auto same = std::ranges::find_if(out_.linears, [&](const fold::NarrowConstant& linear) {
      return linear.constant == weight->constant && linear.dim == weight->axis;
    });
    if (same != out_.linears.end()) {
      if (std::ranges::find(same->uses, weight->use) == same->uses.end()) same->uses.push_back(weight->use);
      return true;
    }
    out_.linears.push_back({weight->constant, static_cast<int>(weight->axis), {weight->use}, {}, true, gamma_});
    return true;
  }

  // Adds what is made of the constant on the way to this operand. False where something else reads it, too.
  bool addViews(Use use, int axis) {
    for (;;) {
      const auto id = graph::operandAt(graph_.node(use.node), static_cast<size_t>(use.operand));
      const auto& value = graph_.value(id);
      if (value.producer == kNone) return true;
      if (value.uses.size() != 1) return false;
      out_.between.push_back({id, axis, {}});
      const Node& node = graph_.node(value.producer);
      if (const auto perm = graph::intsAttribute(node, "perm"); perm && node.kind == OpKind::Permute)
        axis = static_cast<int>(perm->at(static_cast<size_t>(axis)));
      use = {value.producer, 0, kNone};
    }
  }

  const Graph& graph_;
  const LayerNorm& norm_;
  const Plan& plan_;
  int64_t channels_ = 0;
  Use gamma_;
  NormReaders out_;
};

// nullopt where the norm's output has to have all its channels: something else reads it, a weight is computed at run
// time, or its beta cannot move (plan: what of it moves).
std::optional<NormReaders> linearsBehind(const Graph& graph, const LayerNorm& norm, const Plan& plan) {
  return Readers(graph, norm, plan).find();
}

struct PaddingRow {
  StreamPadding padding;
  std::string_view name;
  int64_t multiple;
};
constexpr std::array kPaddings = {PaddingRow{StreamPadding::None, "none", 1},
                                  PaddingRow{StreamPadding::Even, "even", 2},
                                  PaddingRow{StreamPadding::Blocks, "64", 64}};

const PaddingRow& rowOf(StreamPadding padding) { return *std::ranges::find(kPaddings, padding, &PaddingRow::padding); }

fold::Channels channelsOf(int64_t full, StreamPadding padding) {
  const int64_t multiple = rowOf(padding).multiple;
  return {full, (full - 1 + multiple - 1) / multiple * multiple};
}

// By value and axis all reads together.
std::vector<ChannelReads> merged(const std::vector<ChannelReads>& reads) {
  std::map<std::pair<graph::ValueId, int>, graph::Uses> all;
  for (const auto& each : reads) {
    auto& uses = all[{each.value, each.axis}];
    for (const auto& use : each.uses) {
      if (std::ranges::find(uses, use) == uses.end()) uses.push_back(use);
    }
  }
  std::vector<ChannelReads> out;
  for (auto& [key, uses] : all) out.push_back({key.first, key.second, std::move(uses)});
  return out;
}

class EditsOfStreams {
 public:
  EditsOfStreams(const Analysis& analysis, const Plan& plan, StreamPlan& out)
      : analysis_(analysis), plan_(plan), graph_(analysis.scales.graph()), out_(out) {}

  void add(const FoundStream& found, Stream& stream) {
    channels_ = stream.channels;
    for (const auto& reads : merged(found.constants))
      edits().constants.push_back({graph_.value(reads.value).constant, reads.axis, reads.uses, channels_});
    for (const auto& reads : merged(found.cuts)) {
      edits().reads.push_back({reads.value, reads.axis, reads.uses, channels_, false});
      ++stream.cuts;
    }
    addWritten(found.written);
    for (const auto& part : found.values) edits().values.push_back({part.value, part.axis, channels_});
    for (size_t i = 0; i < found.norms.size(); ++i) addNorm(found.norms[i], found.normReads[i], stream);
  }

 private:
  fold::StreamEdits& edits() { return out_.edits; }

  void addWritten(const std::vector<ChannelAxis>& written) {
    for (const auto& at : written) edits().sizes.push_back({at.node, at.axis, channels_});
  }

  void addNorm(int index, const ChannelReads& reads, Stream& stream) {
    const auto& norm = analysis_.norms.layerNorms[static_cast<size_t>(index)];
    auto readers = linearsBehind(graph_, norm, plan_);
    if (!readers) {
      edits().reads.push_back({reads.value, reads.axis, reads.uses, channels_, true});
      ++stream.restored;
      return;
    }
    edits().norms.push_back({index, channels_});
    for (auto& linear : readers->linears) {
      linear.channels = channels_;
      edits().constants.push_back(std::move(linear));
    }
    addWritten(readers->written);
    for (const auto& part : readers->between) edits().values.push_back({part.value, part.axis, channels_});
  }

  const Analysis& analysis_;
  const Plan& plan_;
  const Graph& graph_;
  StreamPlan& out_;
  fold::Channels channels_;
};

// Each once; queries of narrow values come before the views that may have been all that read the queries.
void putInOrder(const Graph& graph, std::vector<fold::ResizeAxis>& sizes) {
  std::ranges::sort(sizes, {}, [&](const fold::ResizeAxis& size) {
    const bool asks = graph.node(size.node).kind == graph::OpKind::ShapeQuery;
    return std::tuple(!asks, size.node, size.axis);
  });
  const auto same = [](const fold::ResizeAxis& a, const fold::ResizeAxis& b) {
    return a.node == b.node && a.axis == b.axis;
  };
  const auto rest = std::ranges::unique(sizes, same);
  sizes.erase(rest.begin(), rest.end());
}

// Returns the reason where there is no stream at all.
std::string whyNone(const Analysis& analysis, const Plan& plan) {
  const auto& norms = analysis.norms.layerNorms;
  if (norms.empty()) return "there is no LayerNorm in this model";
  const auto stays = std::ranges::find_if(
      norms, [&](const LayerNorm& norm) { return std::ranges::find(plan.folded, norm.index) == plan.folded.end(); });
  const std::string none = "no residual stream is zero-mean and read by LayerNorms alone";
  if (stays == norms.end()) return none;
  const auto& reason = analysis.verdicts[static_cast<size_t>(stays->index)].reason;
  return none + ": " + stays->title + " stays a LayerNorm" + (reason.empty() ? "" : ". " + reason);
}

}  // namespace

std::optional<StreamPadding> streamPaddingFromName(std::string_view name) {
  const auto* const row = std::ranges::find(kPaddings, name, &PaddingRow::name);
  return row == kPaddings.end() ? std::nullopt : std::optional(row->padding);
}

StreamPlan planStreams(const Analysis& analysis, const Plan& plan, StreamPadding padding) {
  StreamPlan out;
  EditsOfStreams edits(analysis, plan, out);
  for (const auto& found : findStreams(analysis, plan)) {
    Stream stream;
    stream.channels = channelsOf(found.channels, padding);
    stream.norms = found.norms;
    stream.adds = found.adds;
    stream.refused = found.refused;
    if (stream.refused.empty()) edits.add(found, stream);
    out.streams.push_back(std::move(stream));
  }
  putInOrder(analysis.scales.graph(), out.edits.sizes);
  if (std::ranges::any_of(out.streams, [](const Stream& stream) { return stream.refused.empty(); })) return out;
  out.refused = out.streams.empty() ? whyNone(analysis, plan)
                                    : "the residual stream cannot be narrowed, because " + out.streams.front().refused;
  return out;
}

fold::FoldPlan narrowed(const Plan& plan, fold::StreamEdits edits) {
  fold::FoldPlan out{plan.policy, {}, std::move(edits)};
  for (const auto& planned : plan.edits) {
    auto& edit = out.edits.emplace_back(planned.edit);
    auto* replace = std::get_if<fold::ReplaceNorm>(&edit);
    if (replace == nullptr) continue;
    const auto narrow = std::ranges::find(out.streams.norms, replace->norm, &fold::NarrowNorm::norm);
    if (narrow != out.streams.norms.end()) replace->narrow = narrow->channels.width;
  }
  return out;
}

}  // namespace normlens::analysis
