#include "core/formats/torchscript/program/file_devices.h"

#include <torch/csrc/jit/api/function_impl.h>

#include <algorithm>
#include <functional>

#include "core/formats/archive/pickle_scan.h"
#include "core/formats/torchscript/program/each_node.h"

namespace normlens::formats::torchscript {
namespace {

using torch::jit::Block;
using torch::jit::Node;

constexpr const char* kCpu = "cpu";

c10::Symbol fileDevice() {
  static const auto symbol = c10::Symbol::attr("normlens_file_device");
  return symbol;
}

bool namesDevice(const Node& node) {
  return node.kind() == c10::prim::Constant && node.outputs().size() == 1 &&
         node.output()->type()->kind() == c10::TypeKind::DeviceObjType && node.hasAttribute(c10::attr::value) &&
         node.kindOf(c10::attr::value) == torch::jit::AttributeKind::s;
}

void toCpu(Node& node) {
  const std::string device = node.s(c10::attr::value);
  if (device == kCpu) return;
  node.s_(fileDevice(), device);
  node.s_(c10::attr::value, kCpu);
}

void toFileDevice(Node& node) {
  if (node.hasAttribute(fileDevice())) node.s_(c10::attr::value, node.s(fileDevice()));
}

void eachDevice(const torch::jit::CompilationUnit& unit, const std::function<void(Node&)>& visit) {
  for (torch::jit::Function* function : unit.get_functions()) {
    auto* body = torch::jit::tryToGraphFunction(*function);
    if (body == nullptr) continue;
    body->ensure_defined();
    eachNode(*body->graph()->block(), [&](Node& node) {
      if (namesDevice(node)) visit(node);
    });
  }
}

}  // namespace

void runOnCpu(const torch::jit::CompilationUnit& unit) { eachDevice(unit, toCpu); }

FileDevicesInCode::FileDevicesInCode(std::vector<std::shared_ptr<const torch::jit::CompilationUnit>> units)
    : units_(std::move(units)) {
  for (const auto& unit : units_) eachDevice(*unit, toFileDevice);
}

FileDevicesInCode::~FileDevicesInCode() {
  for (const auto& unit : units_) eachDevice(*unit, toCpu);
}

std::string deviceOfTensors(const Archive& archive, const std::string& pickle) {
  constexpr uint64_t kMostPickle = uint64_t{1} << 30;
  const ZipRecord* record = archive.find(std::string(archive.prefix()) + pickle);
  const auto text = record == nullptr ? Result<std::string>(std::string()) : archive.read(*record, kMostPickle);
  const auto scan = text ? scanPickle(*text) : tl::unexpected(text.error());
  if (!scan || scan->storages.empty()) return kCpu;
  const std::string& device = scan->storages.front().device;
  return std::ranges::all_of(scan->storages, [&](const auto& storage) { return storage.device == device; }) ? device
                                                                                                            : kCpu;
}

}  // namespace normlens::formats::torchscript
