#include "app/engine/verbs.h"
#include "app/engine/verbs/crms/crms_report.h"
#include "app/engine/verbs/model_options.h"
#include "app/engine/verbs/number_check.h"
#include "app/engine/verbs/output_path.h"
#include "app/engine/verbs/verify_text.h"

namespace normlens::engine {
namespace {

struct Options {
  std::string model, output, policy = "balanced", norm = "portable", pad = "none";
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
  how.flavour = *formats::normFlavourFromName(options.norm);
  how.verify = !options.noVerify;
  if (options.measure) how.measureOn = device;
  protocol::PlanParams plan;
  plan.policy = options.policy;
  plan.max_growth_percent = options.maxGrowth;
  return service.narrowStreams(plan, how, task);
}

Exit run(const Options& options, const Call& call) {
  Console& console = call.console;
  const Task task = console.task(call.stop());
  formats::RunSettings device;
  if (const Status known = formats::setDevice(device, options.device); !known) return console.fail(known.error());
  service::Service service;
  service.setRules(call.rules);
  const auto opened = openModel(service, options.model, options.inputs, console, task);
  if (!opened) return console.fail(opened.error());
  if (const Status good = checkOutput(service.model()->facts().files(), options.output); !good)
    return console.fail(good.error());
  if (const Status good = checkFlavour(opened->info.format, options.norm); !good) return console.fail(good.error());
  if (const Status runs = requireRunnable(options.model, opened->analysis); !runs) return console.fail(runs.error());
  noteAssumedInputs(opened->analysis, console);
  auto narrowing = narrow(service, options, device, task);
  if (!narrowing) return console.fail(inFile(options.model, narrowing.error()));
  CrmsOutcome outcome{std::move(*narrowing), service.times().load_ms, 0, std::nullopt};
  const auto report = [&] { return crmsReport(opened->analysis, outcome); };
  if (!outcome.narrowing.model || (!outcome.narrowing.ok && !options.force)) {
    print(options, opened->analysis, outcome, console);
    console.note(options.model + ": " + outcome.narrowing.reason + "; nothing was written");
    return console.finish(report, Exit::NotDone);
  }
  const auto saved = saveTo(*outcome.narrowing.model, options.output, task);
  if (!saved) return console.fail(saved.error());
  outcome.save_ms = *saved;
  outcome.output = options.output;
  print(options, opened->analysis, outcome, console);
  return console.finish(report, Exit::Done);
}

}  // namespace

Declared declareCrms(CLI::App& app, const confine::Limits&) {
  const auto options = std::make_shared<Options>();
  app.add_option("model", options->model, "The model file")->required()->type_name("MODEL");
  app.add_option("-o,--output", options->output, "Where to write the narrow model")->required()->type_name("OUT");
  options->inputs.addTo(app);
  options->inputs.addSizesTo(app);
  app.add_option("--policy", options->policy, "What may be done to fold")
      ->check(CLI::IsMember({"free", "balanced", "all"}))
      ->capture_default_str();
  app.add_option("--max-growth", options->maxGrowth, "By how much the file may grow, policy balanced")
      ->check(notNegative())
      ->type_name("PERCENT")
      ->capture_default_str();
  app.add_option("--norm", options->norm, "What takes the place of a LayerNorm that gets all channels back")
      ->check(CLI::IsMember(kNormFlavours))
      ->capture_default_str();
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
