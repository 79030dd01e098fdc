// Operators in double that ONNX Runtime does not have in double, nor the onnx library writes out. No framework here:
// kernels see their inputs, outputs and attributes through Call and Attributes. Private to formats/onnx.
//
// They are the yardstick of a proof, so each is a plain loop that follows the operator's definition; none is rounded to
// less than double in between. Errors: throw std::exception with a plain clause.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/types.h"

namespace normlens::formats::onnx::float64 {

using graph::Shape;

// A dense row-major input.
struct Array {
  const double* data = nullptr;
  Shape shape;

  [[nodiscard]] int64_t dim(int64_t axis) const {
    return shape.at(static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis));
  }
  [[nodiscard]] int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  [[nodiscard]] int64_t count() const { return graph::elementCount(shape).value_or(0); }
};

class Attributes {
 public:
  virtual ~Attributes() = default;
  [[nodiscard]] virtual int64_t integer(const char* name, int64_t otherwise) const = 0;
  [[nodiscard]] virtual double number(const char* name, double otherwise) const = 0;
  [[nodiscard]] virtual std::string text(const char* name, const std::string& otherwise) const = 0;
  [[nodiscard]] virtual std::vector<int64_t> integers(const char* name) const = 0;  // empty: not given
  [[nodiscard]] virtual std::vector<double> numbers(const char* name) const = 0;
  [[nodiscard]] virtual std::vector<std::string> texts(const char* name) const = 0;
};

class Call {
 public:
  virtual ~Call() = default;
  [[nodiscard]] virtual bool has(size_t input) const = 0;
  [[nodiscard]] virtual Array array(size_t input) const = 0;                    // a double input
  [[nodiscard]] virtual Shape shapeOf(size_t input) const = 0;                  // Any input has one.
  [[nodiscard]] virtual std::vector<int64_t> integers(size_t input) const = 0;  // an integer or bool input
  // Nothing where the input is missing.
  [[nodiscard]] Array optionalArray(size_t input) const { return has(input) ? array(input) : Array{}; }
  [[nodiscard]] std::vector<int64_t> optionalIntegers(size_t input) const {
    return has(input) ? integers(input) : std::vector<int64_t>{};
  }
  [[nodiscard]] virtual bool wants(size_t output) const = 0;
  virtual double* output(size_t output, const Shape& shape) = 0;
  virtual int32_t* output32(size_t output, const Shape& shape) = 0;  // an int32 output
  virtual void* outputBytes(size_t output, const Shape& shape) = 0;  // an int8 or uint8 output
  // Calls body(i) for i in [0, count), on several threads.
  virtual void parallel(int64_t count, const std::function<void(int64_t)>& body) = 0;
};

using Kernel = std::function<void(Call&)>;

// inputs, outputs: one letter each; d double, b int8, u uint8, i int32, a any type; in capitals where it may be
// missing.
//
// Which operators there are was found by listing ONNX Runtime 1.31's kernels, and by trying (it has LSTM and GRU
// in double, but they refuse). LayerNorm and its kin: its double kernels subtract squares of means, and give the means
// as float32.
struct KernelRow {
  const char* name;
  const char* inputs;
  const char* outputs;
  Kernel (*make)(const Attributes&);
  const char* serves = nullptr;  // "Op" or "domain.Op", with blanks between them; null: the standard one of its name
  int typedInput = 0;            // the input whose type shows whether a node works on floats
  int64_t below = 1000;          // opset from which on ONNX Runtime has it in double
};

[[nodiscard]] std::span<const KernelRow> elementwiseKernels();
[[nodiscard]] std::span<const KernelRow> normKernels();
[[nodiscard]] std::span<const KernelRow> windowKernels();
[[nodiscard]] std::span<const KernelRow> resizeKernels();
[[nodiscard]] std::span<const KernelRow> recurrentKernels();
[[nodiscard]] std::span<const KernelRow> attentionKernels();
[[nodiscard]] std::span<const KernelRow> otherKernels();
[[nodiscard]] std::vector<std::span<const KernelRow>> allKernels();

// The version of the standard operators that the node was written in is handed to its kernel under this name.
inline constexpr const char* kOpset = "normlens_opset";

// Two shapes by NumPy's rules. Throws where they do not fit.
[[nodiscard]] Shape broadcast(const Shape& a, const Shape& b);
// Strides by which a tensor of shape `from` is read at the indices of `to`: 0 along repeated axes.
[[nodiscard]] std::vector<int64_t> broadcastStrides(const Shape& from, const Shape& to);
// Calls body(index of the output element, offset in a, offset in b) in order, for one output element after another.
void forEachPair(const Shape& out, const Shape& a, const Shape& b,
                 const std::function<void(int64_t, int64_t, int64_t)>& body);
[[nodiscard]] int64_t product(const Shape& shape, size_t begin, size_t end);
[[nodiscard]] inline int64_t product(const Shape& shape) { return product(shape, 0, shape.size()); }

// c[m][n] (+)= a[m][k] b[k][n]; leading dimensions in elements. Sums in ascending k.
void multiply(const double* a, int64_t lda, const double* b, int64_t ldb, double* c, int64_t ldc, int64_t m, int64_t k,
              int64_t n, bool add);

// Activations by their ONNX names ("Relu", "HardSigmoid" ...), for fused and recurrent operators. alpha, beta: NaN for
// the operator's own. Throws for an unknown name.
using Activation = std::function<double(double)>;
[[nodiscard]] Activation activation(const std::string& name, double alpha, double beta);
// These standard operators the kernel runs as well: activations that ONNX Runtime does not have in double.
inline constexpr const char* kActivationKernel = "Activation";
[[nodiscard]] bool isOwnActivation(std::string_view op);

}  // namespace normlens::formats::onnx::float64
