#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "app/engine/stop_signals.h"
#include "app/engine/supervise_verb.h"
#include "app/engine/verbs/model_options.h"
#include "app/engine/verbs/reports.h"
#include "core/base/formatted.h"
#include "core/base/plural.h"
#include "core/formats/file/whole_file.h"
#include "core/formats/targets.h"

namespace normlens::engine {
namespace {

namespace fs = std::filesystem;

// A checkpoint's folder (Hugging Face, timm) is folded by the Python package, which has its classes. The package may be
// missing, which is no result of a fold.
constexpr const char* kProgram =
    "import sys\n"
    "sys.path[:] = [path for path in sys.path if path]\n"  // the working directory may be a stranger's
    "import signal\n"                                      // Ctrl-C while the package is imported is no traceback
    "if signal.getsignal(signal.SIGINT) is signal.default_int_handler: signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
    "try:\n"
    "    from normlens.checkpoint.__main__ import program\n"
    "    sys.exit(program())\n"
    "except ImportError as error:\n"
    "    print(f'normlens: a folder is folded by the Python package normlens: {error}; install it with its extras, or "
    "name a Python that has it with NORMLENS_PYTHON', file=sys.stderr)\n"
    "    sys.exit(3)\n";

// In a checkout the package lies beside the build folder's parent: build/release/bin/normlens-engine.
void addCheckout(const fs::path& engine) {
  std::error_code error;
  const fs::path package = engine.parent_path() / "../../../app/python";
  if (!fs::exists(package / "normlens/checkpoint", error)) return;
  const char* const before = std::getenv("PYTHONPATH");
  const std::string path =
      fs::canonical(package, error).string() + (before != nullptr && *before != '\0' ? ":" + std::string(before) : "");
  ::setenv("PYTHONPATH", path.c_str(), 1);
}

// A folder with config.json: the package says what else it lacks.
bool isCheckpointFolder(const std::string& model) {
  std::error_code error;
  return fs::is_directory(model, error) && fs::exists(fs::path(model) / "config.json", error);
}

// Ends this process: `python -m normlens.checkpoint WORDS` takes its place, with this engine. The program is
// NORMLENS_PYTHON, else python3. Returns where that cannot be started.
Exit foldFolder(const std::vector<std::string>& words, Console& console) {
  std::error_code error;
  const fs::path engine = fs::read_symlink("/proc/self/exe", error);
  addCheckout(engine);
  if (engine.filename() == "normlens-engine") ::setenv("NORMLENS_ENGINE", engine.c_str(), 0);
  const char* const named = std::getenv("NORMLENS_PYTHON");
  const std::string python = named != nullptr && *named != '\0' ? named : "python3";
  std::vector<std::string> all{python, "-c", kProgram};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  StopSignals::letThrough();
  ::dup2(console.ownStdout(), STDOUT_FILENO);
  ::dup2(console.ownStderr(), STDERR_FILENO);
  ::execvp(python.c_str(), arguments.data());
  return console.fail({ErrorCode::Unreadable, python + " cannot be started: " + std::strerror(errno),
                       "a folder is folded by the Python package; name a Python with NORMLENS_PYTHON"});
}

struct FoldOptions {
  std::string model, output, planFile, savePlan, certificate, device = "cpu";
  NormChoice norm;
  Policy policy = Policy::Balanced;
  Gamma gamma = Gamma::Keep;
  protocol::Prices prices = protocol::Prices::Fixed;
  double maxGrowth = 10;
  protocol::ProofParts proof = protocol::ProofParts::Auto;
  bool carryMeans = false, noVerify = false, force = false, trustCode = false;
  InputOptions inputs;

  void addTo(CLI::App& app);
  [[nodiscard]] NamedFiles files() const;
};

// "25 of 25 LayerNorms folded, 4 tensors centered (1.2 MB), ..."
std::string foldSummary(const protocol::PlanInfo& plan) {
  const std::string gains =
      plan.gains_absorbed == 0 ? "" : plural(plan.gains_absorbed, "norm weight") + " moved into linear layers";
  if (plan.layer_norms == 0) return gains;
  return std::to_string(plan.folded.size()) + " of " + plural(plan.layer_norms, "LayerNorm") + " folded, " +
         plural(plan.tensors_centered, "tensor") + " centered (" + megabytes(plan.bytes_centered) + "), " +
         plural(plan.shifts_absorbed, "shift") + " moved into biases, " + (gains.empty() ? "" : gains + ", ") +
         plural(plan.centerings, "centering") + " at run time, " +
         (plan.means_carried == 0 ? "" : plural(plan.means_carried, "mean") + " carried, ") + "copies add " +
         megabytes(plan.bytes_grown);
}

void printPrices(const protocol::NormPrices& prices, Console& console) {
  console.print("  measured on [" + std::to_string(prices.rows) + ", " + std::to_string(prices.width) +
                "]: LayerNorm " + formatted("%.3g us", prices.layer_norm_us) + ", the norm in its place " +
                formatted("%.3g us", prices.rms_norm_us) + ", a centering " +
                formatted("%.3g us", prices.centering_us));
}

// "folded LayerNorms became aten::rms_norm, for torch (tested there); ..."
std::string writtenFor(const NormChoice& norm, const std::string& format) {
  const auto flavour = *formats::normFlavourFromName(norm.name);
  const std::string became =
      "folded LayerNorms became " + std::string(formats::operatorsOf(flavour, format)) + ", for ";
  const auto form = formats::formFor(norm.target, format);
  if (!form) return became + std::string(formats::loadedBy(flavour, format));
  const formats::Target& target = *form->target;
  return became + std::string(target.title) +
         (target.ran ? " (tested there)" : " (not run there: by its documentation)") +
         "; fast there: " + std::string(target.speed);
}

// Prints each norm whose squares float16 does not hold; one line where it holds all.
void printRange(const FoldOutcome& outcome, Console& console) {
  if (outcome.ranges.empty()) return;
  int unknown = 0, beyond = 0;
  double sum = 0;
  for (const run::NormRange& range : outcome.ranges) {
    if (!range.after) {
      ++unknown;
      continue;
    }
    sum = std::max(sum, range.after->sum);
    if (range.after->square <= graph::kLargestFloat16) continue;
    ++beyond;
    const std::string before = range.before ? formatted("%.3g", range.before->square) : "not known";
    console.print("  " + range.title + ": x² reaches " + formatted("%.3g", range.after->square) + " (before the fold " +
                  before +
                  "), float16 ends at 65504: keep this norm in float32, or scale its input and epsilon upstream");
  }
  if (unknown > 0) console.print("  range: not measured for " + plural(unknown, "norm"));
  if (beyond == 0 && unknown == 0) console.print("  range: float16 holds the squares of all norms' inputs here");
  if (sum > graph::kLargestFloat16)
    console.print(formatted("  range: sums of squares reach %.3g: they have to be taken in float32", sum));
}

void printOutcome(const std::string& model, const protocol::Analysis& analysis, const FoldOutcome& outcome,
                  Console& console) {
  console.print(model + ": " + foldSummary(outcome.fold.plan));
  if (!outcome.fold.not_carried.empty()) console.print("  no mean is carried: " + outcome.fold.not_carried);
  if (outcome.fold.plan.prices.rows > 0) printPrices(outcome.fold.plan.prices, console);
  for (const auto& condition : outcome.fold.holds_if) console.print("  holds if " + asText(condition));
  for (const auto& norm : analysis.norms) {
    for (const std::string& line : wouldFold(norm)) console.print("  " + norm.title + " " + line);
  }
  for (const auto& state : outcome.fold.plan.norms) {
    if (!state.because.empty())
      console.print("  " + analysis.norms[static_cast<size_t>(state.norm)].title + ": " +
                    stateText(state, outcome.applied));
  }
  if (outcome.fold.verify) printVerify(*outcome.fold.verify, console);
  if (!outcome.output) return;
  if (!outcome.fold.plan.folded.empty()) console.print("  " + writtenFor(outcome.norm, outcome.format));
  printRange(outcome, console);
  console.print("  written to " + *outcome.output + " (load " + formatted("%.0f ms", outcome.times.load_ms) +
                ", fold " + formatted("%.0f ms", outcome.times.fold_ms) + ", save " +
                formatted("%.0f ms", outcome.times.save_ms) + ")");
}

// Nothing was written: notes why, and leaves an older output alone.
Exit endWithout(FoldOutcome outcome, const std::string& why, Exit exit, Console& console,
                const protocol::Analysis& analysis) {
  if (outcome.fold.plan.prices.rows > 0) printPrices(outcome.fold.plan.prices, console);
  console.note(why + "; nothing was written", exit);
  if (outcome.fold.reason.empty()) outcome.fold.reason = why;
  return console.finish([&] { return foldReport(analysis, outcome); }, exit);
}

std::string whyRefused(const protocol::FoldResult& fold) {
  if (!fold.reason.empty()) return fold.reason;
  return fold.verify && fold.verify->exact ? "the folded model differs from the original"
                                           : "the fold could not be proved";
}

protocol::FoldParams foldParams(const FoldOptions& options) {
  protocol::FoldParams params;
  params.plan.policy = options.policy;
  params.plan.gamma = options.gamma;
  params.plan.carry_means = options.carryMeans;
  params.plan.max_growth_percent = options.maxGrowth;
  params.plan.prices = options.prices;
  params.norm = options.norm.name;
  params.verify = !options.noVerify;
  params.proof = options.proof;
  return params;
}

// An edit that was refused is an outcome, not an error: the plan is reported with the reason.
Result<protocol::FoldResult> refusedFold(service::Service& service, const protocol::FoldParams& params,
                                         const Error& error, const Task& task) {
  auto plan = service.plan(params.plan, task);
  if (error.code != ErrorCode::Refused || !plan) return tl::unexpected(error);
  protocol::FoldResult result;
  result.plan = std::move(*plan);
  result.reason = error.message;
  return result;
}

Result<FoldOutcome> foldModel(service::Service& service, const FoldOptions& options, const Task& task) {
  if (!options.planFile.empty()) {
    RETURN_IF_ERROR(service.usePlanFile(options.planFile));
  }
  const protocol::FoldParams params = foldParams(options);
  auto fold = service.fold(params, task);
  const bool applied = fold && !fold->plan.isEmpty();
  if (!fold) fold = refusedFold(service, params, fold.error(), task);
  if (!fold) return tl::unexpected(fold.error());
  if (applied && !options.savePlan.empty()) {
    RETURN_IF_ERROR(service.savePlanFile(options.savePlan));
  }
  const std::string format = service.model()->facts().format;
  return FoldOutcome{std::move(*fold), service.times(), std::nullopt, applied, {}, options.norm, format, {}};
}

// Nothing folds of a model that was not seen running: that shows nothing about it.
Error notKnown(Error error) {
  error.message += "; so it is not known which LayerNorms can be folded, and nothing was written";
  return error;
}

struct Folding {
  service::Service& service;
  const FoldOptions& options;
  const protocol::Analysis& analysis;
  const std::string& note;
  Console& console;
  const Task& task;
};

Result<protocol::ExportResult> exportModel(const Folding& on) {
  protocol::ExportParams params;
  params.path = on.options.output;
  params.norm = on.options.norm.name;
  params.force = on.options.force;
  return on.service.exportTo(params, on.task);
}

// Says which options changed nothing.
void printWithoutEffect(const FoldOptions& options, const protocol::FoldResult& fold, Console& console) {
  if (options.carryMeans && fold.plan.means_carried == 0 && fold.not_carried.empty())
    console.print("  no mean is carried: no further norm folds by that");
  if (options.gamma == Gamma::Fold && fold.plan.gains_absorbed == 0)
    console.print("  no norm weight is moved: none is read by linear layers alone");
}

// again: the first plan was refused when the large weights were read, and this one leaves out what cannot be centered.
Result<Exit> foldAndWrite(const Folding& on, bool again) {
  const auto& [service, options, analysis, note, console, task] = on;
  ASSIGN_OR_RETURN(auto outcome, foldModel(service, options, task));
  outcome.note = note;
  if (outcome.fold.plan.isEmpty()) {
    if (const Status runs = requireRunnable(options.model, analysis); !runs)
      return tl::unexpected(notKnown(runs.error()));
    std::string why =
        outcome.fold.reason.empty() ? "no LayerNorm of " + options.model + " can be folded" : outcome.fold.reason;
    const int others = analysis.totals.free + analysis.totals.with_centering;
    if (options.planFile.empty() && others > 0 && !again)
      why += "; " + std::to_string(others) + " would with another --policy or a larger --max-growth";
    if (const auto free = std::ranges::count(analysis.other_norms, Verdict::Free, &protocol::OtherNormInfo::weightless);
        free > 0 && options.gamma == Gamma::Keep)
      why += "; --gamma fold moves the " + plural(free, "RMSNorm weight") + " that linear layers alone read";
    return endWithout(std::move(outcome), why, Exit::Done, console, analysis);
  }
  if (!outcome.applied || (!outcome.fold.ok && !options.force)) {
    const std::string why = whyRefused(outcome.fold);
    printOutcome(options.model, analysis, outcome, console);
    return endWithout(std::move(outcome), why, Exit::NotDone, console, analysis);
  }
  const auto exported = exportModel(on);
  if (!exported && exported.error().code == ErrorCode::Refused && !again) return foldAndWrite(on, true);
  if (!exported) return tl::unexpected(exported.error());
  outcome.output = exported->path;
  if (!options.noVerify) {
    auto ranges = service.normRanges(options.norm.target, task);
    if (!ranges) console.note("the squares that norms take could not be measured: " + ranges.error().message);
    outcome.ranges = std::move(ranges).value_or(std::vector<run::NormRange>());
  }
  outcome.times = service.times();
  printOutcome(options.model, analysis, outcome, console);
  printWithoutEffect(options, outcome.fold, console);
  if (!options.certificate.empty()) {
    ASSIGN_OR_RETURN(const auto judged, service.judgeFold(exported->path, task));
    RETURN_IF_ERROR(writeCertificate(options.certificate, judged, console));
  }
  return console.finish([&] { return foldReport(analysis, outcome); }, Exit::Done);
}

// Measures the format's norms in folds of the model and sets the fastest of them.
Status chooseFastest(service::Service& service, FoldOptions& options, const std::string& format, Console& console,
                     const Task& task) {
  protocol::FoldParams params = foldParams(options);
  params.norm = NormChoice().name;
  params.verify = false;
  options.norm.name = params.norm;
  if (!options.planFile.empty()) {
    RETURN_IF_ERROR(service.usePlanFile(options.planFile));
  }
  const auto folded = service.fold(params, task);
  const bool refused = !folded && folded.error().code == ErrorCode::Refused;
  if (refused || (folded && !folded->ok)) return {};  // which is reported when it is folded to be written
  if (!folded) return tl::unexpected(folded.error());
  protocol::BenchParams bench;
  bench.device = options.device;
  bench.sweep = {format == "onnx" ? "norm=portable,standard,ort" : "norm=portable,primitives,fast"};
  ASSIGN_OR_RETURN(const auto measured, service.bench(bench, {}, task));
  if (measured.cancelled) return fail(ErrorCode::Cancelled, "stopped on request");
  for (const protocol::BenchPoint& point : measured.points) {
    console.print("  --norm " + point.norm +
                  (point.error.empty() ? formatted(": %.3f ms, the original %.3f ms, speed-up %.3f (%.3f to %.3f)",
                                                   point.b->latency.median_ms, point.a.latency.median_ms, point.speedup,
                                                   point.ci_low, point.ci_high)
                                       : ": " + point.error));
  }
  if (const auto* const fastest = protocol::fastestFold(measured)) options.norm.name = fastest->norm;
  return {};
}

// Runs in a worker that may be handed options.files(). Exit::NotDone: refused or not proved, nothing was written.
Result<Exit> foldToFile(FoldOptions options, const Call& call) {
  Console& console = call.console;
  const Task task = console.task(call.stop());
  service::Service service;
  service.setRules(call.rules);
  RETURN_IF_ERROR(options.inputs.choice());
  ASSIGN_OR_RETURN(const auto info, service.open(options.model, task));
  if (!info.note.empty()) console.note(options.model + ": " + info.note);
  const Files files = service.model()->facts().files();
  RETURN_IF_ERROR(checkOutput(files, options.output));
  if (!options.savePlan.empty()) {
    RETURN_IF_ERROR(checkBesideOutput("the plan", options.savePlan, options.output));
    RETURN_IF_ERROR(checkWrittenBeside("the plan", options.savePlan, files, {options.output, options.inputs.npz}));
  }
  if (!options.certificate.empty()) {
    RETURN_IF_ERROR(checkBesideOutput("the certificate", options.certificate, options.output));
    RETURN_IF_ERROR(checkWrittenBeside("the certificate", options.certificate, files,
                                       {options.output, options.inputs.npz, options.savePlan, options.planFile}));
  }
  RETURN_IF_ERROR(options.norm.chooseFor(info.format));
  service.expectExport();
  const auto use = options.noVerify ? formats::InputsFor::Shapes : formats::InputsFor::Values;
  ASSIGN_OR_RETURN(const auto analysis, analyzeModel(service, options.model, options.inputs, console, task, use));
  RETURN_IF_ERROR(requireVerdicts(options.model, options.inputs, analysis));
  if (!analysis.norms.empty()) noteAssumedInputs(analysis, console);
  if (options.norm.isAuto()) {
    RETURN_IF_ERROR(chooseFastest(service, options, info.format, console, task));
  }
  return foldAndWrite({service, options, analysis, info.note, console, task}, false);
}

NamedFiles FoldOptions::files() const {
  NamedFiles files = namedFiles({model}, inputs);
  files.grants.toRead(planFile);
  files.grants.toWrite(output);
  files.grants.toWrite(savePlan);
  files.grants.toWrite(certificate);
  files.gpu = norm.isAuto() && device.starts_with("cuda");
  return files;
}

void FoldOptions::addTo(CLI::App& app) {
  app.add_option("model", model, "The model file, or the folder of a Hugging Face checkpoint")
      ->required()
      ->type_name("MODEL");
  app.add_option("-o,--output", output, "Where to write the folded model")->required()->type_name("OUT");
  inputs.addTo(app);
  inputs.addSizesTo(app);
  addChoice(app, "--policy", policy, "Policy: what may be folded");
  addMaxGrowth(app, maxGrowth);
  addChoice(app, "--gamma", gamma,
            "The weight of each RMSNorm, old and new: keep it, or fold it into the linear layers behind the norm");
  app.add_flag("--carry-mean", carryMeans,
               "Where a residual stream is also read as it is, let it keep its mean next to it if that pays");
  addChoice(app, "--prices", prices, "Savings and costs for policy balanced: element counts, or times measured now");
  norm.addTo(app, "What replaces LayerNorm; auto: what is fastest on --device", true);
  app.add_option("--device", device, "Where --norm auto measures: cpu, cuda, or cuda:1")->capture_default_str();
  addChoice(app, "--proof", proof,
            "How to prove the result: the whole model at once, or an ONNX file in sections along its stream; auto: in "
            "sections if the whole does not fit in memory");
  app.add_flag("--no-verify", noVerify, "Do not prove the result");
  app.add_flag("--force", force, "Write the result although it could not be proved");
  app.add_flag("--trust-remote-code", trustCode, "MODEL is a folder: run its Python files");
  inputs.addVerdictsTo(app);
  app.add_option("--certificate", certificate,
                 "Write what the zero mean of each norm rests on, to be checked by others")
      ->type_name("F.json");
  app.add_option("--plan", planFile, "Use the edits of this file")->type_name("PLAN.json");
  app.add_option("--save-plan", savePlan, "Write the edits to this file")->type_name("PLAN.json");
}

}  // namespace

// Hands what was given on to the package that folds folders; what it does not take is an error.
Exit foldFolder(const CLI::App& app, const FoldOptions& options, Console& console) {
  std::vector<std::string> words{options.model, "-o", options.output};
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || name == "model" || name == "--output" || name == "--help") continue;
    const bool isFlag = name == "--trust-remote-code" || name == "--json" || name == "--quiet";
    if (!isFlag && name != "--policy" && name != "--max-growth" && name != "--gamma") {
      return console.fail({ErrorCode::Usage, name + " is for files",
                           "a folder takes --policy, --max-growth, --gamma, --trust-remote-code, --json and --quiet"});
    }
    words.push_back(name);
    if (name == "--gamma") words.emplace_back(nameOf(options.gamma));
    if (name == "--policy") words.emplace_back(nameOf(options.policy));
    if (name == "--max-growth") words.push_back(formatted("%g", options.maxGrowth));
  }
  return foldFolder(words, console);
}

Declared declareFold(CLI::App& app, const confine::Limits& limits) {
  const auto options = std::make_shared<FoldOptions>();
  options->addTo(app);
  const auto fold = [options, &app, &limits](Console& console) {
    if (isCheckpointFolder(options->model)) return foldFolder(app, *options, console);
    if (options->trustCode)
      return console.fail({ErrorCode::Usage, "--trust-remote-code is for a folder: a file runs none", "leave it out"});
    const Declared confined{
        [options](const Call& call) { return foldToFile(*options, call); }, [options] { return options->files(); }, {}};
    return superviseVerb(confined, limits, console);
  };
  return {{}, {}, fold};
}

}  // namespace normlens::engine
