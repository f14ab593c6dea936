#include "flowplan/model/checkpoint_index.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "real.hpp"

namespace flowplan::model {

namespace {

using Json = nlohmann::ordered_json;
using Agreement = CheckpointCheck::Agreement;

/// Fewest bytes of a quantised parameter: 2 bits.
constexpr double least_quantised_bytes = 0.25;

/// What the names in a weight map tell.
struct StoredNames {
  std::int64_t layers = 0;  ///< 1 + the largest layer number; 0 when none is named
  bool any = false;
  bool output = false;          ///< an output matrix of its own
  std::int64_t embeddings = 0;  ///< copies of the embedding and output within layers
  bool quantised = false;       ///< scales or packed weights beside the weights
};

bool ends_in(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// The layer number in "model.layers.12.mlp.weight", "h.12.ln_1.bias" or "blocks.12...".
std::optional<std::int64_t> layer_number(std::string_view name) {
  constexpr std::array<std::string_view, 3> lists{"layers.", "h.", "blocks."};
  for (const std::string_view list : lists) {
    const std::size_t at = name.find(list);
    if (at == std::string_view::npos || (at > 0 && name[at - 1] != '.')) continue;
    std::int64_t number = 0;
    const char* begin = name.data() + at + list.size();
    const auto [end, failure] = std::from_chars(begin, name.data() + name.size(), number);
    if (failure == std::errc() && end != begin && number >= 0) return number;
  }
  return std::nullopt;
}

StoredNames read_stored_names(const Json& weight_map) {
  constexpr std::array<std::string_view, 7> marks{
      ".weight_scale",  ".weight_scale_inv", "_blocks", ".qweight",
      ".weight_packed", ".input_scale",      ".absmax"};
  StoredNames names;
  for (const auto& item : weight_map.items()) {
    const std::string_view name = item.key();
    names.any = true;
    const auto number = layer_number(name);
    if (number) names.layers = std::max(names.layers, *number + 1);
    names.output = names.output || name == "lm_head.weight";
    const bool copy =
        ends_in(name, ".embed_tokens.weight") || ends_in(name, ".shared_head.head.weight");
    if (number && copy) ++names.embeddings;
    names.quantised =
        names.quantised || std::any_of(marks.begin(), marks.end(),
                                       [&](std::string_view mark) { return ends_in(name, mark); });
  }
  return names;
}

/// Bytes of an element type as PyTorch names it; nothing when it is not known.
std::optional<double> dtype_bytes(std::string_view dtype) {
  constexpr std::string_view prefix = "torch.";
  if (dtype.substr(0, prefix.size()) == prefix) dtype.remove_prefix(prefix.size());
  if (dtype == "bfloat16" || dtype == "float16" || dtype == "half") return 2.0;
  if (dtype == "float32" || dtype == "float") return 4.0;
  if (dtype == "float64" || dtype == "double") return 8.0;
  return std::nullopt;
}

std::string stated_text(const Json& node, const char* key) {
  return node.contains(key) && node.at(key).is_string() ? node.at(key).get<std::string>() : "";
}

/// The config's element type; empty when it says none.
std::string element_type(const Json& config) {
  const std::string older = stated_text(config, "torch_dtype");
  return older.empty() ? stated_text(config, "dtype") : older;
}

/// How the checkpoint is quantised; empty when it is not.
std::string quantisation(const Json& config, const StoredNames& names) {
  if (const auto stated = config.find("quantization_config");
      stated != config.end() && stated->is_object()) {
    const std::string method = stated_text(*stated, "quant_method");
    return method.empty() ? "a method that the config does not name" : method;
  }
  return names.quantised ? "its weight map names scales" : "";
}

/// The number at `/metadata/<key>`, > 0; a fault when it is something else.
std::optional<double> metadata_number(const JsonDocument& index, const char* key, bool needed,
                                      Diagnostics& faults) {
  const Json& metadata = index.root().at("metadata");
  const auto found = metadata.find(key);
  const std::string pointer = child_pointer("/metadata", key);
  if (found == metadata.end()) {
    if (needed) {
      faults.push_back(error(Code::missing_key, index.place("/metadata"),
                             fmt::format("the key `{}` is missing", key),
                             "a safetensors index states the bytes of all tensors there"));
    }
    return std::nullopt;
  }
  if (!found->is_number()) {
    faults.push_back(error(Code::wrong_type, index.place(pointer),
                           fmt::format("`{}`: expected a whole number", key)));
    return std::nullopt;
  }
  const double number = found->get<double>();
  if (number < 1.0 || number != std::floor(number)) {
    faults.push_back(
        error(Code::value_out_of_range, index.place(pointer),
              fmt::format("`{}` is {}, expected a whole number above 0", key, found->dump())));
    return std::nullopt;
  }
  return number;
}

/// Faults of the index's shape; empty when `metadata` and `weight_map` are what they should be.
Diagnostics shape_faults(const JsonDocument& index) {
  const Json& root = index.root();
  if (!root.is_object() || (!root.contains("metadata") && !root.contains("weight_map"))) {
    return {error(Code::wrong_kind_of_file, index.place(""),
                  "this is not the index of a safetensors checkpoint",
                  "expected `metadata` and `weight_map`")};
  }
  Diagnostics faults;
  for (const char* key : {"metadata", "weight_map"}) {
    if (!root.contains(key)) {
      faults.push_back(error(Code::missing_key, index.place(""),
                             fmt::format("the key `{}` is missing", key),
                             "a safetensors index has `metadata` and `weight_map`"));
    } else if (!root.at(key).is_object()) {
      faults.push_back(error(Code::wrong_type, index.place(child_pointer("", key)),
                             fmt::format("`{}`: expected an object", key)));
    }
  }
  return faults;
}

/// Parameters that a checkpoint with these names holds if it is the model's.
double parameters_with_copies(const Transformer& model, const StoredNames& names) {
  const Parameters p = count_parameters(model);
  const double matrix = real(model.vocab) * real(model.hidden);
  double n = p.total;
  if (model.tied_embeddings && names.output) n += matrix;
  if (model.mtp_layers > 0 && names.layers > model.layers) {
    n += p.mtp + real(names.embeddings) * matrix;
  }
  return n;
}

std::string grouped(double count) {
  std::string digits = fmt::format("{:.0f}", count);
  for (std::size_t at = digits.size(); at > 3; at -= 3)
    digits.insert(at - 3, 1, ',');
  return digits;
}

/// ", which names 16 layers, not the config's 32", or nothing.
std::string layers_remark(const Transformer& model, const StoredNames& names) {
  const bool with_mtp = names.layers == model.layers + model.mtp_layers;
  if (names.layers == 0 || names.layers == model.layers || with_mtp) return "";
  return fmt::format("; its weight map names {} layers, the config {}", names.layers, model.layers);
}

void compare_quantised(const std::string& method, double widest, CheckpointCheck& check) {
  const double each = check.size.value() / check.counted;
  const bool possible =
      each >= least_quantised_bytes && each <= widest * (1.0 + checkpoint_tolerance);
  check.agreement = possible ? Agreement::not_comparable : Agreement::differs;
  check.explanation = fmt::format(
      "{} holds quantised weights ({}): {} bytes for the {} parameters that the config gives, "
      "{:.3g} "
      "bytes each, {}",
      check.file, method, grouped(check.size.value()), grouped(check.counted), each,
      possible ? "so the count is not checked against it" : "which no quantisation explains");
}

void compare_counts(const Transformer& model, const StoredNames& names, CheckpointCheck& check) {
  const double off = check.counted / check.stored - 1.0;
  if (check.stored == check.counted) {
    check.agreement = Agreement::equal;
    check.explanation = fmt::format("{} holds {} parameters, exactly what the config gives",
                                    check.file, grouped(check.stored));
    return;
  }
  check.agreement = std::abs(off) <= checkpoint_tolerance ? Agreement::close : Agreement::differs;
  check.explanation = fmt::format("{} holds {} parameters, but the config gives {} ({:+.3g} %){}",
                                  check.file, grouped(check.stored), grouped(check.counted),
                                  100.0 * off, layers_remark(model, names));
}

}  // namespace

Result<CheckpointCheck> check_checkpoint(const Transformer& model, const JsonDocument& config,
                                         const JsonDocument& index) {
  Diagnostics faults = shape_faults(index);
  if (!faults.empty()) return fail(std::move(faults));
  const auto size = metadata_number(index, "total_size", true, faults);
  const auto parameters = metadata_number(index, "total_parameters", false, faults);
  if (!faults.empty()) return fail(std::move(faults));

  const StoredNames names = read_stored_names(index.root().at("weight_map"));
  const std::string dtype = element_type(config.root());
  const auto bytes = dtype_bytes(dtype);
  CheckpointCheck check;
  check.file = index.file();
  check.size = Bytes(*size);
  check.counted = parameters_with_copies(model, names);
  const std::string method = quantisation(config.root(), names);
  if (!method.empty()) {
    compare_quantised(method, bytes.value_or(dtype_bytes("float32").value()), check);
  } else if (parameters || bytes) {
    check.stored = parameters ? *parameters : *size / *bytes;
    compare_counts(model, names, check);
  } else {
    check.explanation = fmt::format(
        "{} holds {} bytes, but the config has {}, so the count is not checked against it",
        check.file, grouped(*size),
        dtype.empty() ? std::string("no `torch_dtype`")
                      : fmt::format("the unknown `torch_dtype` {}", dtype));
  }
  return check;
}

}  // namespace flowplan::model
