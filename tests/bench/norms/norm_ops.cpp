#include "tests/bench/norms/norm_ops.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "tests/bench/norms/gpu_memory.h"

namespace normlens::bench {
namespace {

constexpr double kEps = 1e-5;
using Optional = std::optional<at::Tensor>;
using Norm = at::Tensor(const at::Tensor&, const Optional&, const Optional&, double);
using AddNorm = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, const at::Tensor&, const Optional&,
                                                   const Optional&, double);
using Center = at::Tensor(const at::Tensor&, const Optional&, const Optional&);
using AddCenter = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, const at::Tensor&, const Optional&,
                                                     const Optional&);

template <class Signature>
auto findOp(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

class Inputs {
 public:
  explicit Inputs(const NormPoint& point) : width_(point.width) {
    const auto draw = [&](at::IntArrayRef sizes) {
      return at::randn(sizes, at::TensorOptions().device(point.device)).to(point.type);
    };
    const int64_t sets = setsOf(point), used = point.rows * point.width;
    const int64_t alignment = kSetAlignment / static_cast<int64_t>(c10::elementSize(point.type));
    const int64_t step = (used + alignment - 1) / alignment * alignment;
    for (auto* tensors : {&x_, &residual_}) {
      const at::Tensor all = draw({sets * step});
      for (int64_t i = 0; i < sets; ++i) {
        tensors->push_back(all.narrow(0, i * step, used).view({point.rows, point.width}));
      }
    }
    weight_ = draw({point.width});
    bias_ = draw({point.width});
  }

  [[nodiscard]] const at::Tensor& x(int64_t time) const { return x_[static_cast<size_t>(time) % x_.size()]; }
  [[nodiscard]] const at::Tensor& residual(int64_t time) const {
    return residual_[static_cast<size_t>(time) % x_.size()];
  }
  [[nodiscard]] const Optional& weight() const { return weight_; }
  [[nodiscard]] const Optional& bias() const { return bias_; }
  [[nodiscard]] int64_t width() const { return width_; }

 private:
  int64_t width_;
  std::vector<at::Tensor> x_;
  std::vector<at::Tensor> residual_;
  Optional weight_;
  Optional bias_;
};

Outputs bothOf(std::tuple<at::Tensor, at::Tensor> outputs) {
  return {std::move(std::get<0>(outputs)), std::move(std::get<1>(outputs))};
}

NormOp own(const char* name, int64_t bytes, const std::shared_ptr<const Inputs>& in) {
  const auto op = findOp<Norm>((std::string("normlens::") + name).c_str());
  return {name, bytes,
          [in, op](int64_t time) { return Outputs{op.call(in->x(time), in->weight(), in->bias(), kEps)}; }};
}

NormOp ownAdd(const char* name, int64_t bytes, const std::shared_ptr<const Inputs>& in) {
  const auto op = findOp<AddNorm>((std::string("normlens::") + name).c_str());
  return {name, bytes, [in, op](int64_t time) {
            return bothOf(op.call(in->x(time), in->residual(time), in->weight(), in->bias(), kEps));
          }};
}

// A kernel that ends at once. at::cuda::sleep stands in libtorch_cuda, which is not linked.
NormOp emptyLaunch() {
  using Sleep = void(int64_t);
  auto* const sleep = reinterpret_cast<Sleep*>(dlsym(RTLD_DEFAULT, "_ZN2at4cuda5sleepEl"));
  if (sleep == nullptr) throw std::runtime_error("libtorch_cuda has no at::cuda::sleep");
  return {kEmpty, 0, [sleep](int64_t) {
            sleep(0);
            return Outputs{};
          }};
}

std::vector<NormOp> torchOps(int64_t copied, const std::shared_ptr<const Inputs>& in) {
  const auto layerNorm = [in](const at::Tensor& x) {
    return at::layer_norm(x, {in->width()}, *in->weight(), *in->bias(), kEps);
  };
  return {{kCopy, copied, [in](int64_t time) { return Outputs{in->x(time).clone()}; }},
          {kTorchLayerNorm, copied, [in, layerNorm](int64_t time) { return Outputs{layerNorm(in->x(time))}; }},
          {kTorchRmsNorm, copied,
           [in](int64_t time) { return Outputs{at::rms_norm(in->x(time), {in->width()}, in->weight(), kEps)}; }},
          {kTorchAddLayerNorm, 2 * copied, [in, layerNorm](int64_t time) {
             at::Tensor sum = in->x(time) + in->residual(time);
             at::Tensor normalized = layerNorm(sum);
             return Outputs{std::move(sum), std::move(normalized)};
           }}};
}

}  // namespace

void loadOps(const std::string& library) {
  if (void* driver = dlopen("libcuda.so.1", RTLD_LAZY)) {
    dlclose(driver);
    if (!dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL)) throw std::runtime_error(dlerror());
  }
  if (!dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL)) throw std::runtime_error(dlerror());
}

bool hasGpu() {
  return c10::impl::hasDeviceGuardImpl(at::kCUDA) && c10::impl::getDeviceGuardImpl(at::kCUDA)->deviceCount() > 0;
}

int64_t bytesOf(const NormPoint& point) {
  return point.rows * point.width * static_cast<int64_t>(c10::elementSize(point.type));
}

int64_t setsOf(const NormPoint& point) { return point.device.is_cuda() ? setsOnGpu(bytesOf(point)) : 1; }

std::vector<NormOp> normOps(const NormPoint& point) {
  const auto in = std::make_shared<const Inputs>(point);
  const int64_t copied = 2 * bytesOf(point);
  std::vector<NormOp> ops = torchOps(copied, in);
  if (point.device.is_cuda()) ops.push_back(emptyLaunch());
  ops.push_back(own("rms_norm", copied, in));
  ops.push_back(own("layer_norm", copied, in));
  const auto center = findOp<Center>("normlens::center");
  ops.push_back({"center", copied, [in, center](int64_t time) { return Outputs{center.call(in->x(time), {}, {})}; }});
  ops.push_back(ownAdd("add_rms_norm", 2 * copied, in));
  ops.push_back(ownAdd("add_layer_norm", 2 * copied, in));
  const auto addCenter = findOp<AddCenter>("normlens::add_center");
  ops.push_back({"add_center", 2 * copied, [in, addCenter](int64_t time) {
                   return bothOf(addCenter.call(in->x(time), in->residual(time), {}, {}));
                 }});
  return ops;
}

}  // namespace normlens::bench
