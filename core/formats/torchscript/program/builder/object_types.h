// Whether the objects of a loaded module are of the classes that its code reads them as. Private to
// formats/torchscript: includes torch.
//
// LibTorch builds what data.pkl names and reads an attribute of an object by its number in the declared class: an
// object of another class, with fewer attributes, is read past its end.
#pragma once

#include <torch/script.h>

#include <optional>
#include <string>

namespace normlens::formats::torchscript {

// The first attribute that holds an object of another class, in words; nullopt: none does.
[[nodiscard]] std::optional<std::string> misplacedObject(const torch::jit::Module& module);

}  // namespace normlens::formats::torchscript
