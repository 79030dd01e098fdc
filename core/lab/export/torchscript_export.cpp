#include "core/lab/export/torchscript_export.h"

#include <sstream>

#include "core/lab/export/forward.h"

namespace normlens::lab {
namespace {

using torch::jit::Module;

// Builds the module tree and, beside it, the text of its forward.
class TorchScriptWriter final : public ForwardWriter {
 public:
  TorchScriptWriter(const Network& network, const RunSettings& settings)
      : ForwardWriter(network, settings),
        rest_("[" + std::to_string(settings.width) + "], self.weight, "),
        eps_(number(settings.norm_eps)),
        root_("__torch__.LaboratoryNetwork", unit_) {}

  std::string write(int layers) {
    const Value scores = writeForward(layers);
    root_.define("def forward(self, x):\n" + body_ + "  return " + scores + "\n");
    root_.eval();
    std::ostringstream file;
    root_.save(file);
    return file.str();
  }

 private:
  Value linear(const std::string& name, const Value& x) override {
    return part(name, {"weight", "bias"}, "torch.linear(x, self.weight, self.bias)", x);
  }
  Value layerNorm(const std::string& name, const Value& x) override {
    return part(name, {"weight", "bias"}, "torch.layer_norm(x, " + rest_ + "self.bias, " + eps_ + ")", x);
  }
  Value rmsNorm(const std::string& name, const Value& x) override {
    return part(name, {"weight", "bias"}, "torch.rms_norm(x, " + rest_ + eps_ + ") + self.bias", x);
  }
  Value lookUp(const std::string& name, const Value& characters) override {
    return part(name, {"weight"}, "torch.embedding(self.weight, x)", characters);
  }
  Value places(const std::string& name, const Value& characters) override {
    return part(name, {"weight"}, "torch.slice(self.weight, 0, 0, x.size(1))", characters);
  }
  Value activation(const std::string& op, const Value& x) override { return line("torch." + op + "(" + x + ")"); }
  Value add(const Value& a, const Value& b) override { return line(a + " + " + b); }
  Value attention(const Value& qkv) override {
    const std::string cut = "[3, " + std::to_string(settings().heads) + ", " + std::to_string(headSize()) + "]";
    const Value all = line("torch.unflatten(" + qkv + ", 2, " + cut + ").permute([2, 0, 3, 1, 4])");
    const std::string three = all + "[0], " + all + "[1], " + all + "[2]";
    return line("torch.scaled_dot_product_attention(" + three + ", None, 0.0, True).transpose(1, 2).flatten(2)");
  }

  static std::string number(double value) {
    std::ostringstream text;
    text.precision(17);
    text << std::scientific << value;
    return text.str();
  }

  // `code`: what the part gives for x.
  Value part(const std::string& name, std::initializer_list<const char*> parameters, const std::string& code,
             const Value& x) {
    Module module("__torch__.parts." + name, unit_);
    for (const char* each : parameters)
      module.register_parameter(each, parameter(name + "." + each), /*is_buffer=*/false);
    module.define("def forward(self, x):\n  return " + code + "\n");
    root_.register_module(name, module);
    return line("self." + name + ".forward(" + x + ")");
  }
  Value line(const std::string& code) {
    const Value value = "v" + std::to_string(++lines_);
    body_ += "  " + value + " = " + code + "\n";
    return value;
  }

  std::string rest_, eps_;
  std::shared_ptr<torch::jit::CompilationUnit> unit_ = std::make_shared<torch::jit::CompilationUnit>();
  Module root_;
  std::string body_;
  int lines_ = 0;
};

}  // namespace

std::string toTorchScript(const Network& network, const RunSettings& settings, int layers) {
  return TorchScriptWriter(network, settings).write(layers);
}

}  // namespace normlens::lab
