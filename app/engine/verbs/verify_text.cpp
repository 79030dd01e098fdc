#include "app/engine/verbs/verify_text.h"

#include <boost/algorithm/string/join.hpp>
#include <string>

#include "core/base/formatted.h"

namespace normlens::engine {
namespace {

std::string outcomeOf(const protocol::VerifyResult& verify) {
  const std::string word = !verify.exact ? "not decided" : *verify.exact ? "proved" : "refuted";
  std::string line = word + ": ";
  line += verify.algebra_done ? "float64 " + formatted("%.2g", verify.algebra.max_rel) : "float64 not possible";
  if (!verify.algebra_reason.empty()) line += " (" + verify.algebra_reason + ")";
  if (verify.file_done) {
    const bool byLimit = verify.file_dtype == "float64";
    line += ", " + verify.file_dtype + " " + formatted("%.2g", verify.file.max_rel);
    line += byLimit ? formatted(" at a limit of %.2g", verify.file.limit)
                    : formatted(" at a noise floor of %.2g", verify.noise_floor);
    if (verify.errors && !byLimit) {
      line += formatted("; against exact numbers the original is off by %.2g, the fold by %.2g",
                        verify.errors->original, verify.errors->folded);
    }
  } else if (!verify.file_reason.empty()) {
    line += ", files not compared (" + verify.file_reason + ")";
  }
  return line;
}

}  // namespace

std::vector<std::string> verifyLines(const protocol::VerifyResult& verify) {
  std::vector<std::string> lines{outcomeOf(verify)};
  if (verify.sections) {
    lines.push_back("section by section, " + std::to_string(*verify.sections) +
                    " of them, on drawn values along the stream: the model as a whole was not run, and rounding was "
                    "judged in each section alone");
  }
  if (verify.sample_only) {
    lines.emplace_back("compared on these inputs alone: the model refused all other values and sizes that were tried");
  }
  if (!verify.not_run.empty()) {
    lines.push_back("folded, but in a branch that these inputs do not take: " +
                    boost::algorithm::join(verify.not_run, ", "));
  }
  if (!verify.first_diverging.empty()) lines.push_back("first norm that differs: " + verify.first_diverging);
  return lines;
}

void printVerify(const protocol::VerifyResult& verify, Console& console) {
  for (const std::string& line : verifyLines(verify)) console.print("  " + line);
}

}  // namespace normlens::engine
