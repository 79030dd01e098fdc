// Which of several models of one file the service opens, and what it tells of them.
#include <gtest/gtest.h>

#include "core/service/service.h"
#include "tests/formats/pt2/program_text.h"
#include "tests/support/must.h"
#include "tests/support/temporary_folder.h"

namespace normlens::service {
namespace {

using formats::pt2::test::linearAndNorm;

class SeveralModels : public ::testing::Test {
 protected:
  std::filesystem::path holding(const std::vector<formats::test::ZipEntry>& entries) {
    auto made = folder_ / "m.pt2";
    formats::test::writeFile(made, formats::test::buildZip(entries));
    return made;
  }

  const TemporaryFolder folder_;
  Service service_;
};

TEST_F(SeveralModels, TheOneOfTheNameIsOpenedAndAllAreTold) {
  const auto file = holding(linearAndNorm().entriesOfTwo());
  for (const std::string name : {"model", "other", ""}) {
    const auto info = must(service_.open(file, {}, name));
    EXPECT_EQ(info.model, name.empty() ? "model" : name);
    EXPECT_EQ(info.models, (std::vector<std::string>{"model", "other"}));
    EXPECT_NE(info.note.find("this is '" + info.model + "'"), std::string::npos) << info.note;
  }
}

TEST_F(SeveralModels, ANameThatIsNotThereLeavesTheOpenModel) {
  const auto file = holding(linearAndNorm().entriesOfTwo());
  ASSERT_TRUE(service_.open(file, {}, "other"));
  const auto* const before = service_.model();
  EXPECT_EQ(failureOf(service_.open(file, {}, "third")).code, ErrorCode::Usage);
  EXPECT_EQ(service_.model(), before);
}

TEST_F(SeveralModels, AnOnlyOneIsThatWhateverItIsCalled) {
  const auto info = must(service_.open(holding(linearAndNorm().entries()), {}, "other"));
  EXPECT_EQ(info.model, "model");
  EXPECT_TRUE(info.models.empty());
}

TEST_F(SeveralModels, FormatsWithoutNamesTellNone) {
  const std::filesystem::path file = NORMLENS_DEMO_MODELS "/gpt2.pt";
  const auto info = must(service_.open(file, {}, "model"));
  EXPECT_EQ(info.model, "");
  EXPECT_TRUE(info.models.empty());
}

}  // namespace
}  // namespace normlens::service
