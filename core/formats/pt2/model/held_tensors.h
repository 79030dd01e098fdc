// The tensors of an archive, in the mapped file: no copies where its records lie as torch writes them. Private to
// formats/pt2: includes torch.
#pragma once

#include <torch/script.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/formats/archive/archive_reader.h"
#include "core/formats/pt2/file/payloads.h"

namespace normlens::formats::pt2 {

class HeldTensors {
 public:
  HeldTensors(std::shared_ptr<const Archive> archive, Payloads payloads)
      : archive_(std::move(archive)), payloads_(std::move(payloads)) {}

  // Tensors of one record share its memory. Throws BrokenDocument, UnsupportedProgram.
  [[nodiscard]] at::Tensor of(const HeldTensor& held);

 private:
  at::Tensor storage(const Payload& payload);

  std::shared_ptr<const Archive> archive_;
  Payloads payloads_;
  std::map<std::pair<std::string, graph::DType>, at::Tensor> storages_;
};

}  // namespace normlens::formats::pt2
