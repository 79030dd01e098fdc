#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/verbs.h"
#include "app/engine/verbs/model_options.h"
#include "app/engine/verbs/reports.h"
#include "core/base/formatted.h"
#include "core/base/plural.h"
#include "core/protocol/json.h"
#include "core/protocol/messages.h"
#include "core/service/narrow_streams.h"

namespace normlens::engine {
using nlohmann::json;
using protocol::toJson;
using service::Narrowing;

namespace {

// The output of the verb crms: its JSON object and its lines. Field names are stable.
struct CrmsOutcome {
  service::Narrowing narrowing;
  double load_ms = 0, save_ms = 0;
  std::optional<std::string> output;  // path, where a file was written
};

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
          {"refused", orNull(stream.refused)}};
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
          {"reason", orNull(narrowing.reason)},
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
  lines.push_back("  operations compared with the original: norms " +
                  percentLess(work.normFlops[0], work.normFlops[2]) + " (RMSNorm alone " +
                  percentLess(work.normFlops[0], work.normFlops[1]) + "), linears at streams " +
                  percentLess(work.linearFlops[0], work.linearFlops[2]));
  lines.push_back("  bytes compared with the original: streams " +
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

struct Options {
  std::string model, output, pad = "none";
  NormChoice norm;
  Policy policy = Policy::Balanced;
  double maxGrowth = 10;
  bool noVerify = false, force = false, measure = false;
  std::string device = "cpu";
  InputOptions inputs;
};

void print(const Options& options, const protocol::Analysis& analysis, const CrmsOutcome& outcome, Console& console) {
  const auto lines = crmsLines(analysis, outcome);
  console.print(options.model + ": " + lines.front());
  for (size_t i = 1; i < lines.size(); ++i) console.print(lines[i]);
  if (outcome.narrowing.verify) printVerify(*outcome.narrowing.verify, console);
  if (outcome.output) console.print("  written to " + *outcome.output);
}

Result<service::Narrowing> narrow(service::Service& service, const Options& options, const formats::RunSettings& device,
                                  const Task& task) {
  service::NarrowOptions how;
  how.padding = *analysis::streamPaddingFromName(options.pad);
  how.flavour = *formats::normFlavourFromName(options.norm.name);
  how.verify = !options.noVerify;
  if (options.measure) how.measureOn = device;
  protocol::PlanParams plan;
  plan.policy = options.policy;
  plan.max_growth_percent = options.maxGrowth;
  return service.narrowStreams(plan, how, task);
}

Result<Exit> run(Options options, const Call& call) {
  Console& console = call.console;
  const Task task = console.task(call.stop());
  formats::RunSettings device;
  RETURN_IF_ERROR(formats::setDevice(device, options.device));
  service::Service service;
  ASSIGN_OR_RETURN(const auto opened, openModel(service, options.model, options.inputs, call, task));
  RETURN_IF_ERROR(checkOutput(service.model()->facts().files(), options.output));
  RETURN_IF_ERROR(options.norm.chooseFor(opened.info.format));
  RETURN_IF_ERROR(requireRunnable(options.model, opened.analysis));
  noteAssumedInputs(opened.analysis, console);
  auto narrowing = narrow(service, options, device, task);
  if (!narrowing) return tl::unexpected(inFile(options.model, narrowing.error()));
  CrmsOutcome outcome{std::move(*narrowing), service.times().load_ms, 0, std::nullopt};
  const auto report = [&] { return crmsReport(opened.analysis, outcome); };
  if (!outcome.narrowing.model || (!outcome.narrowing.ok && !options.force)) {
    print(options, opened.analysis, outcome, console);
    console.note(options.model + ": " + outcome.narrowing.reason + "; nothing was written");
    return console.finish(report, Exit::NotDone);
  }
  ASSIGN_OR_RETURN(outcome.save_ms, saveTo(*outcome.narrowing.model, options.output, task));
  outcome.output = options.output;
  print(options, opened.analysis, outcome, console);
  return console.finish(report, Exit::Done);
}

}  // namespace

Declared declareCrms(CLI::App& app, const confine::Limits&) {
  const auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "The model file")->required()->type_name("MODEL");
  app.add_option("-o,--output", options->output, "Where to write the narrow model")->required()->type_name("OUT");
  options->inputs.addTo(app);
  options->inputs.addSizesTo(app);
  addChoice(app, "--policy", options->policy, "Policy: what may be folded", static_cast<size_t>(Policy::Paper));
  addMaxGrowth(app, options->maxGrowth);
  options->norm.addTo(app, "What replaces a LayerNorm that restores all channels");
  app.add_option("--pad", options->pad, "Widen streams with zeros: to an even number of channels, or a multiple of 64")
      ->check(CLI::IsMember({"none", "even", "64"}))
      ->capture_default_str();
  auto* measure = app.add_flag("--measure", options->measure, "Time the original, the fold alone and the result");
  app.add_option("--device", options->device, "Where to measure: cpu, cuda, or cuda:1 for another GPU than the first")
      ->needs(measure)
      ->capture_default_str();
  app.add_flag("--no-verify", options->noVerify, "Do not prove the result");
  app.add_flag("--force", options->force, "Write the result although it could not be proved");
  return {[options](const Call& call) { return run(*options, call); },
          [options] {
            NamedFiles files = namedFiles({options->model}, options->inputs, options->output);
            files.gpu = options->measure && options->device.starts_with("cuda");
            return files;
          },
          {}};
}

}  // namespace normlens::engine
