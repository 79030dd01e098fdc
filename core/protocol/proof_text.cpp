#include "core/protocol/proof_text.h"

#include <boost/algorithm/string/join.hpp>

#include "core/protocol/figure_text.h"

namespace normlens::protocol {
namespace {

// Ordered as ErrorFloor.
constexpr const char* kFloors[namesOf(ErrorFloor{}).size()] = {
    "6 × a few roundings in ", "6 × the original's own error", "from the original's error in other rows",
    "6 × the noise from rounding its weights", "6 × a tenth of the values"};

}  // namespace

bool losesPrecision(const VerifyResult& proof) {
  constexpr double kAsMuch = 2;
  return proof.beyond_rounding && !(proof.errors && proof.errors->folded <= kAsMuch * proof.errors->original);
}

std::string proofTitle(const VerifyResult& proof) {
  if (!proof.exact) return "Not decided";
  if (!*proof.exact) return "Outputs differ";
  const std::string& type = proof.file_dtype;
  const bool own = proof.file_done && type != "float64";
  std::vector<std::string> types, parts;
  if (proof.algebra_done || !own) types.emplace_back("float64");
  if (own && !proof.beyond_rounding) types.push_back(type);
  if (!types.empty()) parts.push_back("Exact in " + boost::algorithm::join(types, " and "));
  if (proof.beyond_rounding) {
    parts.push_back(!losesPrecision(proof)
                        ? type + " as near as the original"
                        : type + " off by " + errorText(proof.errors ? proof.errors->folded : proof.file.max_rel));
  }
  if (!proof.not_run.empty()) parts.push_back(std::to_string(proof.not_run.size()) + " not run");
  return boost::algorithm::join(parts, " · ");
}

std::string proofCaution(const VerifyResult& proof) {
  if (proof.exact != true || !proof.beyond_rounding) return {};
  const std::string in = "In " + proof.file_dtype + ", the ";
  if (!proof.errors) {
    return in + "outputs differ by " + errorText(proof.file.max_rel) + ". The original's own error is not known.";
  }
  const std::string original = errorText(proof.errors->original), folded = errorText(proof.errors->folded);
  return losesPrecision(proof)
             ? in + "fold is off by " + folded + " and the original by " + original + ": more than rounding."
             : in + "original itself is off by " + original + "; the fold by " + folded + ", as much.";
}

std::string limitBasis(const VerifyResult& proof) {
  if (proof.file_dtype == "float64") return {};
  const std::string basis = kFloors[static_cast<size_t>(proof.floor)];
  return proof.floor == ErrorFloor::Roundings ? basis + proof.file_dtype : basis;
}

std::string allowedInFile(const VerifyResult& proof) {
  const std::string limit = errorText(proof.file.limit), basis = limitBasis(proof);
  if (basis.empty()) return limit;
  return limit + (basis.starts_with("6") ? " = " : ", ") + basis;
}

std::vector<std::string> howProved(const VerifyResult& proof) {
  std::vector<std::string> sentences;
  if (!proof.algebra_reason.empty()) {
    const char* about = proof.algebra_done ? "About the float64 proof: " : "Not possible in float64: ";
    sentences.push_back(about + proof.algebra_reason + ".");
  }
  if (proof.sections) {
    sentences.push_back("Proved in " + std::to_string(*proof.sections) +
                        " sections, on drawn values along the stream: the model as a whole was not run, and rounding "
                        "was judged per section.");
  }
  if (proof.sample_only)
    sentences.emplace_back("Compared on these inputs only: the model refused all other values and sizes.");
  return sentences;
}

std::vector<std::string> proofDetails(const VerifyResult& proof) {
  std::vector<std::string> sentences = howProved(proof);
  if (!proof.file_done && !proof.file_reason.empty())
    sentences.push_back("The files were not compared: " + proof.file_reason + ".");
  if (proof.errors && proof.file_dtype != "float64" && !proof.beyond_rounding) {
    sentences.push_back("Against exact numbers, the original is off by " + errorText(proof.errors->original) +
                        " and the fold by " + errorText(proof.errors->folded) + ".");
  }
  if (!proof.not_run.empty()) {
    sentences.push_back(
        "Folded, but in a branch that these inputs do not take: " + boost::algorithm::join(proof.not_run, ", ") + ".");
  }
  if (!proof.first_diverging.empty())
    sentences.push_back("The first norm that differs: " + proof.first_diverging + ".");
  return sentences;
}

}  // namespace normlens::protocol
