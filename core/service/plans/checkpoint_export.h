// A fold's weight edits, ready to be written into a copy of a checkpoint: all that can be refused has been by then.
// Thread: one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/analysis/analysis.h"
#include "core/base/result.h"
#include "core/base/task.h"
#include "core/formats/model.h"
#include "core/formats/safetensors/checkpoint_edits.h"
#include "core/protocol/checkpoint_messages.h"

namespace normlens::service {

// A folder with safetensors, and its files by paths from it.
struct CheckpointFolder {
  std::filesystem::path path;
  std::vector<std::string> files;
};

class CheckpointExport {
 public:
  struct Fold {
    const formats::Model& model;
    const std::vector<analysis::LayerNorm>& norms;
    const fold::FoldPlan& plan;
    const protocol::FoldResult& told;
  };
  // Errors: those of openCheckpoint() and editCheckpoint().
  [[nodiscard]] static Result<CheckpointExport> prepare(const CheckpointFolder& folder, const Fold& fold);

  [[nodiscard]] const protocol::CheckpointRecipe& recipe() const { return recipe_; }
  // Errors: those of writeCheckpoint().
  [[nodiscard]] Result<protocol::CheckpointResult> write(const std::filesystem::path& out, const Task& task) const;

 private:
  CheckpointExport() = default;
  formats::safetensors::Checkpoint checkpoint_;
  formats::safetensors::CheckpointEdits edits_;
  protocol::CheckpointRecipe recipe_;
};

}  // namespace normlens::service
