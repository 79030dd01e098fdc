// 'Center here': what a run-time centering of one value would do, before it is done.
#pragma once

#include <string>
#include <vector>

#include "core/analysis/analysis.h"

namespace normlens::analysis {

struct CenteringPreview {
  bool allowed = false;
  std::string reason;      // one plain sentence: why not, or what it does
  std::vector<int> frees;  // norms that fold with it and not without
};
[[nodiscard]] CenteringPreview previewCentering(const Analysis& analysis, graph::ValueId value);

}  // namespace normlens::analysis
