#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flowplan/accuracy/kernel_fit.hpp"
#include "flowplan/accuracy/validate.hpp"
#include "flowplan/compute/kernel_table.hpp"

namespace flowplan::accuracy {

namespace {

using compute::KernelTable;
using compute::TableUse;

/// The catalog's name of a GPU of these files.
std::string_view gpu_id(std::string_view gpu) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> names{
      {{"A100-80GB", "A100-80GB"},
       {"H100", "H100-SXM-80GB"},
       {"H200", "H200-SXM-141GB"},
       {"B200", "B200-HGX"},
       {"B300", "B300-HGX"},
       {"GB200", "GB200"},
       {"GB300", "GB300"}}};
  for (const auto& [spelt, id] : names) {
    if (spelt == gpu) return id;
  }
  return {};
}

std::string type_name(const std::string& dtype) {
  return dtype == "bfloat16" ? "bf16" : dtype;
}

/// A row's numbers by column; remembers whether one was missing.
class Numbers {
 public:
  Numbers(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}
  double operator()(std::string_view column) {
    const auto value = table_.number(row_, column);
    if (!value || *value < 0.0) complete_ = false;
    return value.value_or(1.0);
  }
  const std::string& text(std::string_view column) const { return table_.text(row_, column); }
  [[nodiscard]] bool complete() const { return complete_; }

 private:
  const CsvTable& table_;
  std::size_t row_;
  bool complete_ = true;
};

using Predict = std::optional<Seconds> (*)(const KernelTable&, Numbers&);
using TypeOf = std::string (*)(const Numbers&);

/// How rows of a file of kernel latencies in milliseconds are read.
struct KernelFormat {
  std::string_view marks;  ///< a column that no other has
  TypeOf type;
  Predict predict;
  std::vector<std::string_view> group;  ///< columns whose values leave rows out together
};

/// The tables of GPUs as the files spell them, each read once.
class Tables {
 public:
  explicit Tables(const catalog::Catalog& catalog) : catalog_(catalog) {}
  const std::optional<KernelTable>& of(const std::string& gpu) {
    const auto [entry, fresh] = tables_.try_emplace(gpu);
    if (fresh) {
      if (const auto found = catalog_.gpu(std::string(gpu_id(gpu)))) {
        if (auto known = KernelTable::on(catalog_, **found)) entry->second = std::move(*known);
      }
    }
    return entry->second;
  }

 private:
  const catalog::Catalog& catalog_;
  std::map<std::string, std::optional<KernelTable>> tables_;
};

std::vector<Row> kernel_rows(const catalog::Catalog& catalog, const CsvTable& table,
                             const KernelFormat& format, std::vector<TableUse>* uses = nullptr) {
  Tables kernels(catalog);
  std::vector<Row> rows;
  rows.reserve(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    Row row;
    row.id = std::to_string(i);
    row.metric = "latency";
    const std::string& gpu = table.text(i, "gpu");
    const std::optional<KernelTable>& of_gpu = kernels.of(gpu);
    Numbers numbers(table, i);
    const std::string name = format.type(numbers);
    row.by = {{"gpu", gpu}, {"type", name}};
    TableUse use;
    const auto measured = table.number(i, "latency");
    if (!measured || *measured <= 0.0) {
      row.skipped = "no measured value";
    } else if (!of_gpu) {
      row.skipped = "no kernel tables for its GPU";
    } else {
      row.measured = *measured;
      const auto time = format.predict(uses == nullptr ? *of_gpu : of_gpu->recording(use), numbers);
      if (!numbers.complete()) {
        row.skipped = "sizes are not stated";
      } else if (!time) {
        row.skipped = "no table of type " + name + " on " + gpu;
      } else {
        row.predicted = *time / milliseconds(1.0);
      }
    }
    rows.push_back(std::move(row));
    if (uses != nullptr) uses->push_back(std::move(use));
  }
  return rows;
}

std::string gemm_type(const Numbers& row) {
  return type_name(row.text("gemm_dtype"));
}

std::string cache_type(const Numbers& row) {
  return type_name(row.text("kv_cache_dtype"));
}

/// `step` tokens are cached before a generated one; a prefill has none.
bool is_prefill(const Numbers& row) {
  return row.text("step") == "0";
}

std::string attention_type(const Numbers& row) {
  return is_prefill(row) ? "prefill " + type_name(row.text("attn_dtype"))
                         : "decode " + cache_type(row);
}

std::optional<Seconds> predict_attention(const KernelTable& kernels, Numbers& row) {
  if (is_prefill(row)) {
    compute::PrefillShape shape;
    shape.batch = row("batch_size");
    shape.seq_len = row("isl");
    shape.heads = row("num_heads");
    shape.kv_heads = row("num_key_value_heads");
    shape.head_dim = row("head_dim");
    shape.window = row("window_size");
    shape.narrow_kv = cache_type(row) == "fp8";
    return kernels.prefill(type_name(row.text("attn_dtype")), shape);
  }
  compute::DecodeShape shape;
  shape.batch = row("batch_size");
  shape.context = row("step") + 1.0;
  shape.heads = row("num_heads");
  shape.kv_heads = row("num_key_value_heads");
  shape.head_dim = row("head_dim");
  shape.window = row("window_size");
  return kernels.decode(cache_type(row), shape);
}

std::string experts_type(const Numbers& row) {
  const std::string& source = row.text("kernel_source");
  std::string name = type_name(row.text("moe_dtype"));
  for (const char* variant : {"nongated", "min_latency"}) {
    if (source.find(variant) != std::string::npos) name += std::string(".") + variant;
  }
  return name;
}

double skew(const std::string& distribution) {
  if (distribution == "balanced") return 0.0;
  return distribution == "power_law_1.01" ? 1.0 : 2.0;
}

std::optional<Seconds> predict_gemm(const KernelTable& kernels, Numbers& row) {
  return kernels.gemm(gemm_type(row), row("m"), row("n"), row("k"));
}

std::optional<Seconds> predict_latent(const KernelTable& kernels, Numbers& row) {
  compute::LatentShape shape;
  shape.batch = row("batch_size");
  shape.heads = row("num_heads");
  if (!is_prefill(row)) {
    shape.tokens = row("step") + 1.0;
    return kernels.latent_decode(cache_type(row), shape);
  }
  shape.tokens = row("isl");
  return kernels.latent_prefill(cache_type(row), shape);
}

std::optional<Seconds> predict_experts(const KernelTable& kernels, Numbers& row) {
  compute::ExpertsShape shape;
  shape.tokens = row("num_tokens");
  shape.hidden = row("hidden_size");
  shape.ffn = row("inter_size");
  shape.per_token = row("topk");
  shape.experts = row("num_experts");
  shape.tp = row("moe_tp_size");
  shape.ep = row("moe_ep_size");
  shape.skew = skew(row.text("distribution"));
  return kernels.experts(experts_type(row), shape);
}

const KernelFormat gemms{"gemm_dtype", gemm_type, predict_gemm, {"n", "k"}};
const KernelFormat latents{"mla_dtype", cache_type, predict_latent, {"num_heads"}};
const KernelFormat experts{"moe_dtype", experts_type, predict_experts, {"inter_size"}};
const KernelFormat attentions{"attn_dtype", attention_type, predict_attention, {"num_heads"}};

}  // namespace

std::vector<Row> gemm_rows(const catalog::Catalog& catalog, const CsvTable& table) {
  return kernel_rows(catalog, table, gemms);
}

std::vector<Row> attention_rows(const catalog::Catalog& catalog, const CsvTable& table) {
  return kernel_rows(catalog, table, attentions);
}

std::vector<Row> latent_rows(const catalog::Catalog& catalog, const CsvTable& table) {
  return kernel_rows(catalog, table, latents);
}

std::vector<Row> experts_rows(const catalog::Catalog& catalog, const CsvTable& table) {
  return kernel_rows(catalog, table, experts);
}

std::optional<std::vector<KernelSample>> kernel_samples(const catalog::Catalog& catalog,
                                                        const CsvTable& table) {
  for (const KernelFormat* format : {&gemms, &latents, &experts, &attentions}) {
    if (!table.column(format->marks) || !table.column("latency")) continue;
    std::vector<TableUse> uses;
    std::vector<Row> rows = kernel_rows(catalog, table, *format, &uses);
    std::vector<KernelSample> samples;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i].predicted) continue;
      std::string group;
      for (const std::string_view column : format->group)
        group += table.text(i, column) + " ";
      samples.push_back({std::move(rows[i]), std::move(uses[i]), std::move(group)});
    }
    return samples;
  }
  return std::nullopt;
}

}  // namespace flowplan::accuracy
