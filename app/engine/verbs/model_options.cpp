#include "app/engine/verbs/model_options.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include "core/base/files.h"
#include "core/base/plural.h"
#include "core/base/stopwatch.h"
#include "core/formats/file/whole_file.h"
#include "core/formats/targets.h"
#include "core/protocol/input_groups.h"

namespace normlens::engine {
namespace {

// Checks that the name is free, or that of a file that may be written over.
Status checkPlainFile(const std::filesystem::path& path) {
  std::error_code error;
  const auto there = std::filesystem::status(path, error);
  if (!std::filesystem::exists(there) || std::filesystem::is_regular_file(there)) return {};
  const bool folder = std::filesystem::is_directory(there);
  return fail(ErrorCode::WriteFailed, path.string() + " is a " + (folder ? "folder" : "device or a pipe"),
              "choose another name");
}

std::filesystem::path folderOf(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

Status checkFolderOf(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path folder = folderOf(path);
  if (std::filesystem::is_directory(folder, error)) return {};
  return fail(ErrorCode::WriteFailed, "there is no folder " + folder.string() + " to write to");
}

template <class Number>
std::optional<Number> numberOf(const std::string& text) {
  Number number = 0;
  const char* const past = text.data() + text.size();
  const auto [end, status] = std::from_chars(text.data(), past, number);
  return status == std::errc() && end == past ? std::optional(number) : std::nullopt;
}

}  // namespace

Status checkOutput(const Files& model, const std::filesystem::path& out) {
  if (files::isOneOf(model, out)) {
    return fail(ErrorCode::Usage, "the output " + out.string() + " is the model itself", "choose another name");
  }
  if (!service::suffixFits(model.front(), out)) {
    return fail(ErrorCode::Usage, "the output " + out.string() + " has another suffix than the model",
                "name it " + std::filesystem::path(out).replace_extension(model.front().extension()).string());
  }
  RETURN_IF_ERROR(checkFolderOf(out));
  return checkPlainFile(out);
}

Status checkWrittenBeside(const std::string& what, const std::filesystem::path& path, const Files& model,
                          const Files& others) {
  if (files::isOneOf(model, path) || files::isOneOf(others, path)) {
    return fail(ErrorCode::Usage, what + " would be written over " + path.string() + ", which is read or written here",
                "choose another name");
  }
  RETURN_IF_ERROR(checkFolderOf(path));
  return checkPlainFile(path);
}

Status checkBesideOutput(const std::string& what, const std::filesystem::path& path, const std::filesystem::path& out) {
  const bool reserved = path.filename().string().starts_with(out.filename().string() + ".data");
  if (!reserved || !files::isOneOf({folderOf(out)}, folderOf(path))) return {};
  return fail(ErrorCode::Usage, what + " has a name that is kept for the data of " + out.string(),
              "choose another name");
}

Status writeCertificate(const std::filesystem::path& path, const service::JudgedFold& judged, Console& console) {
  if (judged.certificate.empty()) {
    console.note("no LayerNorm is shown to be folded rightly; there is nothing to certify, and " + path.string() +
                 " is not written");
    return {};
  }
  if (files::isOneOf(judged.files, path)) {
    return fail(ErrorCode::Usage,
                "the certificate would be written over " + path.string() + ", which belongs to the fold",
                "choose another name");
  }
  RETURN_IF_ERROR(formats::writeWhole(path, judged.certificate));
  const auto right = std::ranges::count(judged.norms, service::FoldJudgement::Right, &service::JudgedNorm::judgement);
  console.print(path.string() + ": certificate of " + plural(right, "folded norm"));
  return {};
}

Result<double> saveTo(const formats::Model& model, const std::string& path, const Task& task) {
  task.report("writing " + path);
  const Stopwatch watch;
  RETURN_IF_ERROR(model.save(path, task));
  return watch.ms();
}

CLI::Validator wholeFrom(int least) {
  return {[least](const std::string& text) {
            const auto number = numberOf<int>(text);
            return number && *number >= least
                       ? std::string()
                       : "'" + text + "' is not a whole number from " + std::to_string(least) + " on";
          },
          ""};
}

CLI::Validator notNegative() {
  return {[](const std::string& text) {
            const auto number = numberOf<double>(text);
            return number && *number >= 0 ? std::string() : "'" + text + "' is not a number from 0 on";
          },
          ""};
}

Error inFile(const std::string& path, Error error) {
  const bool named = error.message.find(path) != std::string::npos || error.code == ErrorCode::Usage ||
                     error.code == ErrorCode::Cancelled;
  if (!named) error.message = path + ": " + error.message;
  return error;
}

std::vector<std::string> filesIn(const std::string& path, std::span<const std::string_view> suffixes) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {path};
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    const std::string suffix = entry.path().extension();
    if (entry.is_regular_file(error) && std::ranges::find(suffixes, suffix) != suffixes.end())
      found.push_back(entry.path());
  }
  // Checkpoints are numbered: 9 comes before 10.
  std::ranges::sort(found, [](const auto& a, const auto& b) { return strverscmp(a.c_str(), b.c_str()) < 0; });
  return found;
}

Files InputOptions::files() const {
  Files all(more.begin(), more.end());
  if (!npz.empty()) all.emplace_back(npz);
  return all;
}

void InputOptions::addTo(CLI::App& app) {
  app.add_option("--inputs", npz, "File of arrays in_0, in_1 ... (.npz)")->type_name("FILE.npz")->group("Inputs");
  addDrawnTo(app);
}

void InputOptions::addSeveralTo(CLI::App& app) {
  const auto take = [this](const std::vector<std::string>& named) {
    constexpr std::string_view kSuffixes[] = {".npz"};
    for (const std::string& path : named) {
      const auto found = filesIn(path, kSuffixes);
      if (found.empty()) throw CLI::ValidationError("--inputs", path + " has no .npz file in it");
      more.insert(more.end(), found.begin(), found.end());
    }
    npz = more.front();
    more.erase(more.begin());
  };
  app.add_option_function<std::vector<std::string>>("--inputs", take,
                                                    "Files of arrays in_0, in_1 ..., or folders of them")
      ->type_name("FILE.npz|FOLDER")
      ->group("Inputs")
      ->take_all();
  addDrawnTo(app);
}

void InputOptions::addDrawnTo(CLI::App& app) {
  app.add_option("--input", specs, "One input, drawn at random: 'in_0=int64[1,16]:0..199'")
      ->type_name("SPEC")
      ->group("Inputs")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--model", model, "Which model of a torch.export archive that holds several")
      ->configurable(false)  // else the argument of that name counts as the same option
      ->type_name("NAME")
      ->group("Inputs");
}

void InputOptions::addSizesTo(CLI::App& app) {
  app.add_option("--assume", sizes.assume,
                 "Accept the condition that an input's axis has size 1 in every run: 'gate[-1]=1'")
      ->type_name("SIZE")
      ->group("Verdicts")
      ->take_all()
      ->allow_extra_args(false);
  app.add_flag("--strict", sizes.strict,
               "Accept no size of 1 that neither the file fixes nor --assume names, tested or not")
      ->group("Verdicts");
}

void InputOptions::addVerdictsTo(CLI::App& app) {
  app.add_flag("--require-verdicts", requireVerdicts, "Exit with code 3 if the verdict of a LayerNorm is unknown")
      ->group("Verdicts");
}

Result<service::InputChoice> InputOptions::choice() const {
  if (!npz.empty() && !specs.empty()) {
    return fail(ErrorCode::Usage, "--inputs and --input were both given", "give one of them");
  }
  return service::InputChoice{npz, specs, sizes, formats::InputsFor::Values};
}

NamedFiles namedFiles(std::initializer_list<std::string> models, const InputOptions& inputs,
                      const std::string& output) {
  NamedFiles files;
  files.model = *models.begin();
  files.ofModel = inputs.model;
  for (const std::string& model : models) files.grants.toRead(model);
  files.grants.toRead(inputs.npz);
  for (const std::string& file : inputs.more) files.grants.toRead(file);
  files.grants.toWrite(output);
  return files;
}

void addAdvice(protocol::Analysis& analysis) {
  for (protocol::NormInfo& norm : analysis.norms) {
    if (norm.verdict == Verdict::Unknown && !analysis.advice.empty())
      norm.reason.insert(norm.reason.size() - 1, "; " + analysis.advice.text());
  }
}

Result<protocol::Analysis> analyzeModel(service::Service& service, const std::string& path, const InputOptions& inputs,
                                        Console& console, const Task& task, formats::InputsFor use) {
  ASSIGN_OR_RETURN(auto choice, inputs.choice());
  choice.use = use;
  service.setInputs(std::move(choice));
  auto analysis = service.analyze(task);
  if (!analysis) return tl::unexpected(inFile(path, analysis.error()));
  addAdvice(*analysis);
  if (!analysis->unused_arrays.empty()) {
    console.note(inputs.npz + ": the model has no input of this name, so it is not used: " +
                 boost::algorithm::join(analysis->unused_arrays, ", "));
  }
  return analysis;
}

void noteAssumedInputs(const protocol::Analysis& analysis, Console& console) {
  if (!analysis.probe_error.empty()) return;
  for (const protocol::InputGroup& group : protocol::inputGroups(analysis.inputs)) {
    if (!group.each.assumed.empty()) console.note("input " + group.names + " assumed: " + group.each.assumed);
  }
}

std::string asText(const protocol::SizeCondition& condition) {
  return condition.text + (condition.tested.empty() ? "" : " (" + condition.tested + ")");
}

std::vector<std::string> wouldFold(const protocol::NormInfo& norm) {
  std::vector<std::string> lines;
  for (const auto& condition : norm.would_fold_if) {
    lines.push_back("would fold if " + asText(condition) + ": --assume '" + condition.input + "[" +
                    std::to_string(condition.axis) + "]=1'");
  }
  return lines;
}

void NormChoice::addTo(CLI::App& app, const std::string& help, bool withAuto) {
  std::vector<std::string> norms{"portable", "fast", "standard", "ort", "primitives"};
  if (withAuto) norms.emplace_back("auto");
  auto* const byName = app.add_option("--norm", name, help)->check(CLI::IsMember(norms))->capture_default_str();
  app.add_option("--for", target, "Write the norm that this runtime loads: see docs/targets.md")
      ->type_name("TARGET[@VERSION]")
      ->excludes(byName);
}

void addMaxGrowth(CLI::App& app, double& percent) {
  app.add_option("--max-growth", percent, "By how much the file may grow, policy balanced")
      ->check(notNegative())
      ->type_name("PERCENT")
      ->capture_default_str();
}

Status NormChoice::chooseFor(const std::string& format) {
  if (!target.empty()) {
    ASSIGN_OR_RETURN(const auto form, formats::formFor(target, format));
    name = formats::normFlavourName(form.flavour);
  }
  const bool onnxOnly = name == "standard" || name == "ort";
  if (!onnxOnly || format == "onnx") return {};
  return fail(ErrorCode::Usage, "--norm " + name + " exists for ONNX files only",
              "choose portable, primitives or fast");
}

Result<OpenedModel> openModel(service::Service& service, const std::string& path, const InputOptions& inputs,
                              const Call& call, const Task& task) {
  Console& console = call.console;
  service.setRules(call.rules);
  RETURN_IF_ERROR(inputs.choice());
  ASSIGN_OR_RETURN(auto info, service.open(path, task));
  if (!info.note.empty()) console.note(path + ": " + info.note);
  ASSIGN_OR_RETURN(auto analysis, analyzeModel(service, path, inputs, console, task));
  if (info.note.empty() && !analysis.note.empty()) console.note(path + ": " + analysis.note);
  return OpenedModel{std::move(info), std::move(analysis)};
}

std::string couldNotRun(const std::string& path, const protocol::Analysis& analysis) {
  std::vector<std::string> assumed;
  for (const protocol::InputGroup& group : protocol::inputGroups(analysis.inputs)) {
    if (!group.each.assumed.empty()) assumed.push_back(group.names + ": " + group.each.assumed);
  }
  const std::string on =
      assumed.empty() ? "" : " on the assumed inputs (" + boost::algorithm::join(assumed, "; ") + ")";
  return path + " could not be run" + on + ": " + analysis.probe_error;
}

Status requireRunnable(const std::string& path, const protocol::Analysis& analysis) {
  if (analysis.probe_error.empty()) return {};
  if (analysis.never_runs) return fail(ErrorCode::Unsupported, couldNotRun(path, analysis));
  return fail(ErrorCode::RunFailed, couldNotRun(path, analysis), analysis.advice);
}

Status requireVerdicts(const std::string& path, const InputOptions& inputs, const protocol::Analysis& analysis) {
  const auto first = std::ranges::find(analysis.norms, Verdict::Unknown, &protocol::NormInfo::verdict);
  if (!inputs.requireVerdicts || first == analysis.norms.end()) return {};
  return fail(ErrorCode::RunFailed, path + ": the verdict of " + std::to_string(analysis.totals.unknown) + " of " +
                                        plural(analysis.norms.size(), "LayerNorm") + " is unknown; " + first->title +
                                        ": " + first->reason.substr(0, first->reason.size() - 1));
}

}  // namespace normlens::engine
