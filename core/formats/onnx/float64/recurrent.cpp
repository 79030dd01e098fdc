// RNN, GRU and LSTM.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/formats/onnx/float64/kernel.h"

namespace normlens::formats::onnx::float64 {
namespace {

enum class Cell { Rnn, Gru, Lstm };

int64_t gatesOf(Cell cell) { return cell == Cell::Rnn ? 1 : cell == Cell::Gru ? 3 : 4; }

struct Recurrent {
  Cell cell = Cell::Rnn;
  std::string direction;
  double clip = 0;
  bool resetAfter = false, coupled = false;  // linear_before_reset, input_forget
  std::vector<Activation> activations;       // per direction: one for RNN, two for GRU, three for LSTM

  Recurrent(const Attributes& attributes, Cell which)
      : cell(which),
        direction(attributes.text("direction", "forward")),
        clip(attributes.number("clip", 0)),
        resetAfter(attributes.integer("linear_before_reset", 0) != 0),
        coupled(attributes.integer("input_forget", 0) != 0) {
    // As in ONNX Runtime's own kernels.
    if (attributes.integer("layout", 0) != 0) throw std::runtime_error("the batch in front is not supported");
    std::vector<std::string> names = attributes.texts("activations");
    if (names.empty()) {
      const std::vector<std::string> usual = cell == Cell::Rnn   ? std::vector<std::string>{"Tanh"}
                                             : cell == Cell::Gru ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                                 : std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"};
      for (int64_t i = 0; i < directions(); ++i) names.insert(names.end(), usual.begin(), usual.end());
    }
    takeActivations(attributes, names);
  }

  [[nodiscard]] int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  [[nodiscard]] size_t perDirection() const { return cell == Cell::Rnn ? 1 : cell == Cell::Gru ? 2 : 3; }

 private:
  // The lists of alphas and betas have one entry for each activation that has such a parameter, in order.
  void takeActivations(const Attributes& attributes, const std::vector<std::string>& names) {
    const auto alphas = attributes.numbers("activation_alpha"), betas = attributes.numbers("activation_beta");
    size_t nextAlpha = 0, nextBeta = 0;
    const auto take = [](const std::vector<double>& list, size_t& next, bool used) {
      return used && next < list.size() ? list[next++] : std::numeric_limits<double>::quiet_NaN();
    };
    for (const std::string& name : names) {
      std::string lower = name;
      std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      const bool both = lower == "affine" || lower == "scaledtanh" || lower == "hardsigmoid";
      const bool one = both || lower == "leakyrelu" || lower == "thresholdedrelu" || lower == "elu";
      const double alpha = take(alphas, nextAlpha, one), beta = take(betas, nextBeta, both);
      activations.push_back(activation(name, alpha, beta));
    }
    if (activations.size() != perDirection() * static_cast<size_t>(directions())) {
      throw std::runtime_error("another number of activations than the operator has");
    }
  }
};

// The inputs of one direction, each as the operator lays it out.
struct Weights {
  const double *w = nullptr, *r = nullptr, *bias = nullptr, *peephole = nullptr;
};

struct Sizes {
  int64_t steps = 0, batch = 0, input = 0, hidden = 0;
};

double clipped(double x, double clip) { return clip > 0 ? std::clamp(x, -clip, clip) : x; }

// out[gates * hidden] = x W^T + Wb
void project(const double* x, const double* w, const double* bias, int64_t rows, int64_t width, double* out) {
  for (int64_t row = 0; row < rows; ++row) {
    double sum = bias ? bias[row] : 0.0;
    for (int64_t i = 0; i < width; ++i) sum += w[row * width + i] * x[i];
    out[row] = sum;
  }
}

class Direction {
 public:
  Direction(const Recurrent& how, const Sizes& sizes, const Weights& weights, const Activation* f)
      : how_(how), sizes_(sizes), weights_(weights), f_(f), gates_(gatesOf(how.cell)) {
    fromInput_.resize(static_cast<size_t>(gates_ * sizes.hidden));
    fromState_.resize(fromInput_.size());
    next_.resize(static_cast<size_t>(sizes.hidden));
  }

  // One step of one sequence; h and c are updated.
  void step(const double* x, double* h, double* c) {
    const int64_t rows = gates_ * sizes_.hidden;
    project(x, weights_.w, weights_.bias, rows, sizes_.input, fromInput_.data());
    project(h, weights_.r, weights_.bias ? weights_.bias + rows : nullptr, rows, sizes_.hidden, fromState_.data());
    if (how_.cell == Cell::Rnn) return plain(h);
    if (how_.cell == Cell::Gru) return gru(h);
    lstm(h, c);
  }

 private:
  [[nodiscard]] double sum(int64_t gate, int64_t i) const {
    const auto at = static_cast<size_t>(gate * sizes_.hidden + i);
    return fromInput_[at] + fromState_[at];
  }
  [[nodiscard]] double run(int activation, double x) const { return f_[activation](clipped(x, how_.clip)); }

  void plain(double* h) {
    for (int64_t i = 0; i < sizes_.hidden; ++i) h[i] = run(0, sum(0, i));
  }

  // Gates in the order update, reset, hidden.
  void gru(double* h) {
    const int64_t n = sizes_.hidden;
    std::vector<double> reset(static_cast<size_t>(n)), update(reset);
    for (int64_t i = 0; i < n; ++i) {
      update[static_cast<size_t>(i)] = run(0, sum(0, i));
      reset[static_cast<size_t>(i)] = run(0, sum(1, i));
    }
    const double* const bias = weights_.bias ? weights_.bias + gates_ * n + 2 * n : nullptr;
    const double* const r = weights_.r + 2 * n * n;
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(i);
      double inner = fromState_[static_cast<size_t>(2 * n) + at] * reset[at];
      if (!how_.resetAfter) {
        inner = bias ? bias[i] : 0.0;
        for (int64_t j = 0; j < n; ++j) inner += r[i * n + j] * reset[static_cast<size_t>(j)] * h[j];
      }
      const double hidden = run(1, fromInput_[static_cast<size_t>(2 * n) + at] + inner);
      next_[at] = (1 - update[at]) * hidden + update[at] * h[i];
    }
    std::ranges::copy(next_, h);
  }

  // Gates in the order input, output, forget, cell; peepholes input, output, forget.
  void lstm(double* h, double* c) {
    const int64_t n = sizes_.hidden;
    const double* const peep = weights_.peephole;
    for (int64_t i = 0; i < n; ++i) {
      const double in = run(0, sum(0, i) + (peep ? peep[i] * c[i] : 0.0));
      const double forget = how_.coupled ? 1 - in : run(0, sum(2, i) + (peep ? peep[2 * n + i] * c[i] : 0.0));
      const double cell = run(1, sum(3, i));
      c[i] = forget * c[i] + in * cell;
      const double out = run(0, sum(1, i) + (peep ? peep[n + i] * c[i] : 0.0));
      h[i] = out * f_[2](c[i]);
    }
  }

  const Recurrent& how_;
  const Sizes& sizes_;
  const Weights& weights_;
  const Activation* f_;
  int64_t gates_;
  std::vector<double> fromInput_, fromState_, next_;
};

// X, W, R, B?, sequence_lens?, initial_h?, initial_c?, P? -> Y?, Y_h?, Y_c?
void run(Call& call, const Recurrent& how) {
  const Array x = call.array(0), w = call.array(1), r = call.array(2);
  const Array bias = call.optionalArray(3), peephole = call.optionalArray(7);
  const Sizes sizes{x.dim(0), x.dim(1), x.dim(2), r.dim(2)};
  const int64_t directions = how.directions(), rows = gatesOf(how.cell) * sizes.hidden;
  if (w.dim(0) != directions || w.dim(1) != rows || w.dim(2) != sizes.input || r.dim(1) != rows) {
    throw std::runtime_error("weights that do not fit the input");
  }
  const auto lengths =
      call.has(4) ? call.integers(4) : std::vector<int64_t>(static_cast<size_t>(sizes.batch), sizes.steps);
  const Shape state{directions, sizes.batch, sizes.hidden};
  const Shape sequence{sizes.steps, directions, sizes.batch, sizes.hidden};
  std::vector<double> h(static_cast<size_t>(product(state)), 0.0), c(h);
  if (call.has(5)) std::copy_n(call.array(5).data, h.size(), h.begin());
  if (call.has(6)) std::copy_n(call.array(6).data, c.size(), c.begin());
  double* const y = call.wants(0) ? call.output(0, sequence) : nullptr;
  if (y) std::fill(y, y + product(sequence), 0.0);
  call.parallel(directions * sizes.batch, [&](int64_t unit) {
    const int64_t direction = unit / sizes.batch, b = unit % sizes.batch;
    const Weights weights{w.data + direction * rows * sizes.input, r.data + direction * rows * sizes.hidden,
                          bias.data ? bias.data + direction * 2 * rows : nullptr,
                          peephole.data ? peephole.data + direction * 3 * sizes.hidden : nullptr};
    const int64_t at = unit * sizes.hidden;
    const int64_t length = std::clamp<int64_t>(lengths.at(static_cast<size_t>(b)), 0, sizes.steps);
    Direction runner(how, sizes, weights, how.activations.data() + static_cast<size_t>(direction) * how.perDirection());
    const bool backwards = how.direction == "reverse" || direction == 1;
    for (int64_t i = 0; i < length; ++i) {
      const int64_t t = backwards ? length - 1 - i : i;
      runner.step(x.data + (t * sizes.batch + b) * sizes.input, h.data() + at, c.data() + at);
      if (y)
        std::copy_n(h.data() + at, sizes.hidden, y + ((t * directions + direction) * sizes.batch + b) * sizes.hidden);
    }
  });
  if (call.wants(1)) std::ranges::copy(h, call.output(1, state));
  if (how.cell == Cell::Lstm && call.wants(2)) std::ranges::copy(c, call.output(2, state));
}

template <Cell kCell>
Kernel make(const Attributes& attributes) {
  return [how = Recurrent(attributes, kCell)](Call& call) { run(call, how); };
}

const KernelRow kRecurrentKernels[] = {
    {"RNN", "dddDAD", "DD", make<Cell::Rnn>},
    {"GRU", "dddDAD", "DD", make<Cell::Gru>},
    {"LSTM", "dddDADDD", "DDD", make<Cell::Lstm>},
};

}  // namespace

std::span<const KernelRow> recurrentKernels() { return kRecurrentKernels; }

}  // namespace normlens::formats::onnx::float64
