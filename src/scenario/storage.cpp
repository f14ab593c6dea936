#include "flowplan/scenario/storage.hpp"

#include <nlohmann/json.hpp>

#include "flowplan/base/parse_quantity.hpp"
#include "storage_reader.hpp"

namespace flowplan::scenario {

namespace {

using StorageJson = nlohmann::ordered_json;

/// Reads the section; the schema has been followed.
class StorageReader {
 public:
  StorageReader(const catalog::Catalog& catalog, PlacedFaults& faults)
      : catalog_(catalog), faults_(faults) {}

  StorageSection read(const StorageJson& json) {
    StorageSection section;
    if (const auto found = json.find("dataset"); found != json.end())
      section.dataset = dataset(*found, "/storage/dataset");
    if (const auto found = json.find("checkpoint"); found != json.end())
      section.checkpoint = checkpoint(*found, "/storage/checkpoint");
    if (const auto found = json.find("weights"); found != json.end())
      section.weights = weights(*found, "/storage/weights");
    return section;
  }

 private:
  template <class T>
  std::optional<T> quantity(const StorageJson& json, const std::string& here, const char* key,
                            Result<T> (*parse)(std::string_view)) {
    const auto found = json.find(key);
    if (found == json.end()) return std::nullopt;
    return faults_.take(parse(found->get<std::string>()), child_pointer(here, key));
  }

  storage::Mount mount(const StorageJson& json, const std::string& here) {
    storage::Mount mount;
    const auto service =
        faults_.take(catalog_.storage(json.value("service", "")), here + "/service");
    if (!service) return mount;
    mount.service = *service;
    mount.access = storage::find_access(json.value("access", "ena")).value_or(mount.access);
    if (json.contains("capacity")) {
      const auto typed = faults_.take(
          storage::parse_capacity(json["capacity"].get<std::string>(), **service, mount.access),
          here + "/capacity");
      if (typed) mount.capacity = typed->capacity;
    }
    mount.throughput =
        quantity(json, here, "throughput", parse_bandwidth).value_or(BytesPerSecond());
    mount.metadata_iops = json.value("metadata_iops", 0.0);
    mount.prefixes = json.value("prefixes", 1);
    mount.connections = json.value("connections", 0);
    mount.burst = json.value("burst", false);
    return mount;
  }

  const catalog::DataLoader* loader(const StorageJson& json, const std::string& here,
                                    const char* key) {
    const auto found = json.find(key);
    if (found == json.end()) return nullptr;
    return faults_.take(catalog_.data_loader(found->get<std::string>()), child_pointer(here, key))
        .value_or(nullptr);
  }

  DatasetSection dataset(const StorageJson& json, const std::string& here) {
    DatasetSection section;
    if (json.contains("store")) section.mount = mount(json["store"], here + "/store");
    section.bytes_per_token = json.value("bytes_per_token", section.bytes_per_token);
    section.sample = quantity(json, here, "sample_size", parse_bytes);
    section.file = quantity(json, here, "file_size", parse_bytes).value_or(Bytes());
    section.bytes = quantity(json, here, "size", parse_bytes);
    section.objects = json.value("objects", 0.0);
    section.lazy_load = json.value("lazy_load", false);
    section.rates.bytes =
        quantity(json, here, "import_rate", parse_bandwidth).value_or(BytesPerSecond());
    section.rates.objects_per_s = json.value("import_objects_per_s", 0.0);
    section.loader = loader(json, here, "loader");
    if (section.sample && json.contains("bytes_per_token"))
      faults_.add(Code::bad_storage, here + "/sample_size",
                  "`sample_size` and `bytes_per_token` say the same: give one of them");
    if (section.lazy_load && section.mount.service != nullptr &&
        section.mount.service->kind != catalog::StorageKind::lustre)
      faults_.add(Code::bad_storage, here + "/lazy_load",
                  section.mount.service->id + " does not load lazily from S3",
                  "FSx for Lustre does");
    return section;
  }

  WeightsSection weights(const StorageJson& json, const std::string& here) {
    WeightsSection section;
    if (json.contains("store")) section.mount = mount(json["store"], here + "/store");
    section.loader = loader(json, here, "loader");
    section.engine_start = quantity(json, here, "engine_start", parse_duration);
    section.presharded = json.value("presharded", true);
    return section;
  }

  SavesSection checkpoint(const StorageJson& json, const std::string& here) {
    SavesSection section;
    if (json.contains("store")) section.mount = mount(json["store"], here + "/store");
    section.mode = storage::find_save_mode(json.value("mode", "async")).value_or(section.mode);
    section.local = json.value("local_disks_first", false);
    section.exported = json.value("export_to_s3", false);
    section.export_rate =
        quantity(json, here, "export_rate", parse_bandwidth).value_or(BytesPerSecond());
    section.bytes = quantity(json, here, "size", parse_bytes);
    section.host_memory = quantity(json, here, "host_memory", parse_bytes);
    section.copies = json.value("staged_copies", 1);
    section.weight_readers = json.value("weight_readers", 1.0);
    section.saver = loader(json, here, "saver");
    if (const auto every = json.find("every"); every != json.end()) {
      if (every->is_number_integer()) {
        section.every_steps = every->get<std::int64_t>();
      } else {
        section.every = quantity(json, here, "every", parse_duration);
        if (section.every && section.every->value() <= 0.0)
          faults_.add(Code::value_out_of_range, here + "/every", "`every` has to be above 0");
      }
    }
    return section;
  }

  const catalog::Catalog& catalog_;
  PlacedFaults& faults_;
};

}  // namespace

StorageSection read_storage(const catalog::Catalog& catalog, const JsonDocument& document,
                            PlacedFaults& faults) {
  return StorageReader(catalog, faults).read(document.root().at("storage"));
}

}  // namespace flowplan::scenario
