#include "flowplan/model/read_config.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flowplan::model {

using Json = nlohmann::ordered_json;

namespace {

// As the scenario's schema has them: beyond, a config is damaged.
constexpr std::int64_t most_layers = 10000, most_hidden = 1000000, most_heads = 100000;
constexpr std::int64_t largest_dimension = 1000000000;

/// What a model_type means for fields that its config leaves unsaid.
struct Family {
  std::string_view type;
  bool gated = true;
  bool qkv_bias = false;
  bool output_bias = false;
  bool mlp_bias = false;
  bool learned_positions = false;
  bool norm_bias = false;
  bool qk_norm = false;
  bool sinks = false;
  bool tied = false;
  bool linear_layers = false;     ///< linear attention but for one layer in so many
  bool hybrid = false;            ///< blocks as a pattern names them
  bool gated_attention = false;   ///< the query projection makes an output gate
  bool window_by_choice = false;  ///< a window counts only where `use_sliding_window` says so
  double window_share = 1.0;      ///< of the layers, where no list of them is given
  std::int64_t norms = 2;
};

Family family(std::string_view type) {
  Family f;
  f.type = type;
  return f;
}

void add_qwen(std::vector<Family>& all) {
  for (const std::string_view type : {"qwen2", "qwen2_moe"}) {
    Family f = family(type);
    f.qkv_bias = f.window_by_choice = true;
    all.push_back(f);
  }
  for (const std::string_view type : {"qwen3", "qwen3_moe"}) {
    Family f = family(type);
    f.qk_norm = f.window_by_choice = true;
    all.push_back(f);
  }
  for (const std::string_view type : {"qwen3_next", "qwen3_5_moe_text"}) {
    Family f = family(type);
    f.qk_norm = f.window_by_choice = f.linear_layers = f.gated_attention = true;
    all.push_back(f);
  }
}

void add_gemma(std::vector<Family>& all) {
  Family gemma = family("gemma");
  gemma.tied = true;
  all.push_back(gemma);
  gemma.type = "gemma2";  // alternates window and full attention
  gemma.norms = 4;
  gemma.window_share = 0.5;
  all.push_back(gemma);
  gemma.type = "gemma3_text";  // sliding_window_pattern is 6 where the config leaves it out
  gemma.qk_norm = true;
  gemma.window_share = 5.0 / 6.0;
  all.push_back(gemma);
}

/// Two-matrix MLPs.
void add_ungated(std::vector<Family>& all) {
  Family gpt = family("megatron_gpt");
  gpt.gated = false;
  gpt.qkv_bias = gpt.output_bias = gpt.mlp_bias = gpt.learned_positions = gpt.norm_bias = true;
  gpt.tied = true;
  all.push_back(gpt);
  gpt.type = "gpt2";
  all.push_back(gpt);
  Family starcoder = gpt;
  starcoder.type = "starcoder2";
  starcoder.learned_positions = false;
  all.push_back(starcoder);
  Family mpt = family("mpt");
  mpt.gated = false;
  mpt.tied = true;
  all.push_back(mpt);
  Family nemotron = family("nemotron");
  nemotron.gated = false;
  nemotron.norm_bias = true;
  all.push_back(nemotron);
}

std::vector<Family> make_families() {
  std::vector<Family> all;
  for (const std::string_view type :
       {"llama", "llama4_text", "mistral", "mixtral", "phi3", "deepseek_v2", "deepseek_v3",
        "deepseek_v32", "kimi_k2", "glm_moe_dsa", "glm4_moe"}) {
    all.push_back(family(type));
  }
  Family granite = family("granite");
  granite.tied = true;
  all.push_back(granite);
  add_qwen(all);
  add_gemma(all);
  Family minimax = family("minimax_m2");
  minimax.qk_norm = true;
  all.push_back(minimax);
  Family gpt_oss = family("gpt_oss");  // alternates window and full attention
  gpt_oss.qkv_bias = gpt_oss.output_bias = gpt_oss.mlp_bias = gpt_oss.sinks = true;
  gpt_oss.window_share = 0.5;
  all.push_back(gpt_oss);
  add_ungated(all);
  Family hybrid = family("nemotron_h");
  hybrid.gated = false;  // squared ReLU
  hybrid.hybrid = true;
  all.push_back(hybrid);
  return all;
}

const std::vector<Family>& families() {
  static const std::vector<Family> all = make_families();
  return all;
}

/// Reads fields of one configuration and remembers what is wrong with them.
class Fields {
 public:
  Fields(const JsonDocument& document, std::string pointer, const Json& node)
      : document_(document), pointer_(std::move(pointer)), node_(node) {}

  bool has(const char* key) const { return node_.contains(key) && !node_.at(key).is_null(); }

  /// The first of several names that the config has.
  const char* first(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) {
      if (has(key)) return key;
    }
    return *keys.begin();
  }

  std::int64_t count(const char* key, std::int64_t otherwise, std::int64_t least = 1) {
    return has(key) ? need(key, least) : otherwise;
  }

  /// A whole number from `least` to `most`; reports and returns `least` when it is missing or
  /// wrong.
  std::int64_t need(const char* key, std::int64_t least = 1,
                    std::int64_t most = largest_dimension) {
    if (!has(key)) {
      report(Code::missing_key, document_.place(pointer_),
             fmt::format("the key `{}` is missing", key), "a decoder-only transformer needs it");
      return least;
    }
    const Json& value = node_.at(key);
    if (!value.is_number()) {
      report(Code::wrong_type, place(key), fmt::format("`{}`: expected a whole number", key), "");
      return least;
    }
    const double number = value.get<double>();
    if (number != std::floor(number) || number < static_cast<double>(least) ||
        number > static_cast<double>(most)) {
      report(Code::value_out_of_range, place(key),
             fmt::format("`{}` is {}, expected a whole number from {} to {}", key, value.dump(),
                         least, most),
             "");
      return least;
    }
    return static_cast<std::int64_t>(number);
  }

  bool flag(const char* key, bool otherwise) {
    if (!has(key)) return otherwise;
    const Json& value = node_.at(key);
    if (value.is_boolean()) return value.get<bool>();
    report(Code::wrong_type, place(key), fmt::format("`{}`: expected true or false", key), "");
    return otherwise;
  }

  std::string text(const char* key) const {
    return has(key) && node_.at(key).is_string() ? node_.at(key).get<std::string>() : std::string();
  }

  void report(Code code, Place place, std::string message, std::string hint) {
    faults_.push_back(error(code, std::move(place), std::move(message), std::move(hint)));
  }
  void refuse(const char* key, std::string message) {
    report(Code::unsupported_feature, place(key), std::move(message),
           "flowplan models decoder-only transformers: dense, MoE, MLA, sliding window");
  }

  const Json& node() const { return node_; }
  Diagnostics& faults() { return faults_; }

 private:
  Place place(const char* key) const { return document_.place(child_pointer(pointer_, key)); }

  const JsonDocument& document_;
  std::string pointer_;
  const Json& node_;
  Diagnostics faults_;
};

void read_shape(Fields& in, Transformer& m) {
  m.layers = in.need(in.first({"num_hidden_layers", "n_layer", "n_layers"}), 1, most_layers);
  m.hidden = in.need(in.first({"hidden_size", "n_embd", "d_model"}), 1, most_hidden);
  m.heads = in.need(in.first({"num_attention_heads", "n_head", "n_heads"}), 1, most_heads);
  m.kv_heads = in.count("num_key_value_heads", m.heads);
  m.vocab = in.need("vocab_size");
  m.context =
      in.count(in.first({"max_position_embeddings", "n_positions", "max_seq_len", "n_ctx"}), 0);
  if (in.has("head_dim")) {
    m.head_dim = in.need("head_dim");
  } else if (m.hidden % m.heads == 0) {
    m.head_dim = m.hidden / m.heads;
  } else if (in.faults().empty()) {
    in.refuse("hidden_size",
              fmt::format("hidden size {} is not a multiple of {} heads and there is "
                          "no head_dim",
                          m.hidden, m.heads));
  }
  if (m.kv_heads > 0 && m.heads % m.kv_heads != 0) {
    in.refuse(
        "num_key_value_heads",
        fmt::format("{} query heads are not a multiple of {} key heads", m.heads, m.kv_heads));
  }
}

void read_experts(Fields& in, Transformer& m, const std::string& type) {
  const char* counter = in.first({"n_routed_experts", "num_local_experts", "num_experts"});
  if (!in.has(counter)) return;
  Experts e;
  e.count = in.need(counter);
  e.per_token = in.need(in.first({"num_experts_per_tok", "experts_per_token"}));
  e.ffn = in.has("moe_intermediate_size") ? in.need("moe_intermediate_size")
                                          : in.need("intermediate_size");
  e.shared = in.count("n_shared_experts", 0, 0);
  e.latent = in.count("moe_latent_size", 0, 0);
  const char* shared_width =
      in.first({"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size"});
  if (in.has(shared_width)) {
    const std::int64_t width = in.need(shared_width);
    e.shared = width / e.ffn;
    e.shared_gate = type.starts_with("qwen");
    if (width % e.ffn != 0) {
      in.refuse(shared_width,
                fmt::format("a shared expert of width {} is not a multiple of the routed experts' "
                            "width {}",
                            width, e.ffn));
    }
  }
  e.dense_layers = in.count("first_k_dense_replace", 0, 0);
  e.every =
      in.count(in.first({"moe_layer_freq", "decoder_sparse_step", "interleave_moe_layer_step"}), 1);
  if (type == "llama4_text") m.ffn = in.count("intermediate_size_mlp", m.ffn);
  if (in.has("mlp_only_layers") && !in.node().at("mlp_only_layers").empty()) {
    in.refuse("mlp_only_layers", "single layers without experts are not modelled");
  }
  if (e.per_token > e.count) {
    in.refuse(counter,
              fmt::format("{} experts a token are more than the {} experts", e.per_token, e.count));
  }
  if (e.dense_layers > m.layers && in.faults().empty()) {
    in.refuse("first_k_dense_replace",
              fmt::format("{} dense layers are more than all {} layers", e.dense_layers, m.layers));
  }
  m.experts = e;
}

void read_latent_attention(Fields& in, Transformer& m) {
  if (!in.has("kv_lora_rank")) return;
  LatentAttention l;
  l.q_rank = in.count("q_lora_rank", 0);
  l.kv_rank = in.need("kv_lora_rank");
  l.nope_dim = in.need("qk_nope_head_dim");
  l.rope_dim = in.need("qk_rope_head_dim");
  l.value_dim = in.need("v_head_dim");
  m.latent_attention = l;
}

void read_linear_attention(Fields& in, Transformer& m) {
  if (!in.has("linear_num_key_heads")) return;
  LinearAttention l;
  l.key_heads = in.need("linear_num_key_heads");
  l.value_heads = in.need("linear_num_value_heads");
  l.key_dim = in.need("linear_key_head_dim");
  l.value_dim = in.need("linear_value_head_dim");
  l.convolution = in.count("linear_conv_kernel_dim", 4);
  // One layer in so many attends in full.
  l.full_layers = m.layers / in.count("full_attention_interval", 4);
  l.layers = m.layers - l.full_layers;
  m.linear_attention = l;
}

/// Nemotron-H and 3: a letter a block, M for Mamba-2, * for attention, - for an MLP, E for experts.
void read_hybrid(Fields& in, Transformer& m) {
  const std::string pattern = in.text("hybrid_override_pattern");
  const auto blocks = [&](char letter) {
    return static_cast<std::int64_t>(std::count(pattern.begin(), pattern.end(), letter));
  };
  const std::int64_t mamba = blocks('M'), attention = blocks('*'), dense = blocks('-'),
                     experts = blocks('E');
  if (mamba + attention + dense + experts != static_cast<std::int64_t>(pattern.size()) ||
      mamba + attention == 0 || (dense > 0) == (experts > 0)) {
    in.refuse("hybrid_override_pattern",
              "the pattern has to tell of every block whether it is Mamba (M), attention (*), and "
              "either an MLP (-) or experts (E)");
    return;
  }
  m.layers = dense + experts;
  m.norms_per_layer = static_cast<double>(pattern.size()) / static_cast<double>(m.layers);
  LinearAttention l;
  l.mamba = true;
  l.layers = mamba;
  l.full_layers = attention;
  l.key_heads = in.need("n_groups");
  l.key_dim = in.need("ssm_state_size");
  l.value_heads = in.need("mamba_num_heads");
  l.value_dim = in.need("mamba_head_dim");
  l.convolution = in.count("conv_kernel", 4);
  m.linear_attention = l;
  if (experts == 0) m.experts.reset();
}

void read_sparse_attention(Fields& in, Transformer& m) {
  if (!in.has("index_topk")) return;
  m.sparse_attention =
      SparseAttention{in.need("index_topk"), in.need("index_n_heads"), in.need("index_head_dim")};
}

/// Share of the layers with sliding attention: from the per-layer list or its summary.
double sliding_share(const Json& node) {
  double sliding = 0.0, all = 0.0;
  if (node.contains("layer_types") && node.at("layer_types").is_array()) {
    for (const Json& type : node.at("layer_types")) {
      sliding += type == "sliding_attention" ? 1.0 : 0.0;
      all += 1.0;
    }
  } else if (node.contains("layer_type_counts") && node.at("layer_type_counts").is_object()) {
    for (const auto& [type, count] : node.at("layer_type_counts").items()) {
      const double n = count.is_number() ? count.get<double>() : 0.0;
      sliding += type == "sliding_attention" ? n : 0.0;
      all += n;
    }
  }
  return all > 0.0 ? sliding / all : -1.0;
}

/// Share of the layers with sliding attention as the config's other keys say; the family's habit
/// without them.
double usual_sliding_share(Fields& in, const Transformer& m, const Family& f) {
  if (in.has("sliding_window_pattern")) {
    return 1.0 - 1.0 / static_cast<double>(in.need("sliding_window_pattern"));
  }
  if (f.window_by_choice && in.has("max_window_layers")) {
    const std::int64_t full = std::min(m.layers, in.need("max_window_layers", 0));
    return static_cast<double>(m.layers - full) / static_cast<double>(m.layers);
  }
  return f.window_share;
}

void read_window(Fields& in, Transformer& m, const Family& f) {
  if (!in.has("sliding_window") || !in.flag("use_sliding_window", !f.window_by_choice)) return;
  m.sliding_window = in.need("sliding_window");
  const double stated = sliding_share(in.node());
  m.sliding_share = stated >= 0.0 ? stated : usual_sliding_share(in, m, f);
  if (m.sliding_share == 0.0) m.sliding_window = 0;
}

void refuse_other_kinds(Fields& in, const std::string& type) {
  struct Mark {
    const char* key;
    const char* what;
  };
  constexpr std::array<Mark, 8> marks{{
      {"mamba_num_heads", "has state-space (Mamba) layers"},
      {"ssm_state_size", "has state-space (Mamba) layers"},
      {"encoder_layers", "has an encoder"},
      {"block_configs", "has layers of different shapes"},
      {"parallel_attn", "computes attention and MLP in parallel"},
      {"use_parallel_residual", "computes attention and MLP in parallel"},
      {"new_decoder_architecture", "computes attention and MLP in parallel"},
      {"is_encoder_decoder", "has an encoder"},
  }};
  const bool hybrid = type == "nemotron_h";
  if (hybrid && !in.has("hybrid_override_pattern")) {
    in.refuse("model_type", "a hybrid whose blocks no `hybrid_override_pattern` names");
    return;
  }
  for (const Mark& mark : marks) {
    if (!in.has(mark.key) || in.node().at(mark.key) == false || hybrid) continue;
    in.refuse(mark.key, fmt::format("model type `{}` {}", type, mark.what));
    return;
  }
  constexpr std::array<std::string_view, 7> parallel{"falcon", "phi",     "gptj",   "gpt_neox",
                                                     "cohere", "cohere2", "codegen"};
  if (std::find(parallel.begin(), parallel.end(), type) != parallel.end()) {
    in.refuse("model_type",
              fmt::format("model type `{}` computes attention and MLP in parallel", type));
  } else if (in.has("text_config")) {
    in.refuse("text_config", fmt::format("model type `{}` takes more than text: save its "
                                         "`text_config` as a config.json of its own",
                                         type));
  }
}

/// Positions as a slope on the scores (ALiBi), which takes no embedding.
bool uses_alibi(const Json& node) {
  const auto attention = node.find("attn_config");
  return attention != node.end() && attention->is_object() && attention->contains("alibi") &&
         attention->at("alibi") == true;
}

void apply(const Family& f, Fields& in, Transformer& m) {
  m.gated_mlp = f.gated;
  m.attention_bias = in.flag("attention_bias", f.qkv_bias) || f.qkv_bias;
  const bool only_qkv = f.type == "qwen2" || f.type == "qwen2_moe" || f.type == "glm4_moe";
  m.output_bias = f.output_bias || (!only_qkv && in.flag("attention_bias", false));
  m.mlp_bias = in.flag("mlp_bias", f.mlp_bias);
  m.learned_positions = in.flag("learned_pos_emb", f.learned_positions);
  m.norm_bias = f.norm_bias;
  if (f.type == "mpt") {
    const bool biased = !in.flag("no_bias", false);
    m.attention_bias = m.output_bias = m.mlp_bias = m.norm_bias = biased;
    m.learned_positions = in.flag("learned_pos_emb", true) && !uses_alibi(in.node());
  }
  if (f.type == "starcoder2") {
    m.attention_bias = m.output_bias = m.mlp_bias = in.flag("use_bias", true);
  }
  m.norms_per_layer = static_cast<double>(f.norms);
  m.qk_norm = f.type == "glm4_moe" ? in.flag("use_qk_norm", false) : f.qk_norm;
  m.attention_sinks = f.sinks;
  m.attention_gate = f.gated_attention;
  m.tied_embeddings = in.flag("tie_word_embeddings", f.tied);
}

Transformer read_fields(Fields& in, const Family& f, std::string name) {
  const std::string type(f.type);
  Transformer m;
  m.name = std::move(name);
  read_shape(in, m);
  if (in.has("expansion_ratio")) {
    m.ffn = in.need("expansion_ratio") * m.hidden;
  } else if (type == "gpt2") {
    m.ffn = in.count("n_inner", 4 * m.hidden);
  } else if (f.linear_layers && !in.has("intermediate_size")) {
    m.ffn = in.need("moe_intermediate_size");  // no layer has a dense MLP
  } else {
    m.ffn = in.need("intermediate_size");
  }
  apply(f, in, m);
  read_experts(in, m, type);
  read_latent_attention(in, m);
  read_sparse_attention(in, m);
  if (f.linear_layers) read_linear_attention(in, m);
  if (f.hybrid) read_hybrid(in, m);
  read_window(in, m, f);
  m.mtp_layers = in.count("num_nextn_predict_layers", 0, 0);
  return m;
}

}  // namespace

Result<Transformer> read_config(const JsonDocument& document, const std::string& pointer,
                                std::string name) {
  const Json& node = document.root().at(Json::json_pointer(pointer));
  if (!node.is_object()) {
    return fail(
        error(Code::wrong_type, document.place(pointer),
              "expected a model configuration: an object with num_hidden_layers and so on"));
  }
  Fields in(document, pointer, node);
  const std::string type = in.text("model_type");
  if (type.empty()) {
    return fail(error(Code::missing_key, document.place(pointer), "the key `model_type` is missing",
                      "it says which architecture this is, as in Hugging Face's config.json"));
  }
  refuse_other_kinds(in, type);
  if (!in.faults().empty()) return fail(std::move(in.faults()));

  std::vector<std::string> known;
  for (const Family& f : families()) {
    known.emplace_back(f.type);
    if (f.type != type) continue;
    Transformer m = read_fields(in, f, std::move(name));
    if (!in.faults().empty()) return fail(std::move(in.faults()));
    return m;
  }
  return fail(error(Code::unsupported_feature, document.place(child_pointer(pointer, "model_type")),
                    fmt::format("model type `{}` is not a decoder-only transformer that flowplan "
                                "knows",
                                type),
                    suggest(type, known)));
}

Result<Transformer> read_config(const JsonDocument& config, std::string name) {
  return read_config(config, "", std::move(name));
}

}  // namespace flowplan::model
