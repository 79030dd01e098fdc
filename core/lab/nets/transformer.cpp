#include "core/lab/nets/network.h"

namespace normlens::lab {
namespace {

class Transformer final : public Network {
 public:
  Transformer(const RunSettings& settings, const NetworkShape& shape)
      : Network(settings, shape), heads_(settings.heads) {
    const int64_t width = settings.width;
    characters_ = addTable("characters", shape.classes, width);
    places_ = addTable("places", settings.context, width);
    for (int i = 1; i <= shape.layers; ++i) {
      const std::string block = "block_" + std::to_string(i) + "_";
      blocks_.push_back({addNorm(block + "norm_1", width), addNorm(block + "norm_2", width),
                         addLinear(block + "attention_in", width, 3 * width, false),
                         addLinear(block + "attention_out", width, width, true),
                         addLinear(block + "mlp_in", width, 4 * width, false),
                         addLinear(block + "mlp_out", 4 * width, width, true)});
    }
    last_ = addNorm("norm_last", width);
    head_ = addLinear("head", width, shape.classes, false);
  }

  // input: [batch, length] of characters; scores [batch * length, characters].
  at::Tensor forward(const at::Tensor& input, Trace* trace) const override {
    at::Tensor stream = at::embedding(used(characters_), input) + used(places_).slice(0, 0, input.size(1));
    for (const Block& block : blocks_) {
      stream = stream + attention(block, norm(block.norm1, stream), trace);
      const at::Tensor hidden = at::gelu(linear(block.mlpIn, norm(block.norm2, stream), trace));
      stream = stream + linear(block.mlpOut, hidden, trace);
    }
    const at::Tensor scores = linear(head_, norm(last_, stream), trace);
    return scores.reshape({-1, scores.size(-1)});
  }

 private:
  struct Block {
    Norm norm1, norm2;
    Linear attentionIn, attentionOut, mlpIn, mlpOut;
  };

  at::Tensor attention(const Block& block, const at::Tensor& input, Trace* trace) const {
    const int64_t batch = input.size(0), length = input.size(1), width = input.size(2);
    const at::Tensor all = linear(block.attentionIn, input, trace)
                               .reshape({batch, length, 3, heads_, width / heads_})
                               .permute({2, 0, 3, 1, 4});
    const at::Tensor mixed =
        at::scaled_dot_product_attention(all[0], all[1], all[2], {}, /*dropout_p=*/0.0, /*is_causal=*/true);
    return linear(block.attentionOut, mixed.transpose(1, 2).reshape({batch, length, width}), trace);
  }

  int64_t heads_;
  size_t characters_ = 0, places_ = 0;
  std::vector<Block> blocks_;
  Norm last_;
  Linear head_;
};

}  // namespace

std::unique_ptr<Network> makeTransformer(const RunSettings& settings, const NetworkShape& shape) {
  return std::make_unique<Transformer>(settings, shape);
}

}  // namespace normlens::lab
