#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "flowplan/base/csv_table.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/inference/layout.hpp"
#include "flowplan/inference/number_formats.hpp"

namespace flowplan::accuracy {

/// Workers of one kind that a row measures: how many of what layout.
struct ServingPool {
  int workers = 1;
  inference::Layout layout;
};

/// What a row of measured serving says about its deployment and its load.
struct ServingJob {
  std::string skipped;  ///< why it can't be predicted; the rest is then incomplete
  const catalog::Instance* instance = nullptr;
  const model::Transformer* model = nullptr;
  std::string engine;  ///< of the catalog: "vllm"
  inference::NumberFormats formats;
  ServingPool decode;                  ///< or the only one
  std::optional<ServingPool> prefill;  ///< of a disaggregated deployment
  int input_tokens = 0, output_tokens = 0;
  int max_tokens = 0, max_sequences = 0;  ///< of a pass, where the row says; 0: the engine's own
  int draft_tokens = 0;                   ///< proposed for each sequence and pass
  double accepted_tokens = 1.0;           ///< a pass, with the bonus token
  bool prefill_first = false;             ///< passes of prompts alone, decoding waits
  bool inferencex = false;                ///< the client that starts with a burst of varied lengths
  int concurrency = 0;
  std::string precision;  ///< as written

  [[nodiscard]] bool disaggregated() const { return prefill.has_value(); }
  /// Rows that no fit may split: engine, model, GPU, formats, layout.
  [[nodiscard]] std::string group() const;
};

/// The system that a GPU of these files stands in, the catalog's spelling of a model, an engine;
/// empty when there is none.
[[nodiscard]] std::string_view serving_system(std::string_view gpu);
[[nodiscard]] std::string serving_model(std::string_view name);
[[nodiscard]] std::string_view serving_engine(std::string_view engine);
/// Formats by what a table calls a model's precision ("fp8", "nvfp4", "bf16", "int4"); `block`: FP8
/// in blocks where the table says so. Nothing for one that is not known.
[[nodiscard]] std::optional<inference::NumberFormats> serving_formats(
    const model::Transformer& model, std::string_view precision, bool block);

/// A row of tables of serving throughput: columns gpu, gpus, model, engine, precision_w,
/// precision_kv, tp, pp, ep, dp, isl, osl, notes.
[[nodiscard]] ServingJob read_throughput_job(const catalog::Catalog& catalog, const CsvTable& table,
                                             std::size_t row);
/// A row of open-loop runs: columns gpu, tp, model, precision, isl_mean, osl_mean,
/// max_num_batched_tokens, max_num_seqs.
[[nodiscard]] ServingJob read_run_job(const catalog::Catalog& catalog, const CsvTable& table,
                                      std::size_t row);
/// A row of closed-loop points (docs/accuracy.md): columns engine, model, gpu, precision, mode,
/// isl, osl, concurrency, batch_size, gpus, tp, dp, ep, parallel_notes.
[[nodiscard]] ServingJob read_latency_job(const catalog::Catalog& catalog, const CsvTable& table,
                                          std::size_t row);

}  // namespace flowplan::accuracy
