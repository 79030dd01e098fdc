// Is a model a right fold of another one, whoever made it? Norm by norm: what stands in its place, whether the input
// there is zero-mean for every input of the model by the weights that it has, and how far the outputs are apart in
// float64.
//
// Thread: one thread per model.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/formats/model.h"

namespace normlens::service {

enum class FoldJudgement : uint8_t {  // up to Weightless nothing speaks against the norm
  Right,                              // an RMSNorm whose input is zero-mean, with the outputs of the LayerNorm
  Kept,                               // the norm of the original still, with the same outputs
  Weightless,                         // likewise, and its weight has moved into what reads it
  NotShown,  // Its outputs are equal on what was tried; that its input is zero-mean is not shown.
  Wrong,     // Its outputs differ.
  Missing,   // nothing in the other model is known to stand in its place
};
inline constexpr std::array kFoldJudgements = {FoldJudgement::Right,    FoldJudgement::Kept,  FoldJudgement::Weightless,
                                               FoldJudgement::NotShown, FoldJudgement::Wrong, FoldJudgement::Missing};
[[nodiscard]] const char* nameOf(FoldJudgement judgement);

struct JudgedNorm {
  std::string name, partner;  // "": none
  FoldJudgement judgement = FoldJudgement::Missing;
  std::string reason;
  std::vector<std::string> tensors;  // Lists the weights of the other model that the zero mean rests on.
  std::optional<double> maxRel;      // of its outputs in float64, against the largest number; nullopt: not compared
};

struct JudgedFold {
  // The first model's norms, in execution order, then norms of either that have no partner.
  std::vector<JudgedNorm> norms;
  double maxRel = 0, limit = 0;  // of the outputs in float64
  int batches = 0;               // that were compared
  bool outputsDiffer = false;
  std::string refused;                       // why the other model does not take inputs that the first one takes
  bool isTelling = false;                    // some floating-point output was compared
  std::string certificate;                   // of the norms that are right: see describe/certificate.h; "": none is
  std::vector<std::filesystem::path> files;  // of the other model

  // Every norm is right, kept or weightless, not all are kept, and the outputs agree.
  [[nodiscard]] bool isRight() const;
  // A norm or an output differs, or the other model fails where the first one does not. What is neither is not shown.
  [[nodiscard]] bool isWrong() const;
  [[nodiscard]] const JudgedNorm* firstWrong() const;  // or missing, or not shown; nullptr: none
};

// `original` has been probed with `inputs`; `folded` is probed with them here. freeAxes: as for run::otherSizes().
// Errors: those of running either in
// float64, BadInput where the outputs do not fit each other, Cancelled.
[[nodiscard]] Result<JudgedFold> judgeFold(const formats::Model& original, formats::Model& folded,
                                           const formats::Tensors& inputs,
                                           const std::vector<std::vector<int>>& freeAxes, const Task& task);

}  // namespace normlens::service
