// One run of a norm kernel, of any device, over rows between guard bands, and its comparison with the reference.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/numbers.h"

namespace normlens::kernels::test {

// What the rows are drawn from.
enum class Draw {
  Normal,     // mean 0.3, deviation 1
  FarMean,    // a mean thousands of times the deviation
  Step,       // the first numbers say nothing about the mean of the rest
  Spike,      // one number a thousand times the others
  Subnormal,  // around the smallest normal number of the type
  Constant    // all alike
};

struct NormCase {
  NormKind kind = NormKind::Rms;
  int64_t rows = 3;
  int64_t width = 1;
  int64_t gap = 0;  // elements between rows, filled with NaN: a read outside a row shows
  bool weight = false;
  bool bias = false;
  bool residual = false;
  Draw draw = Draw::Normal;
  double eps = 1e-5;
  bool constantsOfRows = false;  // weight and bias in the type of the rows
  int64_t shift = 0;             // elements that inputs and outputs lie off the start of their memory
};

std::string describe(const Type& type, const NormCase& c);

class NormTrial {
 public:
  NormTrial(const Type& type, const NormCase& c);

  [[nodiscard]] double input(int64_t row, int64_t i) const { return input_.get(inputIndex(row, i)); }
  void setInput(int64_t row, int64_t i, double value) { input_.set(inputIndex(row, i), value); }
  [[nodiscard]] double output(int64_t row, int64_t i) const { return output_.get(outputIndex(row, i)); }
  [[nodiscard]] double sum(int64_t row, int64_t i) const { return sum_.get(sumIndex(row, i)); }

  // Calls the kernel with this trial's rows.
  void execute(const std::function<void(const NormRows& rows)>& kernel);
  // Asserts that each number is as near to the reference as the roundings allow, and that nothing else was written.
  void check(const std::string& where) const;
  // Asserts NaN for NaN, infinity for infinity, and a number for a number.
  void checkNonFinite(const std::string& where) const;

 private:
  [[nodiscard]] int64_t inputIndex(int64_t row, int64_t i) const;
  [[nodiscard]] int64_t outputIndex(int64_t row, int64_t i) const;
  [[nodiscard]] int64_t sumIndex(int64_t row, int64_t i) const;
  [[nodiscard]] const Type& constantType() const;
  [[nodiscard]] double rounded(double value) const;  // to the type of weight and bias
  [[nodiscard]] Buffer inMemory(const std::vector<double>& values) const;
  void fillRow(int64_t row);
  void checkRow(int64_t row, const std::string& where) const;
  void checkSum(int64_t row, const std::string& where) const;
  void checkGuards(const std::string& where) const;
  // The numbers that are normalised: the sum as it was written, where there is one.
  [[nodiscard]] std::vector<double> normalized(int64_t row) const;

  Type type_;
  NormCase case_;
  std::mt19937 random_{11};
  Buffer input_;
  Buffer residual_;
  Buffer sum_;
  Buffer output_;
  std::vector<double> weight_;
  std::vector<double> bias_;
};

}  // namespace normlens::kernels::test
