#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/engine/verbs.h"
#include "app/engine/verbs/model_options.h"
#include "app/engine/verbs/report/document.h"
#include "core/base/formatted.h"
#include "core/protocol/json.h"

namespace normlens::engine {
namespace {

using nlohmann::json;
using service::FoldJudgement;
using service::JudgedFold;
using service::JudgedNorm;

struct VerifyOptions {
  std::string a, b, certificate;
  InputOptions inputs;
};

// "not shown"
std::string textOf(FoldJudgement judgement) {
  std::string text = service::nameOf(judgement);
  std::ranges::replace(text, '_', ' ');
  return text;
}

void print(const VerifyOptions& options, const JudgedFold& judged, Console& console) {
  std::string counts = plural(static_cast<int64_t>(judged.norms.size()), "norm");
  for (const auto judgement : service::kFoldJudgements) {
    const auto count = std::ranges::count(judged.norms, judgement, &JudgedNorm::judgement);
    if (count > 0) counts += ", " + std::to_string(count) + " " + textOf(judgement);
  }
  const char* const verdict = judged.isRight()   ? " is a right fold of "
                              : judged.isWrong() ? " is not a right fold of "
                                                 : " is not shown to be a right fold of ";
  console.print(options.b + verdict + options.a + ": " + counts);
  if (!judged.isRight() && !judged.isWrong() && judged.isTelling && judged.firstWrong() == nullptr)
    console.print("  no norm of it is folded");
  report::Table table{{"norm", "in B", "verdict", "error in float64"}, {}};
  for (const JudgedNorm& norm : judged.norms) {
    table.rows.push_back({norm.name, norm.partner.empty() ? "-" : norm.partner, textOf(norm.judgement),
                          norm.maxRel ? formatted("%.2g", *norm.maxRel) : "-"});
  }
  for (const std::string& line : report::asLines(table)) console.print("  " + line);
  for (const JudgedNorm& norm : judged.norms) {
    if (!norm.reason.empty()) console.print("  " + norm.name + ": " + norm.reason);
  }
  if (!judged.refused.empty()) console.print("  " + judged.refused);
  console.print(formatted("  outputs differ by %.2g in float64, the limit is %.2g; sets of inputs: %d", judged.maxRel,
                          judged.limit, judged.batches));
}

json reportOf(const JudgedFold& judged) {
  json norms = json::array();
  for (const JudgedNorm& norm : judged.norms) {
    norms.push_back({{"name", norm.name},
                     {"partner", norm.partner.empty() ? json(nullptr) : json(norm.partner)},
                     {"verdict", service::nameOf(norm.judgement)},
                     {"reason", norm.reason.empty() ? json(nullptr) : json(norm.reason)},
                     {"tensors", norm.tensors},
                     {"max_rel", protocol::toJson(norm.maxRel)}});
  }
  const JudgedNorm* const first = judged.firstWrong();
  return {{"right", judged.isRight()},
          {"norms", std::move(norms)},
          {"first_wrong", first != nullptr ? json(first->name) : json(nullptr)},
          {"refused", judged.refused.empty() ? json(nullptr) : json(judged.refused)},
          {"max_rel", protocol::toJson(judged.maxRel)},
          {"limit", judged.limit},
          {"batches", judged.batches}};
}

Result<Exit> runVerify(const VerifyOptions& options, const Call& call) {
  const Task task = call.console.task(call.stop());
  service::Service service;
  ASSIGN_OR_RETURN(const auto a, openModel(service, options.a, options.inputs, call, task));
  RETURN_IF_ERROR(requireRunnable(options.a, a.analysis));
  noteAssumedInputs(a.analysis, call.console);
  if (!options.certificate.empty()) {
    RETURN_IF_ERROR(checkWrittenBeside("the certificate", options.certificate, service.model()->facts().files(),
                                       {options.b, options.inputs.npz}));
  }
  ASSIGN_OR_RETURN(const auto judged, service.judgeFold(options.b, task));
  if (!options.certificate.empty()) {
    RETURN_IF_ERROR(writeCertificate(options.certificate, judged, call.console));
  }
  print(options, judged, call.console);
  return call.console.finish([&] { return reportOf(judged); }, judged.isRight() ? Exit::Done : Exit::NotDone);
}

}  // namespace

Declared declareVerify(CLI::App& app, const confine::Limits&) {
  const auto options = std::make_shared<VerifyOptions>();
  app.add_option("a", options->a, "The original model, which gives the inputs")->required()->type_name("A");
  app.add_option("b", options->b, "The model that is to be a fold of it, whoever made it")->required()->type_name("B");
  options->inputs.addTo(app);
  app.add_option("--certificate", options->certificate, "Write what the zero mean of each right norm rests on")
      ->type_name("F.json");
  return {[options](const Call& call) { return runVerify(*options, call); },
          [options] {
            return namedFiles({options->a, options->b}, options->inputs, options->certificate);
          },
          {}};
}

}  // namespace normlens::engine
