#include "core/formats/pt2/file/sample_inputs.h"

#include "tests/formats/archive/small_archive.h"
#include "tests/formats/pt2/archive_fixture.h"

namespace normlens::formats::pt2 {
namespace {

using namespace std::string_literals;

using test::ExportedFileTest;

class SampleInputsTest : public ExportedFileTest {
 protected:
  // A zip of a torch.save in the zip: one vector of four floats.
  SampleInputs samples(const std::string& pickle, const graph::Shape& shape) {
    const std::string inner =
        formats::test::buildZip({{.name = "archive/data.pkl", .content = pickle},
                                 {.name = "archive/data/0", .content = test::floats({2, -1, 7, 3})}});
    auto entries = test::linearAndNorm().entries();
    entries.push_back({.name = "m/data/sample_inputs/model.pt", .content = inner});
    UserInput input;
    input.meta.dtype = graph::DType::Float32;
    for (const int64_t size : shape) {
      input.meta.sizes.emplace_back();
      input.meta.sizes.back().example = input.meta.sizes.back().expr.value = size;
    }
    return readSampleInputs(*archive(entries), "model", {input});
  }
};

TEST_F(SampleInputsTest, TellsHowFarTheNumbersGo) {
  const auto found = samples(torchscript::tensorPickle(4, 4), {4});
  ASSERT_TRUE(found.at(0));
  EXPECT_EQ(found[0]->low, -1);
  EXPECT_EQ(found[0]->high, 7);
}

TEST_F(SampleInputsTest, IsSilentWhereItIsNotOfTheseInputs) {
  EXPECT_FALSE(samples(torchscript::tensorPickle(4, 4), {2, 2}).at(0));
  EXPECT_FALSE(samples("\x80\x02)", {4}).at(0));
  EXPECT_FALSE(samples(torchscript::tensorPickle(4, 5), {5}).at(0));  // outside its storage
  EXPECT_FALSE(samples("cos\nsystem\n(X\x02\0\0\0lstR."s, {4}).at(0));
  EXPECT_FALSE(readSampleInputs(*archive(test::linearAndNorm().entries()), "model", {UserInput{}}).at(0));
}

}  // namespace
}  // namespace normlens::formats::pt2
