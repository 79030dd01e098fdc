// An edited checkpoint as a folder: all of it, or nothing (files::NewFolder).
//
// Tensors that were not edited, headers and metadata stay byte for byte; what is beside the weights is copied. Weights
// go from file to file in strokes, edited ones are computed on their way. Thread: one.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/formats/safetensors/checkpoint_edits.h"

namespace normlens::formats::safetensors {

struct WrittenCheckpoint {
  uint64_t bytes = 0;  // of all files
  size_t files = 0;
  bool configChanged = false;  // tie_word_embeddings
};

// recipe: what recipe.json says. Errors: WriteFailed, also where there is something in the folder; Unreadable where a
// file of the checkpoint has changed since it was opened or cannot be read; Cancelled.
[[nodiscard]] Result<WrittenCheckpoint> writeCheckpoint(const Checkpoint& checkpoint, const CheckpointEdits& edits,
                                                        const std::filesystem::path& folder, const std::string& recipe,
                                                        const Task& task);

// Whether the configuration lets a class tie its embeddings; false where it says not to, or there is none.
[[nodiscard]] bool mayTie(const Checkpoint& checkpoint);

inline constexpr const char* kRecipeName = "recipe.json";
inline constexpr const char* kConfigName = "config.json";
inline constexpr const char* kTieKey = "tie_word_embeddings";

}  // namespace normlens::formats::safetensors
