#include "model_reader.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/model/read_config.hpp"

namespace flowplan::scenario {

namespace {

using ModelJson = nlohmann::ordered_json;

constexpr std::string_view model_pointer = "/workload/model";

/// "llama" for "llama.config.json", and the folder's name for a plain "config.json".
std::string config_name(const std::filesystem::path& path) {
  const std::string folder = path.parent_path().filename().string();
  const bool plain = path.filename() == "config.json" && !folder.empty() && folder[0] != '.';
  return plain ? folder : path.stem().stem().string();
}

model::Transformer model_of_config(const JsonDocument& scenario, const std::string& name,
                                   PlacedFaults& faults,
                                   std::optional<model::CheckpointCheck>& checkpoint) {
  namespace fs = std::filesystem;
  const fs::path path = fs::path(scenario.file()).parent_path() / name;
  auto text = JsonDocument::read(path.string());
  if (!text && text.error().front().code == Code::file_not_found) {
    faults.add(Code::file_not_found, model_pointer, fmt::format("no such file: {}", path.string()),
               text.error().front().hint);
    return {};
  }
  const auto document = faults.take(std::move(text), model_pointer);
  if (!document) return {};
  const auto read = faults.take(model::read_config(*document, config_name(path)), model_pointer);
  if (!read) return {};
  const fs::path index_path = path.parent_path() / model::checkpoint_index_name;
  if (std::error_code ignored; fs::exists(index_path, ignored)) {
    if (const auto index = faults.take(JsonDocument::read(index_path.string()), model_pointer))
      checkpoint = faults.take(model::check_checkpoint(*read, *document, *index), model_pointer);
  }
  return *read;
}

model::Transformer model_of_dimensions(const ModelJson& json, PlacedFaults& faults) {
  model::Transformer t;
  t.name = json.value("name", "model");
  t.layers = json.at("layers");
  t.hidden = json.at("hidden");
  t.heads = json.at("heads");
  t.vocab = json.at("vocab");
  t.ffn = json.value("ffn", 4 * t.hidden);
  t.kv_heads = json.value("kv_heads", t.heads);
  t.head_dim = json.value("head_dim", t.hidden / t.heads);
  t.context = json.value("context", std::int64_t{0});
  t.gated_mlp = json.value("gated_mlp", json.contains("ffn"));
  t.tied_embeddings = json.value("tied_embeddings", false);
  if (!json.contains("head_dim") && t.hidden % t.heads != 0) {
    faults.add(Code::not_divisible, "/workload/model/heads",
               fmt::format("{} heads do not divide the hidden width {}", t.heads, t.hidden),
               "state `head_dim` where it is not hidden / heads");
  }
  if (t.heads % t.kv_heads != 0) {
    faults.add(Code::not_divisible, "/workload/model/kv_heads",
               fmt::format("{} key-value heads do not divide {} heads", t.kv_heads, t.heads));
  }
  return t;
}

/// Whether a name is a folder with a config.json in it; a model of the catalog goes before.
bool is_model_folder(const JsonDocument& scenario, const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  return fs::exists(fs::path(scenario.file()).parent_path() / name / "config.json", ignored);
}

}  // namespace

model::Transformer read_model(const catalog::Catalog& catalog, const JsonDocument& document,
                              PlacedFaults& faults,
                              std::optional<model::CheckpointCheck>& checkpoint) {
  const ModelJson& json = document.root()["workload"]["model"];
  if (json.is_object()) return model_of_dimensions(json, faults);
  const std::string name = json.get<std::string>();
  if (name.ends_with(".json")) return model_of_config(document, name, faults, checkpoint);
  if (!catalog.transformer(name) && is_model_folder(document, name))
    return model_of_config(document, (std::filesystem::path(name) / "config.json").string(), faults,
                           checkpoint);
  const auto found = faults.take(catalog.transformer(name), model_pointer);
  return found ? **found : model::Transformer{};
}

}  // namespace flowplan::scenario
