#include "core/analysis/streams/streams.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "core/analysis/streams/norm_readers.h"
#include "core/analysis/streams/stream_finder.h"

namespace normlens::analysis {
namespace {

using graph::Graph;

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

  void add(const FoundStream& found, Stream& told) {
    channels_ = told.channels;
    for (const auto& reads : merged(found.constants))
      edits().constants.push_back({graph_.value(reads.value).constant, reads.axis, reads.uses, channels_});
    for (const auto& reads : merged(found.cuts)) {
      edits().reads.push_back({reads.value, reads.axis, reads.uses, channels_, false});
      ++told.cuts;
    }
    addWritten(found.written);
    for (const auto& part : found.values) edits().values.push_back({part.value, part.axis, channels_});
    for (size_t i = 0; i < found.norms.size(); ++i) addNorm(found.norms[i], found.normReads[i], told);
  }

 private:
  fold::StreamEdits& edits() { return out_.edits; }

  void addWritten(const std::vector<ChannelAxis>& written) {
    for (const auto& at : written) edits().sizes.push_back({at.node, at.axis, channels_});
  }

  void addNorm(int index, const ChannelReads& reads, Stream& told) {
    const auto& norm = analysis_.norms.layerNorms[static_cast<size_t>(index)];
    auto readers = linearsBehind(graph_, norm, plan_);
    if (!readers) {
      edits().reads.push_back({reads.value, reads.axis, reads.uses, channels_, true});
      ++told.restored;
      return;
    }
    edits().norms.push_back({index, channels_});
    for (auto& linear : readers->linears) {
      linear.channels = channels_;
      edits().readers.push_back(std::move(linear));
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
    Stream told;
    told.channels = channelsOf(found.channels, padding);
    told.norms = found.norms;
    told.adds = found.adds;
    told.refused = found.refused;
    if (told.refused.empty()) edits.add(found, told);
    out.streams.push_back(std::move(told));
  }
  putInOrder(analysis.scales.graph(), out.edits.sizes);
  if (std::ranges::any_of(out.streams, [](const Stream& stream) { return stream.refused.empty(); })) return out;
  out.refused = out.streams.empty() ? whyNone(analysis, plan)
                                    : "the residual stream cannot be narrowed, because " + out.streams.front().refused;
  return out;
}

fold::FoldPlan narrowed(const Plan& plan, fold::StreamEdits edits) {
  fold::FoldPlan out{std::string(policyName(plan.policy)), {}, std::move(edits)};
  for (const auto& planned : plan.edits) {
    const auto* replace = std::get_if<fold::ReplaceNorm>(&planned.edit);
    const bool narrow = replace != nullptr && std::ranges::any_of(out.streams.norms, [&](const auto& norm) {
                          return norm.norm == replace->norm;
                        });
    if (!narrow) out.edits.push_back(planned.edit);
  }
  return out;
}

}  // namespace normlens::analysis
