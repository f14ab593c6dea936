// Instance types of EC2's DescribeInstanceTypes as catalog entries.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "ec2_reader.hpp"
#include "flowplan/catalog/import_ec2.hpp"

namespace flowplan::catalog {

namespace {

using TypeJson = Ec2Reader::Json;

constexpr const char* api_source = "ec2_api";
/// Of these EC2 prints what is nominal, and the catalog has what is usable.
constexpr std::string_view kept_figures[] = {"efa_gbps_total"};
/// What the API does not say and other sizes of a GPU have alike.
constexpr std::string_view alike_figures[] = {"nvls_supported",
                                              "hbm_reported_mib_per_gpu",
                                              "hbm_nominal_gb_per_gpu",
                                              "efa_version",
                                              "network_nodes",
                                              "pcie_generation",
                                              "gpudirect_rdma",
                                              "rdma_read",
                                              "rdma_write",
                                              "nitro_version",
                                              "nccl_plugin_latency_us"};
/// The same where both have as many GPUs and network cards.
constexpr std::string_view node_figures[] = {"gpus_per_pcie_switch", "nics_per_pcie_switch",
                                             "nics_per_gpu", "numa_nodes"};

/// "3200 Gigabit", "4x 100 Gigabit", "Up to 100 Gigabit".
std::optional<double> gigabits(std::string_view text) {
  constexpr std::string_view unit = " Gigabit";
  const std::size_t end = text.find(unit);
  if (end == std::string_view::npos) return std::nullopt;
  text = text.substr(0, end);
  double factor = 1.0;
  if (const std::size_t times = text.find("x "); times != std::string_view::npos) {
    if (std::from_chars(text.data(), text.data() + times, factor).ptr != text.data() + times)
      return std::nullopt;
    text.remove_prefix(times + 2);
  }
  double value = 0.0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ptr !=
      text.data() + text.size())
    return std::nullopt;
  return factor * value;
}

/// A GPU by the name and memory that EC2 gives.
const Gpu* gpu_named(const Catalog& catalog, std::string_view name, double mib) {
  constexpr double tolerance = 0.05;  // EC2 prints round numbers
  for (const Gpu& gpu : catalog.gpus()) {
    const bool same = gpu.id.size() >= name.size() && gpu.id.compare(0, name.size(), name) == 0 &&
                      (gpu.id.size() == name.size() || gpu.id[name.size()] == '-');
    if (!same) continue;
    if (std::abs(gpu.hbm_driver_mib.value - mib) <= tolerance * mib) return &gpu;
  }
  return nullptr;
}

/// The entry of a GPU most like a type: those of its family first, of these the most GPUs.
const Instance* most_like(const Catalog& catalog, const std::string& gpu, const std::string& id) {
  const std::string family = id.substr(0, id.find('.') + 1);
  const auto rank = [&](const Instance& one) {
    return std::pair(one.id.starts_with(family), one.gpus);
  };
  const Instance* best = nullptr;
  for (const Instance& one : catalog.instances()) {
    if (one.gpu != gpu || one.kind != InstanceKind::instance) continue;
    if (best == nullptr || rank(one) > rank(*best)) best = &one;
  }
  return best;
}

class TypeImport {
 public:
  TypeImport(const Catalog& catalog, const TypeJson& type, std::string pointer, Ec2Reader& in)
      : catalog_(catalog), type_(type), pointer_(std::move(pointer)), in_(in) {}

  /// The overlay's entry; null where the type gives none.
  TypeJson run(Ec2Import& into, TypeJson& sources) {
    made_.id = in_.text(type_, pointer_, "InstanceType");
    if (made_.id.empty()) return {};
    const TypeJson* gpus = Ec2Reader::find(type_, {"GpuInfo", "Gpus"});
    if (gpus == nullptr || !gpus->is_array() || gpus->empty()) return refuse(into, "it has no GPU");
    if (gpus->size() > 1) return refuse(into, "it has several kinds of GPU");
    const std::string below = pointer_ + "/GpuInfo/Gpus/0";
    const std::string name = in_.text((*gpus)[0], below, "Name");
    gpus_ = in_.number((*gpus)[0], below, "Count");
    const TypeJson* memory = Ec2Reader::find((*gpus)[0], {"MemoryInfo"});
    const double mib =
        memory == nullptr ? 0.0 : in_.number(*memory, below + "/MemoryInfo", "SizeInMiB");
    if (name.empty() || gpus_ < 1.0) return refuse(into, "it has no GPU");
    const Gpu* gpu = gpu_named(catalog_, name, mib);
    if (gpu == nullptr)
      return refuse(into, fmt::format("the catalog has no {} of {:.0f} MiB", name, mib));
    made_.gpu = gpu->id;
    for (const Instance& one : catalog_.instances())
      if (one.id == made_.id) known_ = &one;
    figures_ = TypeJson::object();
    read_figures();
    TypeJson entry;
    entry["id"] = made_.id;
    if (known_ == nullptr) {
      const Instance* like = most_like(catalog_, gpu->id, made_.id);
      if (like == nullptr)
        return refuse(into, fmt::format("the catalog has no EC2 entry of {} to take NVLink, "
                                        "memory and fabric from",
                                        gpu->id));
      made_.like = like->id;
      sources["like_" + like->id] =
          fmt::format("taken from the catalog's {}, which EC2's answer does not say", like->id);
      entry["kind"] = "instance";
      entry["family"] = like->family;
      entry["gpu"] = gpu->id;
      entry["fabric"] = like->fabric;
      entry["collective_profile"] = like->collective_profile;
      take_from(*like);
    } else {
      compare();
    }
    entry["figures"] = std::move(figures_);
    into.types.push_back(std::move(made_));
    return entry;
  }

 private:
  TypeJson refuse(Ec2Import& into, std::string why) {
    into.refused.push_back({made_.id, std::move(why)});
    return {};
  }

  void add(const char* name, TypeJson value, const char* note = nullptr) {
    TypeJson figure{
        {"value", std::move(value)}, {"source", api_source}, {"confidence", "vendor_api"}};
    if (note != nullptr) figure["note"] = note;
    figures_[name] = std::move(figure);
    ++made_.figures;
  }

  void add_number(const char* name, std::initializer_list<const char*> keys, double factor = 1.0) {
    const TypeJson* found = Ec2Reader::find(type_, keys);
    if (found == nullptr) return;
    if (found->is_number() && found->get<double>() >= 0.0) {
      const double value = found->get<double>() * factor;
      add(name, value == std::floor(value) ? TypeJson(static_cast<std::int64_t>(value))
                                           : TypeJson(value));
      return;
    }
    std::string pointer = pointer_;
    for (const char* key : keys)
      pointer = child_pointer(pointer, key);
    in_.complain(Code::wrong_type, pointer, "expected a number from 0");
  }

  void add_list(const char* name, std::initializer_list<const char*> keys) {
    const TypeJson* found = Ec2Reader::find(type_, keys);
    if (found == nullptr || !found->is_array()) return;
    std::vector<std::string> words;
    for (const TypeJson& word : *found)
      if (word.is_string()) words.push_back(word.get<std::string>());
    std::sort(words.begin(), words.end());
    if (!words.empty()) add(name, fmt::format("{}", fmt::join(words, ", ")));
  }

  void read_figures() {
    constexpr double mega_in_giga = 1e-3;
    add("gpus", static_cast<std::int64_t>(gpus_));
    add_number("vcpus", {"VCpuInfo", "DefaultVCpus"});
    add_number("physical_cores", {"VCpuInfo", "DefaultCores"});
    add_number("host_memory_mib", {"MemoryInfo", "SizeInMiB"});
    add_number("nvme_total_gb", {"InstanceStorageInfo", "TotalSizeInGB"});
    if (const TypeJson* disks = Ec2Reader::find(type_, {"InstanceStorageInfo", "Disks"});
        disks != nullptr && disks->is_array() && disks->size() == 1) {
      for (const auto& [name, key] :
           {std::pair{"nvme_devices", "Count"}, std::pair{"nvme_device_gb", "SizeInGB"}}) {
        const TypeJson* found = Ec2Reader::find((*disks)[0], {key});
        if (found != nullptr && found->is_number()) add(name, *found);
      }
    }
    add_number("ebs_gbps", {"EbsInfo", "EbsOptimizedInfo", "MaximumBandwidthInMbps"}, mega_in_giga);
    add_number("ebs_mbytes_per_s", {"EbsInfo", "EbsOptimizedInfo", "MaximumThroughputInMBps"});
    add_number("ebs_iops", {"EbsInfo", "EbsOptimizedInfo", "MaximumIops"});
    add_number("network_cards", {"NetworkInfo", "MaximumNetworkCards"});
    add_number("max_network_interfaces", {"NetworkInfo", "MaximumNetworkInterfaces"});
    add_network();
    add_list("usage_classes", {"SupportedUsageClasses"});
    add_list("placement_group_strategies", {"PlacementGroupInfo", "SupportedStrategies"});
  }

  void add_network() {
    const TypeJson* supported = Ec2Reader::find(type_, {"NetworkInfo", "EfaSupported"});
    if (supported == nullptr || !supported->is_boolean() || !supported->get<bool>()) {
      if (known_ == nullptr)
        figures_["efa_gbps_total"] = {{"value", nullptr},
                                      {"source", api_source},
                                      {"confidence", "not_found"},
                                      {"note", "EFA is not supported"}};
      return;
    }
    add_number("efa_interfaces_max", {"NetworkInfo", "EfaInfo", "MaximumEfaInterfaces"});
    const TypeJson* text = Ec2Reader::find(type_, {"NetworkInfo", "NetworkPerformance"});
    const auto rate = text != nullptr && text->is_string()
                          ? gigabits(text->get_ref<const std::string&>())
                          : std::nullopt;
    if (rate)
      add("efa_gbps_total", *rate, "NetworkPerformance, as printed");
    else if (known_ == nullptr)
      figures_["efa_gbps_total"] = {{"value", nullptr},
                                    {"source", api_source},
                                    {"confidence", "not_found"},
                                    {"note", "NetworkPerformance is not a number of Gigabit"}};
  }

  /// What the catalog says of a type that it has, against EC2.
  void compare() {
    for (const Fact& fact : known_->facts) {
      const auto found = figures_.find(fact.name);
      if (found == figures_.end()) continue;
      const TypeJson& value = found->at("value");
      if (!value.is_number() || !fact.figure.known || !fact.text.empty()) continue;
      const double ec2 = value.get<double>();
      if (ec2 == fact.figure.value) continue;
      const bool kept = std::find(std::begin(kept_figures), std::end(kept_figures), fact.name) !=
                        std::end(kept_figures);
      made_.differences.push_back({fact.name, fact.figure.value, ec2, kept});
    }
    for (const std::string_view name : kept_figures)
      if (const Fact* fact = catalog::find(known_->facts, name); fact != nullptr)
        figures_.erase(std::string(name));
  }

  void take(const Instance& like, std::string_view name) {
    const Fact* fact = catalog::find(like.facts, name);
    if (fact == nullptr || !fact->figure.known || figures_.contains(std::string(name))) return;
    TypeJson value = fact->is_flag         ? TypeJson(fact->figure.value != 0.0)
                     : !fact->text.empty() ? TypeJson(fact->text)
                                           : TypeJson(fact->figure.value);
    figures_[std::string(name)] = {
        {"value", std::move(value)}, {"source", "like_" + like.id}, {"confidence", "inferred"}};
    made_.taken.emplace_back(name);
  }

  void take_from(const Instance& like) {
    const int gpus = static_cast<int>(gpus_);
    // GPUs of one instance share its NVSwitches; only UltraServers go beyond.
    figures_["nvlink_domain_gpus"] = {
        {"value", gpus}, {"source", "like_" + like.id}, {"confidence", "inferred"}};
    made_.taken.emplace_back("nvlink_domain_gpus");
    for (const std::string_view name : alike_figures)
      take(like, name);
    const auto cards = figures_.find("network_cards");
    const bool same_node = like.gpus == gpus && cards != figures_.end() &&
                           cards->at("value") == figure_of(like.facts, "network_cards").value;
    if (!same_node) return;
    for (const std::string_view name : node_figures)
      take(like, name);
  }

  const Catalog& catalog_;
  const TypeJson& type_;
  std::string pointer_;
  Ec2Reader& in_;
  const Instance* known_ = nullptr;
  double gpus_ = 0.0;
  TypeJson figures_;
  ImportedType made_;
};

}  // namespace

void read_instance_types(const Catalog& catalog, const JsonDocument& document, Ec2Reader& in,
                         Ec2Import& into) {
  const TypeJson& list = document.root().at("InstanceTypes");
  TypeJson sources;
  sources[api_source] = fmt::format("EC2 DescribeInstanceTypes, {}", document.file());
  TypeJson entries = TypeJson::array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    TypeJson entry =
        TypeImport(catalog, list[i], child_pointer("/InstanceTypes", i), in).run(into, sources);
    if (entry.is_object()) entries.push_back(std::move(entry));
  }
  if (entries.empty()) return;
  const TypeJson overlay{{"sources", std::move(sources)}, {"instances", std::move(entries)}};
  into.overlay = overlay.dump(2) + "\n";
}

}  // namespace flowplan::catalog
