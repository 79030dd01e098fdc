#include "core/lab/export/torchscript_export.h"

#include <sstream>

namespace normlens::lab {
namespace {

using torch::jit::Module;

// Builds the module tree and, beside it, the text of its forward.
class Writer {
 public:
  Writer(const Network& network, const RunSettings& settings)
      : network_(network), eps_(number(settings.norm_eps)), root_("__torch__.LaboratoryNetwork", unit_) {}

  // Registers a part with its parameters and the code of its forward(x).
  void linear(const std::string& name) {
    part(name, {"weight", "bias"}, "return torch.linear(x, self.weight, self.bias)");
  }
  void table(const std::string& name, const std::string& code) { part(name, {"weight"}, code); }
  // Of an input of `width` numbers a row; the identity where the network has no norm.
  void norm(const std::string& name, int64_t width) {
    const std::string shape = "[" + std::to_string(width) + "]";
    if (network_.normUse() == NormUse::None) return part(name, {}, "return x");
    const bool layerNorm = network_.normUse() == NormUse::LayerNorm;
    part(name, {"weight", "bias"},
         layerNorm ? "return torch.layer_norm(x, " + shape + ", self.weight, self.bias, " + eps_ + ")"
                   : "return torch.rms_norm(x, " + shape + ", self.weight, " + eps_ + ") + self.bias");
  }
  void line(const std::string& code) { body_ += "  " + code + "\n"; }

  std::string finish() {
    root_.define("def forward(self, x):\n" + body_);
    root_.eval();
    std::ostringstream file;
    root_.save(file);
    return file.str();
  }

 private:
  static std::string number(double value) {
    std::ostringstream text;
    text.precision(17);
    text << std::scientific << value;
    return text.str();
  }

  void part(const std::string& name, std::initializer_list<const char*> parameters, const std::string& code) {
    Module module("__torch__.parts." + name, unit_);
    for (const char* parameter : parameters) {
      const at::NoGradGuard noGradients;
      const at::Tensor value = network_.used(*network_.find(name + "." + parameter)).detach().clone();
      module.register_parameter(parameter, value, /*is_buffer=*/false);
    }
    module.define("def forward(self, x):\n  " + code + "\n");
    root_.register_module(name, module);
  }

  const Network& network_;
  std::string eps_;
  std::shared_ptr<torch::jit::CompilationUnit> unit_ = std::make_shared<torch::jit::CompilationUnit>();
  Module root_;
  std::string body_;
};

void writePerceptron(Writer& writer, const RunSettings& settings, int layers) {
  for (int i = 1; i <= layers; ++i) {
    const std::string index = std::to_string(i);
    writer.linear("linear_" + index);
    writer.line("x = self.linear_" + index + ".forward(x)");
    if (i == layers) break;
    writer.norm("norm_" + index, settings.width);
    writer.line("x = torch." + settings.activation + "(self.norm_" + index + ".forward(x))");
  }
  writer.line("return x");
}

void writeBlock(Writer& writer, const RunSettings& settings, const std::string& block) {
  const auto call = [&](const std::string& name, const std::string& of) {
    return "self." + block + name + ".forward(" + of + ")";
  };
  for (const char* name : {"norm_1", "norm_2"}) writer.norm(block + name, settings.width);
  for (const char* name : {"attention_in", "attention_out", "mlp_in", "mlp_out"}) writer.linear(block + name);
  const std::string heads = std::to_string(settings.heads), size = std::to_string(settings.width / settings.heads);
  writer.line("qkv = " + call("attention_in", call("norm_1", "x")));
  writer.line("qkv = qkv.reshape([b, t, 3, " + heads + ", " + size + "]).permute([2, 0, 3, 1, 4])");
  writer.line("q = qkv[0]");
  writer.line("k = qkv[1]");
  writer.line("v = qkv[2]");
  writer.line("y = torch.scaled_dot_product_attention(q, k, v, None, 0.0, True)");
  writer.line("y = y.transpose(1, 2).reshape([b, t, " + std::to_string(settings.width) + "])");
  writer.line("x = x + " + call("attention_out", "y"));
  writer.line("x = x + " + call("mlp_out", "torch.gelu(" + call("mlp_in", call("norm_2", "x")) + ")"));
}

void writeTransformer(Writer& writer, const RunSettings& settings, int blocks) {
  writer.table("characters", "return torch.embedding(self.weight, x)");
  writer.table("places", "return torch.slice(self.weight, 0, 0, x.size(1))");
  writer.line("b = x.size(0)");
  writer.line("t = x.size(1)");
  writer.line("x = self.characters.forward(x) + self.places.forward(x)");
  for (int i = 1; i <= blocks; ++i) writeBlock(writer, settings, "block_" + std::to_string(i) + "_");
  writer.norm("norm_last", settings.width);
  writer.linear("head");
  writer.line("return self.head.forward(self.norm_last.forward(x))");
}

}  // namespace

std::string toTorchScript(const Network& network, const RunSettings& settings, int layers) {
  Writer writer(network, settings);
  if (settings.experiment == "transformer") {
    writeTransformer(writer, settings, layers);
  } else {
    writePerceptron(writer, settings, layers);
  }
  return writer.finish();
}

}  // namespace normlens::lab
