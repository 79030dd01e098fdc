// LayerNorms written out in PyTorch, and what only looks like one.
#include "tests/formats/torchscript/edit/written_forms.h"

namespace normlens::formats::torchscript::test {
namespace {

INSTANTIATE_TEST_SUITE_P(
    WrittenNorms, FreeFormTest,
    ::testing::Values(Form{"VarMean",
                           "  v, m = torch.var_mean(h, [-1], False, True)\n"
                           "  y = (h - m) * torch.rsqrt(v + 1e-5) * self.gamma + self.beta\n"},
                      Form{"VarMeanDivided",
                           "  v, m = torch.var_mean(h, [-1], correction=0, keepdim=True)\n"
                           "  y = (h - m) / torch.sqrt(v + 1e-5)\n"},
                      Form{"MultipliedOut",
                           "  v, m = torch.var_mean(h, [-1], False, True)\n"
                           "  k = torch.rsqrt(v + 1e-5) * self.gamma\n"
                           "  y = h * k + (self.beta - m * k)\n"},
                      Form{"MultipliedOutWithoutBeta",
                           "  m = h.mean([-1], True)\n"
                           "  k = torch.rsqrt(((h - m) ** 2).mean([-1], True) + 1e-5)\n"
                           "  y = h * k - m * k\n"},
                      Form{"GammaOnTheNumerator",
                           "  c = h - h.sum([-1], True) / 8\n"
                           "  y = self.gamma * c / ((c ** 2).sum([-1], True) / 8 + 1e-5) ** 0.5 + self.beta\n"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    WrittenWithSums, FreeFormTest,
    ::testing::Values(Form{"Divided",
                           "  c = h - h.sum([-1], True) / 8\n"
                           "  y = c / torch.sqrt((c * c).sum([-1], True) / 8 + 1e-5) * self.gamma + self.beta\n"},
                      Form{"Multiplied",
                           "  c = h - h.sum([-1], True) * (1 / 8)\n"
                           "  y = c * torch.rsqrt(0.125 * c.pow(2).sum([-1], True) + 1e-5) * self.gamma + self.beta\n"},
                      Form{"WithoutTheAxis",
                           "  c = h - (h.sum([-1]) / 8).unsqueeze(-1)\n"
                           "  v = (c ** 2).sum([-1]) / 8\n"
                           "  y = c / (v + 1e-5).sqrt().unsqueeze(-1) * self.gamma + self.beta\n"},
                      Form{"OfAMeanAndASum",
                           "  c = h - h.mean([-1], True)\n"
                           "  y = c / torch.sqrt((c * c).sum([-1], True) / 8 + 1e-5) * self.gamma + self.beta\n"}),
    kName);

INSTANTIATE_TEST_SUITE_P(WrittenWithSums, NoNormTest,
                         ::testing::Values(Form{"VarianceByOneLess",
                                                "  c = h - h.sum([-1], True) / 8\n"
                                                "  y = c / torch.sqrt((c * c).sum([-1], True) / 7 + 1e-5)\n"},
                                           Form{"MeanByOneLess",
                                                "  c = h - h.sum([-1], True) / 7\n"
                                                "  y = c / torch.sqrt((c * c).sum([-1], True) / 8 + 1e-5)\n"},
                                           Form{"ByAnotherAxis",
                                                "  c = h - h.sum([-1], True) / 3\n"
                                                "  y = c / torch.sqrt((c * c).sum([-1], True) / 3 + 1e-5)\n"},
                                           Form{"OverAnotherAxis",
                                                "  c = h - h.sum([1], True) / 3\n"
                                                "  y = c / torch.sqrt((c * c).sum([-1], True) / 8 + 1e-5)\n"},
                                           Form{"VarianceOverAnotherAxis",
                                                "  c = h - h.sum([-1], True) / 8\n"
                                                "  y = c / torch.sqrt((c * c).sum([1], True) / 3 + 1e-5)\n"},
                                           Form{"ByANumberOfTheRun",
                                                "  c = h - h.sum([-1], True) / x.size(1)\n"
                                                "  y = c / torch.sqrt((c * c).sum([-1], True) / x.size(1) + 1e-5)\n"},
                                           Form{"TheSumAsTheDivisor",
                                                "  c = h - 8 / h.sum([-1], True)\n"
                                                "  y = c / torch.sqrt((c * c).sum([-1], True) / 8 + 1e-5)\n"}),
                         kName);

INSTANTIATE_TEST_SUITE_P(WrittenNorms, NoNormTest,
                         ::testing::Values(Form{"UnbiasedVariance",
                                                "  v, m = torch.var_mean(h, [-1], True, True)\n"
                                                "  y = (h - m) * torch.rsqrt(v + 1e-5) * self.gamma + self.beta\n"},
                                           Form{"Deviation",
                                                "  v, m = torch.std_mean(h, [-1], False, True)\n"
                                                "  y = (h - m) * torch.rsqrt(v + 1e-5) * self.gamma + self.beta\n"},
                                           Form{"GateOnTheNumerator",
                                                "  c = h - h.mean([-1], True)\n"
                                                "  y = k * c / torch.sqrt((c * c).mean([-1], True) + 1e-5)\n"},
                                           Form{"GammaInTheVariance",
                                                "  c = self.gamma * (h - h.mean([-1], True))\n"
                                                "  y = c / torch.sqrt((c * c).mean([-1], True) + 1e-5)\n"},
                                           Form{"MultipliedOutWithTheMeanAdded",
                                                "  v, m = torch.var_mean(h, [-1], False, True)\n"
                                                "  k = torch.rsqrt(v + 1e-5) * self.gamma\n"
                                                "  y = h * k + (self.beta + m * k)\n"},
                                           Form{"OfAnotherValue",
                                                "  v, m = torch.var_mean(k, [-1], False, True)\n"
                                                "  y = (h - m) * torch.rsqrt(v + 1e-5) * self.gamma + self.beta\n"}),
                         kName);

}  // namespace
}  // namespace normlens::formats::torchscript::test
