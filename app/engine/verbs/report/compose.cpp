#include "app/engine/verbs/report/compose.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "app/engine/verbs/report/sections.h"
#include "core/base/formatted.h"
#include "core/base/plural.h"

namespace normlens::engine::report {
namespace {

using protocol::DiffResult;
using protocol::DiffRow;

std::string formatTitle(const std::string& format) {
  if (format == "torchscript") return "TorchScript";
  if (format == "pt2") return "torch.export";
  return format == "onnx" ? "ONNX" : format;
}

std::string parametersText(int64_t parameters) {
  constexpr int64_t kMillion = 1'000'000;
  if (parameters < kMillion) return plural(parameters, "parameter");
  return formatted("%.3g M parameters", static_cast<double>(parameters) / static_cast<double>(kMillion));
}

std::string subtitleOf(const Facts& facts) {
  constexpr size_t kShown = 12;
  std::string text = formatTitle(facts.info.format) + " · " + parametersText(facts.info.parameters) + " · " +
                     bytesText(facts.info.file_bytes);
  if (!facts.sha256.empty()) text += " · SHA-256 " + facts.sha256.substr(0, kShown) + "…";
  return text + " · NormLens " + facts.version + " · " + facts.date;
}

bool applied(const Facts& facts) { return facts.fold && !facts.plan.empty(); }

std::string foldedText(const Facts& facts, const std::string& where, bool accepted = true) {
  const bool one = foldedNorms(facts) == 1;
  const char* became = accepted ? (one ? " is now an RMSNorm" : " are now RMSNorms")
                                : (one ? " would be an RMSNorm" : " would be RMSNorms");
  return std::to_string(foldedNorms(facts)) + " of " + plural(facts.analysis.totals.layer_norms, "LayerNorm") + became +
         where + ".";
}

std::string foldTitle(std::optional<bool> equal) {
  if (!equal) return "It was not decided whether an output changed";
  return *equal ? "No output changed beyond rounding" : "The fold changes an output";
}

std::string proofText(const protocol::VerifyResult& verify) {
  if (verify.exact != true) return {};
  if (!verify.file_done || verify.file_dtype == "float64") return " Proved in float64.";
  return " Proved in float64 and in the file's own type, " + verify.file_dtype + ".";
}

Banner ofFold(const Facts& facts) {
  const protocol::FoldResult& fold = *facts.fold;
  if (!applied(facts)) return {Tone::Neutral, "Nothing was folded", fold.reason + ".", {}};
  const std::optional<bool> equal = isEqual(facts);
  const bool accepted = equal == true || fold.reason.empty();
  Banner banner{equal == true ? Tone::Good : Tone::Bad, foldTitle(equal), foldedText(facts, "", accepted), {}};
  if (fold.verify) banner.text += proofText(*fold.verify);
  if (!accepted) banner.text += " It was not accepted: " + fold.reason + ".";
  return banner;
}

// A comparison on some inputs is no proof, and is not called one.
Banner ofFile(const Facts& facts) {
  const std::optional<bool> equal = isEqual(facts);
  Banner banner{equal == true ? Tone::Good : Tone::Bad,
                foldTitle(equal),
                foldedText(facts, " in " + std::filesystem::path(facts.file->path).filename().string()),
                {}};
  if (!equal) {
    banner.text += " The two could not be compared" +
                   (facts.inType && !facts.inType->error.empty() ? ": " + facts.inType->error : std::string()) + ".";
    return banner;
  }
  banner.text +=
      " The two files were compared on the inputs below, in their own type; this is a comparison, not a proof.";
  if (!facts.inType->first_diverging.empty())
    banner.text += " The first norm that differs is " + facts.inType->first_diverging + ".";
  return banner;
}

double largest(const DiffResult& diff) {
  double most = 0;
  for (const DiffRow& row : diff.rows) {
    if (row.kind == SiteKind::Output) most = std::isnan(row.max_rel) ? row.max_rel : std::max(most, row.max_rel);
  }
  return most;
}

void addFigures(const Facts& facts, Banner& banner) {
  const bool folded = facts.file || applied(facts);
  if (folded) {
    banner.figures.emplace_back(
        std::to_string(foldedNorms(facts)) + " / " + std::to_string(facts.analysis.totals.layer_norms), "norms folded");
  }
  if (applied(facts)) {
    banner.figures.emplace_back(std::to_string(facts.fold->plan.tensors_centered), "tensors centered");
    if (facts.fold->verify && facts.fold->verify->algebra_done)
      banner.figures.emplace_back(formatted("%.1g", facts.fold->verify->algebra.max_rel), "float64 difference");
  } else if (facts.inType && facts.inType->error.empty()) {
    banner.figures.emplace_back(formatted("%.1g", largest(*facts.inType)), facts.inType->dtype + " difference");
  }
  const protocol::BenchPoint* measured = facts.bench ? firstMeasured(*facts.bench) : nullptr;
  if (measured == nullptr || !measured->b) return;
  const std::string where = measured->device == "cpu" ? "CPU" : "GPU";
  const bool wrong = measured->outputs && measured->outputs->beyond;
  const bool doubtful = measured->crowded || !measured->warmed_up;
  banner.figures.emplace_back(formatted("%.2f×", measured->speedup), "speed on " + where +
                                                                         (wrong             ? ": of wrong outputs"
                                                                          : measured->noise ? ": noise"
                                                                          : doubtful        ? ": read with care"
                                                                                            : ""));
}

template <class... Sections>
std::vector<Section> withoutEmpty(Sections&&... sections) {
  std::vector<Section> all;
  for (std::optional<Section>* section : {&sections...}) {
    if (*section) all.push_back(std::move(**section));
  }
  return all;
}

}  // namespace

int foldedNorms(const Facts& facts) {
  if (facts.file) return std::max(0, facts.analysis.totals.layer_norms - facts.file->layerNorms);
  return facts.fold ? static_cast<int>(facts.fold->plan.folded.size()) : 0;
}

std::optional<bool> isEqual(const Facts& facts) {
  if (!facts.file) return facts.fold && facts.fold->verify ? facts.fold->verify->exact : std::nullopt;
  if (!facts.inType || !facts.inType->error.empty()) return std::nullopt;
  return largest(*facts.inType) <= facts.file->limit;
}

Document composed(const Facts& facts) {
  const std::string name = std::filesystem::path(facts.model).filename().string();
  Document document;
  document.title = "Fold report: " + name;
  document.subtitle = subtitleOf(facts);
  document.banner = facts.file ? ofFile(facts) : ofFold(facts);
  addFigures(facts, document.banner);
  document.sections = graphSections(facts);
  for (Section& section :
       withoutEmpty(planSection(facts), proofSection(facts), normsSection(facts), differencesSection(facts),
                    latencySection(facts), std::optional<Section>(commandsSection(facts)))) {
    document.sections.push_back(std::move(section));
  }
  document.plan = facts.plan;
  document.planName = planName(facts);
  document.footer = "Made by NormLens " + facts.version + ": one file, no scripts, nothing from elsewhere.";
  return document;
}

}  // namespace normlens::engine::report
