#pragma once

#include "flowplan/catalog/hardware.hpp"
#include "flowplan/inference/engine.hpp"
#include "flowplan/inference/layout.hpp"
#include "flowplan/inference/serve.hpp"
#include "flowplan/model/transformer.hpp"

namespace flowplan::inference {

/// How KV gets from a prefill worker of that layout to a decode worker: over NVLink where one
/// domain holds both, else by the NICs of the prefill worker's GPUs. Of a layout that keeps copies
/// of a key one is sent. `layer_wise`: layers are sent as they are computed.
[[nodiscard]] KvTransfer kv_transfer(const catalog::Instance& system, const catalog::Gpu& gpu,
                                     const model::Transformer& model, const Layout& prefill,
                                     const Layout& decode, const KvGeometry& decode_kv,
                                     bool layer_wise);

}  // namespace flowplan::inference
