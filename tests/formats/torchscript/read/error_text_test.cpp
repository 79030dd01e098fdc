#include "core/formats/torchscript/program/error_text.h"

#include <gtest/gtest.h>
#include <torch/script.h>

#include <cerrno>
#include <functional>
#include <system_error>

namespace normlens::formats::torchscript::test {
namespace {

std::string saidOf(const std::function<void()>& act) {
  try {
    act();
  } catch (const c10::Error& error) {
    return shortText(error);
  } catch (const std::exception& error) {
    return shortText(error);
  }
  return "nothing";
}

TEST(ErrorText, WantOfMemoryIsSaidInWords) {
  const auto huge = [] { static_cast<void>(at::empty({int64_t{1} << 50})); };
  EXPECT_EQ(saidOf(huge), "there is not enough memory for another 4503599627370496 bytes");
  torch::jit::Module module("M");
  module.define("def forward(self, x):\n  return torch.zeros([1125899906842624])\n");
  EXPECT_EQ(saidOf([&] { module.forward({at::ones({1})}); }),
            "there is not enough memory for another 4503599627370496 bytes");
  EXPECT_EQ(saidOf([] { throw std::bad_alloc(); }), "there is not enough memory");
}

TEST(ErrorText, NobodyIsAskedToReportToPyTorch) {
  EXPECT_EQ(saidOf([] { TORCH_INTERNAL_ASSERT(false, "the input is odd"); }),
            "LibTorch stopped at a check of its own: the input is odd");
  EXPECT_EQ(saidOf([] { TORCH_INTERNAL_ASSERT(false); }), "LibTorch stopped at a check of its own");
}

TEST(ErrorText, AContainersWordsAreNone) {
  EXPECT_EQ(saidOf([] { static_cast<void>(c10::Dict<std::string, int64_t>().at("a")); }),
            "a name that it looks up is not there");
}

TEST(ErrorText, OtherSentencesStayAsTheyAre) {
  EXPECT_EQ(saidOf([] { TORCH_CHECK(false, "sizes differ\nsecond line"); }), "sizes differ");
}

TEST(ErrorText, HoldsNoAddresses) {
  EXPECT_EQ(saidOf([] { TORCH_CHECK(false, "no <M object at 0x5628b83713c0> like <N object at 0xff>"); }),
            "no <M object> like <N object>");
  EXPECT_EQ(saidOf([] { throw std::system_error(EAGAIN, std::generic_category()); }), "there is not enough memory");
}

}  // namespace
}  // namespace normlens::formats::torchscript::test
