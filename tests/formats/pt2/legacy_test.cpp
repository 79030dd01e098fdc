// Containers of torch 2.5 to 2.8: their tensors are found where they lie, and what does not fit is told.
#include "core/formats/pt2/file/legacy.h"

#include "tests/formats/archive/small_archive.h"
#include "tests/formats/pt2/archive_fixture.h"
#include "tests/support/must.h"

namespace normlens::formats::pt2 {
namespace {

using formats::test::buildZip;
using formats::test::ZipEntry;
using test::ExportedFileTest;
using test::floats;
using test::linearAndNorm;
using test::ProgramText;
using test::says;

// A dict of vectors, each the whole of a storage of its own: name, elements.
// `more`: further arguments of each tensor.
std::string dictPickle(const std::vector<std::pair<std::string, int>>& tensors, const std::string& more = {}) {
  const auto byte = [](size_t value) { return std::string(1, static_cast<char>(value)); };
  const auto text = [&](const std::string& s) { return "X" + byte(s.size()) + std::string(3, '\0') + s; };
  std::string pickle = "\x80\x02}(";
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, count] = tensors[i];
    pickle += text(name) + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\nFloatStorage\n" +
              text(std::to_string(i)) + text("cpu") + "K" + byte(static_cast<size_t>(count)) + "tQK" + byte(0) + "(K" +
              byte(static_cast<size_t>(count)) + "t(K\x01t\x89)" + more + "tR";
  }
  return pickle + "u.";
}

std::string saved(const std::string& pickle, const std::vector<std::string>& storages) {
  std::vector<ZipEntry> entries{{.name = "archive/data.pkl", .content = pickle}};
  for (size_t i = 0; i < storages.size(); ++i)
    entries.push_back({.name = "archive/data/" + std::to_string(i), .content = storages[i]});
  return buildZip(entries);
}

class LegacyTest : public ExportedFileTest {
 protected:
  static std::vector<ZipEntry> flat(const std::string& stateDict, const std::string& program) {
    return {{.name = "serialized_exported_program.json", .content = program},
            {.name = "serialized_state_dict.pt", .content = stateDict},
            {.name = "serialized_constants.pt", .content = saved("\x80\x02}.", {})},
            {.name = "version", .content = "8.2"}};
  }
  std::string refusal(const std::vector<ZipEntry>& entries) {
    const auto opened = archive(entries);
    if (const Status known = checkContainer(*opened); !known) return known.error().message;
    const auto program = readLegacyProgram(opened);
    return program ? std::string() : program.error().message;
  }

  const std::string program_ = linearAndNorm().program;
  const std::vector<std::string> norm_{floats({1, 2, 3, 4}), floats({5, 6, 7, 8})};
};

TEST_F(LegacyTest, ATensorIsTheBytesOfTheInnerZip) {
  const auto opened = archive(flat(saved(dictPickle({{"ln.weight", 4}, {"ln.bias", 4}}), norm_), program_));
  const auto program = must(readLegacyProgram(opened));
  EXPECT_EQ(program.file.weights.at("config").members().size(), 2U);
  const std::string record = program.file.weights.at("config").at("ln.bias").at("path_name").text();
  const auto* found = program.archive->find(std::string(program.archive->prefix()) + "data/weights/" + record);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(program.archive->read(*found, 100).value(), norm_[1]);
  EXPECT_TRUE(checkCrcs(*program.archive, 1));
}

TEST_F(LegacyTest, WhatTheGraphDoesNotNameIsLeftOut) {
  const auto opened = archive(flat(saved(dictPickle({{"ln.weight", 4}, {"other", 4}}), norm_), program_));
  const auto program = must(readLegacyProgram(opened));
  EXPECT_EQ(program.file.weights.at("config").members().size(), 1U);
}

TEST_F(LegacyTest, WhatDoesNotFitIsTold) {
  const std::string pickle = dictPickle({{"ln.weight", 4}, {"ln.bias", 4}});
  EXPECT_TRUE(says(refusal(flat(saved(pickle, {norm_[0]}), program_)), "lacks the storage '1'"));
  EXPECT_TRUE(says(refusal(flat("no zip", program_)), "is no file of torch.save"));
  EXPECT_TRUE(says(refusal(flat(saved("\x80\x02}(", {}), program_)), "the pickle is cut off"));
  auto compressed = flat(saved(pickle, norm_), program_);
  compressed[1].size = static_cast<int64_t>(compressed[1].content.size());
  compressed[1].content = formats::test::deflated(compressed[1].content);
  compressed[1].method = 8;
  EXPECT_TRUE(says(refusal(compressed), "is compressed"));
  ProgramText halves = linearAndNorm();
  halves.bend(R"("p_ln_weight": {"dtype": 7)", R"("p_ln_weight": {"dtype": 6)");
  EXPECT_TRUE(says(refusal(flat(saved(pickle, norm_), halves.program)), "another element type for 'ln.weight'"));
}

// torch.save keeps such a bit beside the storage, which alone would be read as another number.
TEST_F(LegacyTest, ATensorThatIsNotAsItIsStoredIsRefused) {
  const std::string negative = dictPickle({{"ln.weight", 4}}, "}X\x03" + std::string(3, '\0') + "neg\x88s");
  EXPECT_TRUE(says(refusal(flat(saved(negative, {norm_[0]}), program_)), "the negative of what it stores"));
}

TEST_F(LegacyTest, StoragesOfAnotherByteOrderAreRefused) {
  const std::string pickle = dictPickle({{"ln.weight", 4}});
  const auto ordered = [&](const std::string& order) {
    return buildZip({{.name = "archive/data.pkl", .content = pickle},
                     {.name = "archive/byteorder", .content = order},
                     {.name = "archive/data/0", .content = norm_[0]}});
  };
  EXPECT_TRUE(says(refusal(flat(ordered("big"), program_)), "another byte order"));
  EXPECT_EQ(refusal(flat(ordered("little"), program_)), "");
}

// A storage that is shorter than its pickle says.
TEST_F(LegacyTest, ATensorThatReachesPastItsRecordIsTold) {
  const auto opened = archive(flat(saved(dictPickle({{"ln.weight", 4}}), {floats({1, 2})}), program_));
  const auto program = must(readLegacyProgram(opened));
  EXPECT_THROW(static_cast<void>(readPayloads(program.file, *program.archive)), BrokenDocument);
}

TEST_F(LegacyTest, SeveralModelsWithPickledWeightsAreRefused) {
  std::vector<ZipEntry> entries{{.name = "m/archive_format", .content = "pt2"},
                                {.name = "m/archive_version", .content = "0"}};
  for (const char* name : {"decode", "encode"}) {
    entries.push_back({.name = std::string("m/models/") + name + ".json", .content = program_});
    entries.push_back({.name = std::string("m/data/weights/") + name + ".pt", .content = "x"});
  }
  EXPECT_TRUE(says(refusal(entries), "holds several models with pickled weights"));
}

}  // namespace
}  // namespace normlens::formats::pt2
