// The open model against its fold, or against another file: in any floating type, row by row, and the tensors behind a
// row. Keeps the last pair of models and the last pair of tensors, so that looking closer at what was just compared
// costs one run at most.
//
// Thread: one.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/analysis/norms/norms.h"
#include "core/base/task.h"
#include "core/formats/model.h"
#include "core/formats/open_choice.h"
#include "core/protocol/difference_messages.h"

namespace normlens::service {

// DiffSubject names the models to compare. References are used during the call only.
struct DiffSubject {
  const formats::Model& original;
  const std::vector<analysis::LayerNorm>& norms;
  const formats::Tensors& inputs;
  const formats::Model* folded = nullptr;  // nullptr: nothing has been folded
  // The fold done again on the original in another type, which rounds once instead of twice.
  std::function<Result<std::unique_ptr<formats::Model>>(const formats::Model& converted)> foldAgain;
  formats::OpenChoice besides;  // how the other file is opened
};

class Differences {
 public:
  Differences();
  ~Differences();
  Differences(const Differences&) = delete;
  Differences& operator=(const Differences&) = delete;

  // Compares them; the result records what a type makes impossible. Errors: Usage (no fold, no such type), the other
  // file cannot be opened, Cancelled.
  [[nodiscard]] Result<protocol::DiffResult> compare(const DiffSubject& subject, const protocol::DiffParams& params,
                                                     const Task& task);
  [[nodiscard]] Result<protocol::TensorPair> tensorPair(const DiffSubject& subject,
                                                        const protocol::TensorPairParams& params, const Task& task);
  // Call it when the original, its inputs or the fold change.
  void forget();

 private:
  struct Kept;
  [[nodiscard]] Status makePair(const DiffSubject& subject, const std::string& against, const std::string& dtype,
                                const Task& task);

  std::unique_ptr<Kept> kept_;
};

}  // namespace normlens::service
