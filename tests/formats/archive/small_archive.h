// The least that counts as a TorchScript archive, and what the checks before torch say of one. No torch.
#pragma once

#include <gtest/gtest.h>

#include "core/formats/torchscript/file/archive_check.h"
#include "tests/formats/archive/zip_builder.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::torchscript {

using test::buildZip;
using test::ZipEntry;

class ArchiveTest : public ::testing::Test {
 protected:
  std::shared_ptr<const MappedFile> file(const std::string& bytes) {
    const auto path = folder_ / "model.pt";
    test::writeFile(path, bytes);
    return MappedFile::open(path).value();
  }
  Result<std::shared_ptr<const Archive>> open(const std::vector<ZipEntry>& entries) {
    return Archive::open(file(buildZip(entries)));
  }
  // The message of the refusal; "" when the file passes.
  std::string refusal(const std::string& bytes) {
    const auto archive = openCheckedArchive(file(bytes));
    return archive ? std::string() : archive.error().message;
  }

  const TemporaryFolder folder_;
};

// A pickle of one tensor: storage "0" of `elements` floats, seen as a vector of `length` from `offset`.
inline std::string tensorPickle(int elements, int length, int offset = 0) {
  const auto byte = [](int value) { return std::string(1, static_cast<char>(value)); };
  const auto text = [&](const std::string& s) {
    return "X" + byte(static_cast<int>(s.size())) + std::string(3, '\0') + s;
  };
  return "\x80\x02"
         "ctorch._utils\n_rebuild_tensor_v2\n((" +
         text("storage") + "ctorch\nFloatStorage\n" + text("0") + text("cpu") + "K" + byte(elements) + "tQK" +
         byte(offset) + "(K" + byte(length) + "t(K\x01t\x89)tR.";
}

// The least that counts as a TorchScript archive.
inline std::vector<ZipEntry> smallModel(int elements = 4, int length = 4) {
  return {{.name = "m/data/0", .content = std::string(16, 'x')},
          {.name = "m/data.pkl", .content = tensorPickle(elements, length)},
          {.name = "m/code/__torch__.py", .content = "class M(Module):\n  pass\n"},
          {.name = "m/constants.pkl", .content = "\x80\x02)."},
          {.name = "m/version", .content = "3\n"}};
}

}  // namespace normlens::formats::torchscript
