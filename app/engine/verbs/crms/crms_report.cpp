#include "app/engine/verbs/crms/crms_report.h"

#include "app/engine/verbs/reports.h"
#include "app/engine/verbs/verify_text.h"
#include "core/base/formatted.h"
#include "core/base/plural.h"
#include "core/protocol/json.h"

namespace normlens::engine {
namespace {

using nlohmann::json;
using protocol::toJson;
using service::Narrowing;

template <class T>
json threeOf(const T (&of)[3]) {
  return {{"original", of[0]}, {"fold", of[1]}, {"crms", of[2]}};
}

json entryOf(const service::TimedPair& pair) {
  const run::Speedup& speedup = pair.speedup;
  return {{"before_ms", toJson(pair.beforeMs)},
          {"after_ms", toJson(pair.afterMs)},
          {"median", toJson(speedup.ratio)},
          {"ci95", {toJson(speedup.low), toJson(speedup.high)}},
          {"noise", speedup.noise}};
}

json entryOf(const service::StreamTimes& times) {
  return {{"fold", entryOf(times.fold)}, {"crms", entryOf(times.result)}, {"crms_over_fold", entryOf(times.overFold)}};
}

json entryOf(const protocol::Analysis& analysis, const analysis::Stream& stream) {
  json norms = json::array();
  for (const int norm : stream.norms) norms.push_back(analysis.norms[static_cast<size_t>(norm)].name);
  const bool narrow = stream.refused.empty();
  return {{"channels", stream.channels.full},
          {"width", narrow ? stream.channels.width : stream.channels.full},
          {"norms", norms},
          {"restored", stream.restored},
          {"adds", stream.adds},
          {"cuts", stream.cuts},
          {"refused", narrow ? json(nullptr) : json(stream.refused)}};
}

std::string percentLess(double before, double after) {
  return before > 0 ? formatted("%+.2f%%", 100 * (after - before) / before) : std::string("none");
}

std::string lineOf(const analysis::Stream& stream) {
  const auto norms = plural(static_cast<int>(stream.norms.size()), "norm");
  if (!stream.refused.empty())
    return "a stream of " + std::to_string(stream.channels.full) + " channels stays, because " + stream.refused;
  std::string line = "a stream of " + std::to_string(stream.channels.full) + " channels is " +
                     std::to_string(stream.channels.width) + " wide, read by " + norms;
  if (stream.restored > 0) line += ", " + std::to_string(stream.restored) + " of them with all channels restored";
  if (stream.cuts > 0) line += "; " + plural(stream.cuts, "value") + " cut at run time";
  return line;
}

std::string lineOf(const char* before, const char* after, const service::TimedPair& pair) {
  const run::Speedup& speedup = pair.speedup;
  return std::string("  measured: ") + before + formatted(" %.3f ms, ", pair.beforeMs) + after +
         formatted(" %.3f ms: ", pair.afterMs) + formatted("%.3fx", speedup.ratio) +
         formatted(" [%.3f, ", speedup.low) + formatted("%.3f]", speedup.high) + (speedup.noise ? " (noise)" : "");
}

}  // namespace

json crmsReport(const protocol::Analysis& analysis, const CrmsOutcome& outcome) {
  const Narrowing& narrowing = outcome.narrowing;
  json streams = json::array();
  for (const auto& stream : narrowing.streams) streams.push_back(entryOf(analysis, stream));
  const auto& work = narrowing.work;
  return {{"layer_norms", analysis.norms.size()},
          {"folded", narrowing.plan.folded.size()},
          {"centerings", narrowing.plan.centerings},
          {"streams", streams},
          {"flops", {{"norms", threeOf(work.normFlops)}, {"linears", threeOf(work.linearFlops)}}},
          {"bytes", {{"stream", threeOf(work.streamBytes)}, {"weights", threeOf(work.weightBytes)}}},
          {"times", narrowing.times ? entryOf(*narrowing.times) : json(nullptr)},
          {"output", toJson(outcome.output)},
          {"reason", narrowing.reason.empty() ? json(nullptr) : json(narrowing.reason)},
          {"load_ms", toJson(outcome.load_ms)},
          {"crms_ms", toJson(narrowing.ms)},
          {"save_ms", toJson(outcome.save_ms)},
          {"verify", narrowing.verify ? verifyEntry(*narrowing.verify) : json(nullptr)}};
}

std::vector<std::string> crmsLines(const protocol::Analysis& analysis, const CrmsOutcome& outcome) {
  const Narrowing& narrowing = outcome.narrowing;
  std::vector<std::string> lines{std::to_string(narrowing.plan.folded.size()) + " of " +
                                 plural(static_cast<int>(analysis.norms.size()), "LayerNorm") + " folded"};
  for (const auto& stream : narrowing.streams) lines.push_back("  " + lineOf(stream));
  if (!narrowing.model) return lines;
  const auto& work = narrowing.work;
  lines.push_back("  operations beside the original: norms " + percentLess(work.normFlops[0], work.normFlops[2]) +
                  " (RMSNorm alone " + percentLess(work.normFlops[0], work.normFlops[1]) + "), linears at streams " +
                  percentLess(work.linearFlops[0], work.linearFlops[2]));
  lines.push_back("  bytes beside the original: streams " +
                  percentLess(static_cast<double>(work.streamBytes[0]), static_cast<double>(work.streamBytes[2])) +
                  ", weights " +
                  percentLess(static_cast<double>(work.weightBytes[0]), static_cast<double>(work.weightBytes[2])));
  if (narrowing.times) {
    const auto& times = *narrowing.times;
    lines.push_back(lineOf("LayerNorm", "RMSNorm", times.fold));
    lines.push_back(lineOf("LayerNorm", "CRMSNorm", times.result));
    lines.push_back(lineOf("RMSNorm", "CRMSNorm", times.overFold));
  }
  return lines;
}

}  // namespace normlens::engine
