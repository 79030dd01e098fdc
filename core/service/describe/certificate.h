// The certificate of a fold: per norm the chain of claims from which the zero mean of its input follows, with the names
// that values and tensors have in the folded file. app/python/normlens/check_certificate.py derives each step anew.
// Format: docs/certificates.md. Thread: pure function.
#pragma once

#include <string>
#include <vector>

#include "core/analysis/claims/held_means.h"
#include "core/formats/model.h"

namespace normlens::service {

struct CertifiedNorm {
  std::string name;
  const analysis::NormParts* norm = nullptr;
  analysis::ClaimId claim = graph::kNone;  // that its input is zero-mean
};

// JSON text. Error: Unreadable: the file, whose hash is in it, cannot be read.
[[nodiscard]] Result<std::string> certificateOf(const formats::Model& folded, const std::vector<CertifiedNorm>& norms,
                                                const analysis::Claims& claims);

}  // namespace normlens::service
