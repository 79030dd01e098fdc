// Archives of torch.export on the disk, and what is said of them before torch sees them. No torch.
#pragma once

#include <gtest/gtest.h>

#include "core/formats/archive/archive_reader.h"
#include "core/formats/pt2/file/container.h"
#include "core/formats/pt2/file/input_rules.h"
#include "core/formats/pt2/file/payloads.h"
#include "tests/formats/pt2/program_text.h"
#include "tests/support/temporary_folder.h"

namespace normlens::formats::pt2::test {

// The text has these words.
inline ::testing::AssertionResult says(const std::string& text, const std::string& words) {
  if (text.find(words) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << text << "' does not say '" << words << "'";
}

class ExportedFileTest : public ::testing::Test {
 protected:
  std::filesystem::path path(const std::string& bytes) {
    const auto made = folder_ / "m.pt2";
    formats::test::writeFile(made, bytes);
    return made;
  }
  std::shared_ptr<const Archive> archive(const std::vector<formats::test::ZipEntry>& entries) {
    return Archive::open(MappedFile::open(path(formats::test::buildZip(entries))).value()).value();
  }

  // What is wrong with the parts that no torch is wanted for; "" where nothing is.
  std::string problem(const ProgramText& text) {
    const auto opened = archive(text.entries());
    if (const Status known = checkContainer(*opened); !known) return known.error().message;
    const auto file = readProgramFile(*opened, "model");
    if (!file) return file.error().message;
    try {
      const Signature signature = readSignature(*file);
      const Payloads payloads = readPayloads(*file, *opened);
      for (const HeldTensor& held : signature.held) static_cast<void>(payloads.of(held));
      static_cast<void>(readRanges(*file));
    } catch (const BrokenDocument& error) {
      return error.what();
    } catch (const UnsupportedProgram& error) {
      return error.what();
    }
    return {};
  }

  const TemporaryFolder folder_;
};

}  // namespace normlens::formats::pt2::test
