// The weights of a model as Hugging Face's libraries keep them: a folder with model.safetensors, or with several such
// files and model.safetensors.index.json, which says what lies where, and configuration, tokenizer and others beside.
//
// Files may be links (a folder of the Hugging Face cache). Thread: immutable after open; concurrent reads are safe.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/formats/file/mapped_file.h"
#include "core/formats/pt2/file/json.h"
#include "core/formats/safetensors/header.h"

namespace normlens::formats::safetensors {

// A file of tensors.
struct Shard {
  std::string name;  // in the folder
  std::shared_ptr<const MappedFile> file;
  Header header;
};

struct Checkpoint {
  // A tensor of one of the shards.
  struct Place {
    size_t shard = 0, tensor = 0;
    auto operator<=>(const Place&) const = default;
  };

  std::filesystem::path folder;
  std::vector<Shard> shards;
  std::string indexName;  // empty: there is none
  std::optional<pt2::Json> index;
  std::vector<std::string> others;  // files beside the weights, by their paths from the folder
  std::vector<std::string> left;    // files that are not to be copied: weights in other forms

  [[nodiscard]] const Tensor& at(const Place& place) const { return shards[place.shard].header.tensors[place.tensor]; }
  [[nodiscard]] std::vector<Place> places() const;
  [[nodiscard]] std::optional<Place> find(const std::string& name) const;
  // Row-major, of the file's memory; without data where its type is not known.
  [[nodiscard]] graph::TensorView view(const Place& place) const;
};

// files: what the folder holds, by paths from it ("1_Pooling/config.json"). Errors: Unreadable with a sentence that
// names the file; BadInput where it is not told which weights are meant.
[[nodiscard]] Result<Checkpoint> openCheckpoint(const std::filesystem::path& folder,
                                                const std::vector<std::string>& files);

}  // namespace normlens::formats::safetensors
