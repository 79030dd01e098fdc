// Which of several models in one archive is opened.
#include <gtest/gtest.h>

#include "tests/formats/pt2/archive_fixture.h"

namespace normlens::formats::pt2 {
namespace {

using test::says;

class SeveralModelsTest : public test::ExportedFileTest {
 protected:
  std::shared_ptr<const Archive> holding(const std::vector<std::string>& models) {
    std::vector<formats::test::ZipEntry> entries{{.name = "m/archive_format", .content = "pt2"}};
    for (const std::string& model : models) entries.push_back({.name = "m/models/" + model + ".json"});
    return archive(entries);
  }
};

TEST_F(SeveralModelsTest, TablesOfAnyModelTellTheContainer) {
  std::vector<formats::test::ZipEntry> entries{{.name = "m/archive_format", .content = "pt2"},
                                               {.name = "m/models/encode.json"},
                                               {.name = "m/data/weights/weight_0"},
                                               {.name = "m/data/weights/encode_weights_config.json"}};
  EXPECT_EQ(containerOf(*archive(entries)), Container::Archive);
  entries.back().name = "m/data/weights/encode.pt";
  EXPECT_EQ(containerOf(*archive(entries)), Container::Pickled);
}

TEST_F(SeveralModelsTest, OpensTheOneThatIsNamed) {
  const auto several = holding({"encode", "decode"});
  EXPECT_EQ(modelToOpen(*several, "encode", false), "encode");
  EXPECT_EQ(modelToOpen(*several, "decode", true), "decode");
  EXPECT_EQ(modelToOpen(*several, "", false), "decode");
  EXPECT_EQ(modelToOpen(*holding({"encode", "model"}), "", false), "model");
}

TEST_F(SeveralModelsTest, TellsTheNamesWhereItHasNoneOfThatName) {
  for (const bool onlyOfSeveral : {false, true}) {
    const auto refused = modelToOpen(*holding({"encode", "decode"}), "Encode", onlyOfSeveral);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Usage);
    EXPECT_TRUE(says(refused.error().message, "holds no model 'Encode' but decode, encode"));
    EXPECT_TRUE(says(refused.error().hint, "--model NAME"));
  }
}

TEST_F(SeveralModelsTest, AnOnlyOneIsThatBesideAnother) {
  const auto one = holding({"model"});
  EXPECT_EQ(modelToOpen(*one, "encode", true), "model");
  EXPECT_EQ(modelToOpen(*one, "model", false), "model");
  EXPECT_FALSE(modelToOpen(*one, "encode", false));
  const auto flat = archive({{.name = "serialized_exported_program.json"}});
  EXPECT_EQ(modelToOpen(*flat, "", false), "model");
  EXPECT_FALSE(modelToOpen(*flat, "encode", false));
}

TEST_F(SeveralModelsTest, SaysWhatElseThereIs) {
  EXPECT_EQ(besideOthers(*holding({"model"}), "model"), "");
  EXPECT_TRUE(says(besideOthers(*holding({"c", "a", "b"}), "b"), "this is 'b', beside a, c"));
}

}  // namespace
}  // namespace normlens::formats::pt2
