#include "flowplan/catalog/compare.hpp"

#include <utility>

#include <fmt/format.h>

#include "flowplan/model/memory.hpp"

namespace flowplan::catalog {

namespace {

constexpr std::int64_t shown_seq_len = 8192;

Fact derived(std::string name, double value, std::string note = {}) {
  Fact fact;
  fact.name = std::move(name);
  fact.figure = {value, true, {"arithmetic on the other figures", "derived", std::move(note)}};
  return fact;
}

Sheet instance_sheet(const Catalog& catalog, const Instance& instance) {
  Sheet sheet{instance.id, std::string(name(instance.kind)), instance.name, instance.facts,
              instance.notes};
  if (instance.efa_gbps_total.known) {
    sheet.facts.push_back(
        derived("efa_gbytes_per_s_total", instance.efa_gbps_total.value / 8.0, "8 bits a byte"));
    sheet.facts.push_back(
        derived("efa_gbytes_per_s_per_gpu", instance.efa_per_gpu() / gigabytes_per_second(1.0)));
  }
  if (instance.hbm_reported_mib_per_gpu.known) {
    sheet.facts.push_back(derived("hbm_gb_total",
                                  instance.gpus * (instance.hbm_per_gpu() / gigabytes(1.0)),
                                  "what the driver reports"));
  }
  std::string before;
  for (const Price& price : catalog.prices(instance.id)) {
    if (price.purchase == before) continue;  // the newest stands first
    before = price.purchase;
    Fact fact;
    fact.name = fmt::format("price.{}_usd_per_hour", price.purchase);
    fact.figure = {price.per_hour.value(), true, price.source};
    fact.figure.source.note = fmt::format("{}, {}{}{}", price.region, price.as_of,
                                          price.source.note.empty() ? "" : "; ", price.source.note);
    sheet.facts.push_back(std::move(fact));
  }
  for (const Fact& fact : catalog.gpu_of(instance).facts) {
    sheet.facts.push_back(fact);
    sheet.facts.back().name = "gpu." + fact.name;
  }
  return sheet;
}

Sheet model_sheet(const Catalog& catalog, const model::Transformer& m) {
  Sheet sheet{m.name, "model", m.name, {}, {}};
  const ModelEntry* entry = catalog.model_entry(m.name);
  const auto stated = [&](const char* name, std::int64_t value) {
    Fact fact;
    fact.name = name;
    fact.figure = {static_cast<double>(value), true, entry == nullptr ? Source{} : entry->source};
    sheet.facts.push_back(std::move(fact));
  };
  stated("layers", m.layers);
  stated("hidden", m.hidden);
  stated("ffn", m.ffn);
  stated("heads", m.heads);
  stated("kv_heads", m.kv_heads);
  stated("head_dim", m.head_dim);
  stated("vocab", m.vocab);
  stated("context", m.context);
  if (m.experts) {
    stated("experts", m.experts->count);
    stated("experts_per_token", m.experts->per_token);
    stated("expert_ffn", m.experts->ffn);
    stated("shared_experts", m.experts->shared);
    stated("moe_layers", m.moe_layers());
  }
  if (m.latent_attention) stated("kv_rank", m.latent_attention->kv_rank);
  if (m.sliding_window > 0) stated("sliding_window", m.sliding_window);
  if (m.mtp_layers > 0) stated("mtp_layers", m.mtp_layers);
  const model::Parameters p = model::count_parameters(m);
  sheet.facts.push_back(derived("parameters", p.total, "MTP modules left out"));
  sheet.facts.push_back(derived("active_parameters", p.active, "embeddings included"));
  sheet.facts.push_back(derived("training_gflop_per_token_at_8192",
                                model::training_flops_per_token(m, shown_seq_len).value() / 1e9,
                                "forward and backward, causal attention counted half"));
  sheet.facts.push_back(derived("kv_bytes_per_token_bf16",
                                model::kv_bytes_per_token(m, model::Precision::bf16).value()));
  return sheet;
}

Sheet storage_sheet(const Catalog& catalog, const StorageService& service) {
  Sheet sheet{service.id, "storage", service.name, service.facts, service.notes};
  for (const StoragePrice& price : catalog.storage_prices()) {
    if (price.service != service.id) continue;
    Fact fact;
    fact.name = fmt::format("price.{}_usd.{}", price.item, price.region);
    fact.figure = {price.usd.value(), true, price.source};
    fact.figure.source.note = fmt::format("{}{}{}", price.as_of,
                                          price.source.note.empty() ? "" : "; ", price.source.note);
    sheet.facts.push_back(std::move(fact));
  }
  return sheet;
}

Sheet constants_sheet(const Constants& set) {
  Sheet sheet{set.id(), "constants", set.about(), {}, {}};
  for (const Constants::Entry& entry : set.entries()) {
    Fact fact;
    fact.name = entry.name;
    fact.figure = {entry.values.front(), entry.values.size() == 1, entry.source};
    if (entry.values.size() > 1) fact.text = fmt::format("table of {}", entry.values.size());
    sheet.facts.push_back(std::move(fact));
  }
  return sheet;
}

bool same_value(const Fact& a, const Fact& b) {
  return a.figure.known == b.figure.known && a.figure.value == b.figure.value && a.text == b.text;
}

/// Instances, UltraServers and reference systems are one kind when compared.
bool comparable(const Sheet& a, const Sheet& b) {
  const auto machine = [](const Sheet& s) {
    return s.kind == "instance" || s.kind == "ultraserver" || s.kind == "reference";
  };
  return a.kind == b.kind || (machine(a) && machine(b));
}

}  // namespace

Result<Sheet> sheet(const Catalog& catalog, std::string_view name) {
  const auto instance = catalog.instance(name);
  if (instance) return instance_sheet(catalog, **instance);
  const auto gpu = catalog.gpu(name);
  if (gpu) return Sheet{(*gpu)->id, "gpu", (*gpu)->name, (*gpu)->facts, {}};
  const auto network = catalog.network(name);
  if (network) {
    return Sheet{(*network)->id, "network", (*network)->name, (*network)->facts, (*network)->notes};
  }
  const auto storage = catalog.storage(name);
  if (storage) return storage_sheet(catalog, **storage);
  const auto loader = catalog.data_loader(name);
  if (loader) return Sheet{(*loader)->id, "loader", (*loader)->name, (*loader)->facts, {}};
  const auto model = catalog.transformer(name);
  if (model) return model_sheet(catalog, **model);
  const auto constants = catalog.constants(name);
  if (constants) return constants_sheet(**constants);

  for (const Diagnostics* found :
       {&gpu.error(), &network.error(), &storage.error(), &model.error(), &instance.error()}) {
    if (found->front().code != Code::unknown_name) return fail(*found);
  }
  std::vector<std::string> candidates;
  for (const Instance& i : catalog.instances())
    candidates.push_back(i.id);
  for (const Gpu& g : catalog.gpus())
    candidates.push_back(g.id);
  for (const Network& n : catalog.networks())
    candidates.push_back(n.id);
  for (const StorageService& s : catalog.storage_services())
    candidates.push_back(s.id);
  for (const DataLoader& l : catalog.data_loaders())
    candidates.push_back(l.id);
  for (const ModelEntry& m : catalog.models())
    candidates.push_back(m.id);
  for (std::string& id : catalog.constants_ids())
    candidates.push_back(std::move(id));
  const auto near = nearest(name, candidates);
  return fail(error(
      Code::unknown_name,
      fmt::format("unknown instance, GPU, network, storage, model or constants set `{}`", name),
      near ? fmt::format("did you mean `{}`?", *near) : "`flowplan catalog list` names them all"));
}

Result<Comparison> compare(const Catalog& catalog, std::string_view a, std::string_view b) {
  auto left = sheet(catalog, a);
  auto right = sheet(catalog, b);
  Diagnostics faults;
  if (!left) faults = left.error();
  if (!right) faults.insert(faults.end(), right.error().begin(), right.error().end());
  if (!faults.empty()) return fail(std::move(faults));
  if (!comparable(*left, *right)) {
    return fail(error(Code::value_not_allowed,
                      fmt::format("`{}` is of kind {} and `{}` of kind {}: they cannot be compared",
                                  left->id, left->kind, right->id, right->kind)));
  }
  Comparison comparison{std::move(*left), std::move(*right), {}};
  for (const Fact& fact : comparison.a.facts) {
    Compared line{fact.name, std::string(unit_of(fact.name)), fact, std::nullopt, false};
    if (const Fact* other = find(comparison.b.facts, fact.name)) {
      line.b = *other;
      line.same = same_value(fact, *other);
    }
    comparison.figures.push_back(std::move(line));
  }
  for (const Fact& fact : comparison.b.facts) {
    if (find(comparison.a.facts, fact.name) != nullptr) continue;
    comparison.figures.push_back(
        {fact.name, std::string(unit_of(fact.name)), std::nullopt, fact, false});
  }
  return comparison;
}

}  // namespace flowplan::catalog
