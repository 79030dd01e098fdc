// Ways of writing one thing in PyTorch: the verdict of each, and the fold of those that fold against the original.
#pragma once

#include <gtest/gtest.h>
#include <torch/script.h>

#include <string>
#include <vector>

#include "core/analysis/analysis.h"
#include "core/fold/plan.h"

namespace normlens::formats::torchscript::test {

inline constexpr double kExact = 1e-12;

// Two linears of the input to 8 features, h and k; the code makes y of them, which a last linear reads. `norm(` stands
// for a LayerNorm with gamma and beta.
[[nodiscard]] torch::jit::Module network(const std::string& code);

[[nodiscard]] std::vector<fold::Edit> editsOf(const analysis::Plan& plan);

struct Form {
  std::string name;
  std::string code;
  int norms = 1;
};

// Their tests are in written_forms.cpp; the forms are where they are instantiated.
class FreeFormTest : public ::testing::TestWithParam<Form> {};      // folds by weights alone
class CenteredFormTest : public ::testing::TestWithParam<Form> {};  // folds with centerings at run time
class BlockedFormTest : public ::testing::TestWithParam<Form> {};   // is not free
class NoNormTest : public ::testing::TestWithParam<Form> {};        // has no LayerNorm

inline const auto kName = [](const auto& row) { return row.param.name; };

}  // namespace normlens::formats::torchscript::test
