#include "ui/learn/norm_passes.h"

#include <QCoreApplication>
#include <cmath>
#include <functional>

namespace normlens::ui {
namespace {

// Counts as it goes.
class Walk {
 public:
  explicit Walk(size_t width) : width_(static_cast<int>(width)) {}

  // `each` returns how many operations the number took.
  void pass(const char* purpose, bool writes, const std::function<int(size_t)>& each) {
    made_.passes.push_back(QCoreApplication::translate("NormPasses", purpose));
    for (int i = 0; i < width_; ++i) {
      at_.pass = static_cast<int>(made_.passes.size()) - 1;
      at_.index = i;
      at_.operations += each(static_cast<size_t>(i));
      ++at_.reads;
      at_.writes += writes ? 1 : 0;
      made_.steps.push_back(at_);
    }
  }
  NormPassStep& registers() { return at_; }
  NormPasses& made() { return made_; }

 private:
  int width_;
  NormPassStep at_;
  NormPasses made_;
};

}  // namespace

NormPasses passesOf(NormWay way, const Vector& x, const Vector& gamma, const Vector& beta) {
  const auto width = static_cast<double>(x.size());
  Walk walk(x.size());
  NormPassStep& at = walk.registers();
  Vector output(x.size());
  if (way == NormWay::LayerNormTwoPasses) {
    walk.pass(QT_TRANSLATE_NOOP("NormPasses", "sum: the mean"), false, [&](size_t i) {
      at.mean += x[i];
      return 1;
    });
    at.mean /= width;
    walk.pass(QT_TRANSLATE_NOOP("NormPasses", "squares without the mean"), false, [&](size_t i) {
      at.squares += (x[i] - at.mean) * (x[i] - at.mean);
      return 3;
    });
  } else if (way == NormWay::LayerNormOnePass) {
    walk.pass(QT_TRANSLATE_NOOP("NormPasses", "mean and squares together"), false, [&](size_t i) {
      const double before = x[i] - at.mean;
      at.mean += before / static_cast<double>(i + 1);
      at.squares += before * (x[i] - at.mean);
      return 6;
    });
  } else {
    walk.pass(QT_TRANSLATE_NOOP("NormPasses", "squares"), false, [&](size_t i) {
      at.squares += x[i] * x[i];
      return 2;
    });
  }
  const double factor = 1 / std::sqrt(at.squares / width);
  if (way == NormWay::RmsNorm) {
    walk.pass(QT_TRANSLATE_NOOP("NormPasses", "scale, write"), true, [&](size_t i) {
      output[i] = x[i] * factor * gamma[i];
      return 2;
    });
  } else {
    // The second pass has had x − μ already, and would have to keep it to have it again: it counts once.
    const int subtraction = way == NormWay::LayerNormOnePass ? 1 : 0;
    walk.pass(QT_TRANSLATE_NOOP("NormPasses", "scale, shift, write"), true, [&](size_t i) {
      output[i] = (x[i] - at.mean) * factor * gamma[i] + beta[i];
      return 3 + subtraction;
    });
  }
  walk.made().output = std::move(output);
  walk.made().keepsMean = way != NormWay::RmsNorm;
  return std::move(walk.made());
}

}  // namespace normlens::ui
