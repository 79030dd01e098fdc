// What PyTorch writes into tensors: scatters, masks and indices, in place and not.
#include "tests/formats/torchscript/edit/written_forms.h"

namespace normlens::formats::torchscript::test {
namespace {

// In the run that gives the shapes the mask takes no rows; it could.
const std::string kNone = "  m = x[:, :, 0] > 100.0\n";
const std::string kRows = "  n = torch.arange(h.size(0))\n  i = torch.argmax(x[:, :, 0], 1)\n";
const std::string kOrder = "  order = torch.argsort(x[:, :, 0], 1).unsqueeze(-1).expand(-1, -1, 8)\n";

INSTANTIATE_TEST_SUITE_P(NoRows, FreeFormTest,
                         ::testing::Values(Form{"Joined",
                                                kNone + "  y = self.norm(torch.cat([k[m], h.flatten(0, 1)], 0))\n"},
                                           Form{"Written", kNone + "  h[m] = k[m]\n  y = self.norm(h)\n"}),
                         kName);

INSTANTIATE_TEST_SUITE_P(
    NoRows, BlockedFormTest,
    ::testing::Values(
        Form{"JoinedARelu", kNone + "  y = self.norm(torch.cat([torch.relu(k[m]), h.flatten(0, 1)], 0))\n"},
        Form{"PaddedARelu",
             kNone + "  y = self.norm(torch.constant_pad_nd(torch.relu(k[m]), [0, 0, 0, 3]) + h[0, :1])\n"},
        Form{"WrittenARelu", kNone + "  h[m] = torch.relu(k[m])\n  y = self.norm(h)\n"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Written, FreeFormTest,
    ::testing::Values(
        Form{"IndexAdd", "  y = self.norm(h.index_add(1, torch.tensor([2, 0, 2]), k[:, :3], alpha=0.5))\n"},
        Form{"IndexAddIntoZeros",
             "  u = torch.zeros_like(h)\n  u.index_add_(1, torch.tensor([2, 0, 2]), k[:, :3])\n  y = self.norm(u)\n"},
        Form{"Filled",
             "  u = torch.relu(h)\n  u.zero_()\n  u.index_add_(1, torch.tensor([2, 0]), k[:, :2])\n"
             "  y = self.norm(u)\n"},
        Form{"Copied", "  u = torch.relu(h)\n  u.copy_(k)\n  y = self.norm(u)\n"},
        Form{"IndexCopy", "  y = self.norm(h.index_copy(1, torch.tensor([2, 0]), k[:, :2]))\n"},
        Form{"IndexFill", "  y = self.norm(h.index_fill(1, torch.tensor([2, 0]), 0.0))\n"},
        Form{"IndexReduce",
             "  y = self.norm(h.index_reduce(1, torch.tensor([2, 0, 2]), k[:, :3], 'mean', include_self=False))\n"},
        Form{"IndexPut", kRows + "  h[n, i] = k[:, 0]\n  y = self.norm(h)\n"},
        Form{"IndexPutOfOneRow", kRows + "  h[n, i] = self.row[:8]\n  y = self.norm(h)\n"},
        Form{"IndexPutThatAdds", kRows + "  h[n, i] += k[:, 0]\n  y = self.norm(h)\n"},
        Form{"IndexPutAccumulates",
             "  y = self.norm(torch.index_put(h, [torch.tensor([0, 0])], k[:2], accumulate=True))\n"},
        Form{"Mask", "  m = x[:, :, 0] > 0\n  h[m] = k[m] * 0.5\n  y = self.norm(h)\n"},
        Form{"Scatter", kOrder + "  y = self.norm(h.scatter(1, order, k))\n"},
        Form{"ScatterZero", kOrder + "  y = self.norm(h.scatter(1, order[:, :1], 0.0))\n"},
        Form{"ScatterAdd", kOrder + "  y = self.norm(torch.zeros_like(h).scatter_add_(1, order, k))\n"},
        Form{"ScatterAddOfSome", kOrder + "  y = self.norm(h.scatter_add(1, order[:, :2], k))\n"},
        Form{"ScatterMean", kOrder + "  y = self.norm(h.scatter_reduce(1, order, k, 'mean', include_self=False))\n"},
        Form{"MaskedScatter", "  y = self.norm(h.masked_scatter(x[:, :, :1] > 0, k))\n"},
        Form{"SelectScatter", "  y = self.norm(torch.select_scatter(h, k[:, 0], 1, 2))\n"},
        Form{"SliceScatter", "  y = self.norm(torch.slice_scatter(h, k[:, 1:], 1, 1))\n"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    Written, BlockedFormTest,
    ::testing::Values(
        Form{"AlongTheChannels", "  y = self.norm(h.index_add(2, torch.tensor([2, 0, 2]), k[:, :, :3]))\n"},
        Form{"ByAnIndexOfChannels",
             "  h[:, torch.tensor([0, 1]), torch.tensor([3, 5])] = k[:, :2, 0]\n  y = self.norm(h)\n"},
        Form{"ARelu", "  y = self.norm(h.index_add(1, torch.tensor([2, 0, 2]), torch.relu(k)[:, :3]))\n"},
        Form{"IntoARelu", "  y = self.norm(torch.relu(h).index_add(1, torch.tensor([2, 0, 2]), k[:, :3]))\n"},
        Form{"TheLargest", "  y = self.norm(h.index_reduce(1, torch.tensor([2, 0, 2]), k[:, :3], 'amax'))\n"},
        Form{"ByElement", "  y = self.norm(h.scatter_add(1, torch.argsort(k, 1), k))\n"},
        Form{"ByElementAlongTheChannels", "  y = self.norm(h.scatter_add(2, torch.argsort(k, 2), k))\n"},
        Form{"ByElementToSomeChannels", kOrder + "  y = self.norm(h.scatter(1, order[:, :, :4], k))\n"},
        Form{"ByElementTheLargest", kOrder + "  y = self.norm(h.scatter_reduce(1, order, k, 'amax'))\n"},
        Form{"ByElementOne", kOrder + "  y = self.norm(h.scatter(1, order[:, :1], 1.0))\n"},
        Form{"ByAMaskOfElements", "  y = self.norm(h.masked_scatter(k > 0, k))\n"},
        Form{"ByAMaskRowsThatAreTurned", "  y = self.norm(h.masked_scatter(x[:, :, :1] > 0, k.transpose(1, 2)))\n"},
        Form{"ByAMaskOfARelu", "  m = x[:, :, 0] > 0\n  h[m] = torch.relu(k[m])\n  y = self.norm(h)\n"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    WrittenToViews, BlockedFormTest,
    ::testing::Values(
        Form{"OneChannel", "  h[:, :, 0] = k[:, :, 0]\n  y = self.norm(h)\n"},
        Form{"SomeChannels", "  h[:, :, :4] = k[:, :, :4]\n  y = self.norm(h)\n"},
        Form{"ARelu", "  h[:, 0] = torch.relu(k[:, 0])\n  y = self.norm(h)\n"},
        Form{"ANumber", "  h[:, 0] = 1.0\n  y = self.norm(h)\n"},
        Form{"WhatAnotherViewReads", "  u = h[:, 0]\n  h[:, 0] = torch.relu(k[:, 0])\n  y = self.norm(u)\n"},
        Form{"WhereItMayBeACopy",
             "  h.transpose(0, 1).reshape(-1, 8)[0] = torch.relu(k[0, 0])\n"
             "  y = self.norm(h)\n"},
        Form{"InABranch", "  if x.size(0) > 2:\n    h[:, 0] = torch.relu(k[:, 0])\n  y = self.norm(h)\n"}),
    kName);

INSTANTIATE_TEST_SUITE_P(
    MaskedFill, FreeFormTest,
    ::testing::Values(Form{"WithZero", "  y = self.norm(h.masked_fill(x[:, :, :1] > 0, 0))\n"},
                      Form{"WithZeroInPlace", "  y = self.norm(h.masked_fill_(x[:, :, :1] > 0, 0.0))\n"},
                      Form{"WithNothing", "  y = self.norm(h.masked_fill(x[:, :, :1] > 0, -0.0))\n"}),
    kName);

INSTANTIATE_TEST_SUITE_P(MaskedFill, BlockedFormTest,
                         ::testing::Values(Form{"WithANumberOfTheRun",
                                                "  y = self.norm(h.masked_fill(x[:, :, :1] > 0, x.size(1)))\n"},
                                           Form{"OfSomeChannels", "  y = self.norm(h.masked_fill(self.s > 0, 0.0))\n"}),
                         kName);

// What is read centered and then written in place: the memory is centered before the write, under all its names.
INSTANTIATE_TEST_SUITE_P(
    WrittenAfterARead, CenteredFormTest,
    ::testing::Values(
        Form{"Added", "  u = torch.relu(h)\n  y = self.norm(u)\n  u.add_(k)\n  y = y + self.norm(u)\n", 2},
        Form{"AddedAndReadByItsOtherName",
             "  u = torch.relu(h)\n  y = self.norm(u)\n  t = u.add_(k)\n  y = y + self.norm(t) + self.norm(u * 0.5)\n",
             3},
        Form{"AddedByACalledFunction",
             "  u = torch.relu(h)\n  y = self.norm(u)\n  self.addInto(u, k)\n  y = y + self.norm(u)\n", 2},
        Form{"IndexPut",
             kRows + "  u = torch.relu(h)\n  y = self.norm(u)\n  u[n, i] = k[:, 0]\n  y = y + self.norm(u)\n", 2},
        Form{"Scattered",
             kOrder + "  u = torch.relu(h)\n  y = self.norm(u)\n  u.scatter_add_(1, order, k)\n"
                      "  y = y + self.norm(u)\n",
             2},
        Form{"OverwrittenWhole", "  u = torch.relu(h)\n  y = self.norm(u)\n  u.copy_(k)\n  y = y + self.norm(u)\n", 2}),
    kName);

}  // namespace
}  // namespace normlens::formats::torchscript::test
