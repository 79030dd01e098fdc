#include "core/lab/nets/network.h"

namespace normlens::lab {
namespace {

class Transformer final : public Network {
 public:
  Transformer(const RunSettings& settings, const NetworkShape& shape)
      : Network(settings, shape),
        heads_(settings.heads),
        preNorm_(settings.architecture == Architecture::PreNormTransformer) {
    const int64_t width = settings.width;
    characters_ = addTable("characters", shape.classes, width);
    places_ = addTable("places", settings.context, width);
    for (int i = 1; i <= shape.layers; ++i) {
      const std::string block = "block_" + std::to_string(i) + "_";
      const Norm norm1 = addNorm(block + "norm_1", width), norm2 = addNorm(block + "norm_2", width);
      blocks_.push_back({norm1, norm2, addLinear(block + "attention_in", width, 3 * width, false, &norm1),
                         addLinear(block + "attention_out", width, width, true),
                         addLinear(block + "mlp_in", width, 4 * width, false, &norm2),
                         addLinear(block + "mlp_out", 4 * width, width, true)});
    }
    outer_ = addNorm(preNorm_ ? "norm_last" : "norm_first", width);
    head_ = addLinear("head", width, shape.classes, false, &outer_);
  }

 private:
  // input: [batch, length] of characters; scores [batch * length, characters].
  at::Tensor scores(const at::Tensor& input, Pass& pass) const override {
    const at::Tensor embedded = at::embedding(used(characters_), input) + used(places_).slice(0, 0, input.size(1));
    at::Tensor stream = dropped(embedded, pass);
    if (!preNorm_) stream = norm(outer_, stream, pass);
    for (const Block& block : blocks_) {
      stream = around(block.norm1, stream, pass, [&](const at::Tensor& read) { return attention(block, read, pass); });
      stream = around(block.norm2, stream, pass, [&](const at::Tensor& read) {
        return linear(block.mlpOut, activated(Activation::Gelu, linear(block.mlpIn, read, pass), pass), pass);
      });
    }
    const at::Tensor made = linear(head_, preNorm_ ? norm(outer_, stream, pass) : stream, pass);
    return made.reshape({-1, made.size(-1)});
  }

  // Adds to the stream what `part` makes of it, with the norm before `part` or behind the sum.
  template <class Part>
  at::Tensor around(const Norm& at, const at::Tensor& stream, Pass& pass, const Part& part) const {
    return preNorm_ ? stream + part(norm(at, stream, pass)) : norm(at, stream + part(stream), pass);
  }

  struct Block {
    Norm norm1, norm2;
    Linear attentionIn, attentionOut, mlpIn, mlpOut;
  };

  at::Tensor attention(const Block& block, const at::Tensor& input, Pass& pass) const {
    const int64_t batch = input.size(0), length = input.size(1);
    const at::Tensor all =
        linear(block.attentionIn, input, pass).reshape({batch, length, 3, heads_, -1}).permute({2, 0, 3, 1, 4});
    const at::Tensor mixed =
        at::scaled_dot_product_attention(all[0], all[1], all[2], {}, /*dropout_p=*/0.0, /*is_causal=*/true);
    return linear(block.attentionOut, mixed.transpose(1, 2).flatten(2), pass);
  }

  int64_t heads_;
  bool preNorm_;
  size_t characters_ = 0, places_ = 0;
  std::vector<Block> blocks_;
  Norm outer_;  // before the head, or behind the embeddings
  Linear head_;
};

}  // namespace

std::unique_ptr<Network> makeTransformer(const RunSettings& settings, const NetworkShape& shape) {
  return std::make_unique<Transformer>(settings, shape);
}

}  // namespace normlens::lab
