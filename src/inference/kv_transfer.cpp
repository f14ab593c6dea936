#include "flowplan/inference/kv_transfer.hpp"

namespace flowplan::inference {

KvTransfer kv_transfer(const catalog::Instance& system, const catalog::Gpu& gpu,
                       const model::Transformer& model, const Layout& prefill, const Layout& decode,
                       const KvGeometry& decode_kv, bool layer_wise) {
  constexpr double bytes_per_gb = 1e9;
  const bool one_domain = prefill.gpus() + decode.gpus() <= system.nvlink_domain_gpus;
  const BytesPerSecond port = one_domain && gpu.nvlink_gbytes_per_s
                                  ? BytesPerSecond(gpu.nvlink_gbytes_per_s.value * bytes_per_gb)
                                  : system.efa_per_gpu();
  KvTransfer transfer;
  transfer.rate = port * static_cast<double>(prefill.gpus());
  transfer.pushed_layers = layer_wise ? model.layers : 0;
  const double parts = decode.tp / kv_copies(model, decode.tp);
  transfer.per_token = (decode_kv.full_per_token + decode_kv.windowed_per_token) * parts;
  transfer.per_sequence = decode_kv.state_per_sequence * parts;
  return transfer;
}

}  // namespace flowplan::inference
