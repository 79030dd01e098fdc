// Everything that is checked of a file before torch sees it. No torch here; nothing is unpickled or run.
#pragma once

#include <memory>
#include <string_view>

#include "core/base/result.h"
#include "core/formats/archive/archive_reader.h"

namespace normlens::formats::torchscript {

// Decides whether LibTorch's parser survives the code of a TorchScript file: it calls itself for each operator, bracket
// and block, and takes an empty subscript for one that has something. No torch here.

// Returns in words what it would not survive ("nested too deep to be a model's"); null: it does.
//
// Measured with LibTorch 2.15 on a stack of 8 MiB: it ends at 2,600 brackets in one another, at 2,800 blocks and at
// 3,600 operators of one expression. What models write has 30 of either.
[[nodiscard]] const char* beyondLibTorchsParser(std::string_view code);

// A TorchScript archive that is whole: a zip with code/, constants.pkl, data.pkl and a version, whose tensor records
// are there and long enough for what the pickles declare, whose compressed records unpack within bounds, and whose
// CRCs are right, but for those of tensors: what tensors hold cannot harm their reader, so that check may go on while
// they are loaded. Errors: Unreadable or Unsupported, one sentence that names what the file is and what to do.
[[nodiscard]] Result<std::shared_ptr<const Archive>> openCheckedArchive(const std::shared_ptr<const MappedFile>& file);

[[nodiscard]] bool holdsTensor(const Archive& archive, const ZipRecord& record);

}  // namespace normlens::formats::torchscript
