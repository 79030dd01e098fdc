// The papers' own criteria, so that their tables can be reproduced and compared with the exact verdicts.
//
//   paper            Algorithm 1 (000/001): every leaf of the zero-mean graph is a general linear layer or an LN, whose
//                    output counts as zero-mean whatever its gamma and beta; an embedding, a parameter, a
//                    concatenation or an addend that is the same for all channels counts as opaque.
//   paper_practical  section 4.2: opaque leaves may be centered at run time, if that does not break D.2.
//   paper_strict     001 D.2: `paper`, and every layer that the centered ones affect is an LN.
#pragma once

#include <vector>

#include "core/analysis/claims/claims.h"
#include "core/analysis/norms/norms.h"
#include "core/fold/plan.h"
#include "core/graph/graph.h"

namespace normlens::analysis {

struct PaperVerdict {
  bool paper = false;
  bool practical = false;
  bool strict = false;
};

struct PaperCriteria {
  std::vector<PaperVerdict> verdicts;  // by norm
  // Folds the practical set as the papers do: every weight centered for all its readers, every LN taken at its word.
  std::vector<fold::Edit> edits;
};

// `claims` are of the same graph and norms.
[[nodiscard]] PaperCriteria paperCriteria(const graph::Graph& graph, const std::vector<LayerNorm>& norms,
                                          const Claims& claims);

}  // namespace normlens::analysis
