#include "step_shapes.hpp"

#include <cmath>

namespace flowplan::inference {

namespace {

/// Collects the products of a rank.
class Products {
 public:
  Products(const model::Transformer& model, const Layout& layout, const NumberFormats& formats)
      : m_(model), l_(layout), f_(formats), tp_(layout.tp), layers_(attention_layers(model)) {}

  std::vector<ProductShape> all() {
    if (m_.latent_attention) {
      latent();
    } else {
      grouped(layers_.full + layers_.windowed);
    }
    if (m_.linear_attention) linear();
    if (m_.dense_layers() > 0) mlp(real_of(m_.ffn), real_of(m_.dense_layers()));
    if (m_.experts) {
      const double moe = real_of(m_.moe_layers());
      if (m_.experts->shared > 0) mlp(real_of(m_.experts->shared * m_.experts->ffn), moe);
      add(real_of(m_.experts->count), real_of(m_.hidden), moe, WeightFormat::bf16, false);
      if (const double latent = real_of(m_.experts->latent); latent > 0.0) {
        add(latent, real_of(m_.hidden), moe, f_.ffn, false);
        add(real_of(m_.hidden), latent, moe, f_.ffn, false);
      }
    }
    return std::move(shapes_);
  }

 private:
  void add(double n, double k, double layers, WeightFormat format, bool of_attention = true) {
    shapes_.push_back({std::ceil(n), std::ceil(k), 1.0, layers, format, true, of_attention});
  }
  void mlp(double width, double layers) {
    const double up = m_.gated_mlp ? 2.0 : 1.0;
    add(up * width / tp_, real_of(m_.hidden), layers, f_.ffn, false);
    add(real_of(m_.hidden), width / tp_, layers, f_.ffn, false);
  }
  void grouped(double layers) {
    const double queries = real_of(m_.heads) / tp_, head = real_of(m_.head_dim);
    const double gate = m_.attention_gate ? queries : 0.0;
    add((queries + gate + 2.0 * kv_heads_per_rank(m_, l_.tp)) * head, real_of(m_.hidden), layers,
        f_.attention);
    add(real_of(m_.hidden), queries * head, layers, f_.attention);
  }
  /// Queries and latents down, queries up, output; the up-projection of keys and values absorbed
  /// into queries and outputs, head by head, which in prefill takes as many operations.
  void latent() {
    const model::LatentAttention& a = *m_.latent_attention;
    const double heads = real_of(m_.heads) / tp_, query = real_of(a.nope_dim + a.rope_dim);
    const double down = real_of(a.kv_rank + a.rope_dim);
    if (a.q_rank > 0) {
      add(real_of(a.q_rank) + down, real_of(m_.hidden), layers_.full, f_.attention);
      add(heads * query, real_of(a.q_rank), layers_.full, f_.attention);
    } else {
      add(heads * query + down, real_of(m_.hidden), layers_.full, f_.attention);
    }
    shapes_.push_back({real_of(a.kv_rank), real_of(a.nope_dim), heads, layers_.full,
                       WeightFormat::bf16, false, true});
    shapes_.push_back({real_of(a.value_dim), real_of(a.kv_rank), heads, layers_.full,
                       WeightFormat::bf16, false, true});
    add(real_of(m_.hidden), heads * real_of(a.value_dim), layers_.full, f_.attention);
    if (m_.sparse_attention) {
      const model::SparseAttention& s = *m_.sparse_attention;
      const double source = a.q_rank > 0 ? real_of(a.q_rank) : real_of(m_.hidden);
      add(real_of(s.heads * s.head_dim), source, layers_.full, f_.attention);
      add(real_of(s.head_dim + s.heads), real_of(m_.hidden), layers_.full, f_.attention);
    }
  }
  void linear() {
    const model::LinearAttention& a = *m_.linear_attention;
    add(real_of(a.inputs()) / tp_, real_of(m_.hidden), layers_.linear, f_.attention);
    add(real_of(m_.hidden), real_of(a.values()) / tp_, layers_.linear, f_.attention);
  }

  const model::Transformer& m_;
  const Layout& l_;
  const NumberFormats& f_;
  double tp_;
  AttentionLayers layers_;
  std::vector<ProductShape> shapes_;
};

}  // namespace

AttentionLayers attention_layers(const model::Transformer& model) {
  AttentionLayers layers;
  const double all = real_of(model.layers);
  layers.linear = model.linear_attention ? real_of(model.linear_attention->layers) : 0.0;
  layers.windowed = model.sliding_window > 0 ? std::round(all * model.sliding_share) : 0.0;
  layers.full = all * model.full_share() - layers.windowed;
  return layers;
}

std::vector<ProductShape> product_shapes(const model::Transformer& model, const Layout& layout,
                                         const NumberFormats& formats) {
  return Products(model, layout, formats).all();
}

}  // namespace flowplan::inference
