#include "core/lab/export/torchscript_export.h"

#include <sstream>

namespace normlens::lab {
namespace {

using torch::jit::Module;

// Builds the module tree and, beside it, the text of its forward. A part ("block_1_norm_1") is a layer with parameters.
class TorchScriptWriter {
 public:
  TorchScriptWriter(const Network& network, const RunSettings& settings)
      : network_(network),
        settings_(settings),
        rest_("[" + std::to_string(settings.width) + "], self.weight, "),
        eps_(number(settings.norm_eps)),
        root_("__torch__.LaboratoryNetwork", unit_) {}

  std::string write(int layers) {
    const Value scores = isTransformer(settings_) ? transformer(layers) : perceptron(layers);
    root_.define("def forward(self, x):\n" + body_ + "  return " + scores + "\n");
    root_.eval();
    std::ostringstream file;
    root_.save(file);
    return file.str();
  }

 private:
  using Value = std::string;  // its name in the text

  // See nets/perceptron.cpp.
  Value perceptron(int layers) {
    const bool convolves = settings_.architecture == Architecture::Convolutional;
    Value x = convolves ? line("x.unsqueeze(1)") : "x";
    for (int i = 1; i < layers; ++i) {
      const std::string index = std::to_string(i);
      const Value made = convolves ? groupNorm("norm_" + index, convolution("linear_" + index, x))
                                   : norm("norm_" + index, linear("linear_" + index, x));
      const Value next = activation(nameOf(settings_.activation), made);
      x = settings_.architecture == Architecture::ResidualMlp && i > 1 ? add(x, next) : next;
    }
    return linear("linear_" + std::to_string(layers), convolves ? line("torch.mean(" + x + ", [2])") : x);
  }
  // See nets/transformer.cpp.
  Value transformer(int blocks) {
    const Value characters = part("characters", {"weight"}, "torch.embedding(self.weight, x)", "x");
    const bool preNorm = settings_.architecture == Architecture::PreNormTransformer;
    Value x = add(characters, part("places", {"weight"}, "torch.slice(self.weight, 0, 0, x.size(1))", "x"));
    if (!preNorm) x = norm("norm_first", x);
    const auto around = [&](const std::string& name, const auto& layer) {
      x = preNorm ? add(x, layer(norm(name, x))) : norm(name, add(x, layer(x)));
    };
    for (int i = 1; i <= blocks; ++i) {
      const std::string block = "block_" + std::to_string(i) + "_";
      around(block + "norm_1", [&](const Value& read) {
        return linear(block + "attention_out", attention(linear(block + "attention_in", read)));
      });
      around(block + "norm_2", [&](const Value& read) {
        return linear(block + "mlp_out", activation("gelu", linear(block + "mlp_in", read)));
      });
    }
    return linear("head", preNorm ? norm("norm_last", x) : x);
  }

  Value linear(const std::string& name, const Value& x) {
    return part(name, {"weight", "bias"}, "torch.linear(x, self.weight, self.bias)", x);
  }
  Value norm(const std::string& name, const Value& x) {
    if (network_.normUse() == NormUse::Plain) return x;
    if (network_.normUse() == NormUse::CrmsNorm) {
      const double kept = settings_.width - 1;
      return line("torch.rms_norm(" + x + ", [" + std::to_string(settings_.width - 1) + "], None, " +
                  number(settings_.norm_eps * (kept + 1) / kept) + ")");
    }
    const std::string code = network_.normUse() == NormUse::LayerNorm
                                 ? "torch.layer_norm(x, " + rest_ + "self.bias, " + eps_ + ")"
                                 : "torch.rms_norm(x, " + rest_ + eps_ + ") + self.bias";
    return part(name, {"weight", "bias"}, code, x);
  }
  Value convolution(const std::string& name, const Value& x) {
    return part(name, {"weight", "bias"}, "torch.conv1d(x, self.weight, self.bias, [1], [1])", x);
  }
  // GroupNorm, or the RMS of the same groups.
  Value groupNorm(const std::string& name, const Value& x) {
    if (network_.normUse() == NormUse::Plain) return x;
    const std::string groups = std::to_string(settings_.groups), width = std::to_string(settings_.width);
    if (network_.normUse() == NormUse::LayerNorm) {
      return part(name, {"weight", "bias"}, "torch.group_norm(x, " + groups + ", self.weight, self.bias, " + eps_ + ")",
                  x);
    }
    const Value grouped = line("torch.reshape(" + x + ", [" + x + ".size(0), " + groups + ", -1])");
    return part(name, {"weight", "bias"},
                "torch.reshape(x * torch.rsqrt(torch.mean(x * x, [2], True) + " + eps_ + "), [x.size(0), " + width +
                    ", -1]) * self.weight.unsqueeze(1) + self.bias.unsqueeze(1)",
                grouped);
  }
  Value activation(const std::string& op, const Value& x) { return line("torch." + op + "(" + x + ")"); }
  Value add(const Value& a, const Value& b) { return line(a + " + " + b); }
  // Writes causal attention, from [batch, length, 3 * width].
  Value attention(const Value& qkv) {
    const std::string size = std::to_string(settings_.width / settings_.heads);
    const std::string cut = "[3, " + std::to_string(settings_.heads) + ", " + size + "]";
    const Value all = line("torch.unflatten(" + qkv + ", 2, " + cut + ").permute([2, 0, 3, 1, 4])");
    const std::string three = all + "[0], " + all + "[1], " + all + "[2]";
    return line("torch.scaled_dot_product_attention(" + three + ", None, 0.0, True).transpose(1, 2).flatten(2)");
  }

  // Returns the parameter as it is computed with, dense: centered weights are written centered (CCWT).
  [[nodiscard]] at::Tensor parameter(const std::string& name) const {
    const at::NoGradGuard noGradients;
    return network_.used(*network_.find(name)).detach().cpu().clone().contiguous();
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

  const Network& network_;
  const RunSettings& settings_;
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
