#include "io_request.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "flowplan/base/parse_quantity.hpp"
#include "flowplan/model/memory.hpp"
#include "flowplan/model/precision.hpp"
#include "flowplan/model/transformer.hpp"

namespace flowplan::cli {

namespace {

constexpr int most_prefixes = 1000000;
constexpr int most_replica_gpus = 1000000;

constexpr std::array io_names{std::pair{IoOperation::read, std::string_view("read")},
                              std::pair{IoOperation::write, std::string_view("write")},
                              std::pair{IoOperation::dataset, std::string_view("dataset")},
                              std::pair{IoOperation::first_epoch, std::string_view("first-epoch")},
                              std::pair{IoOperation::checkpoint, std::string_view("checkpoint")},
                              std::pair{IoOperation::restore, std::string_view("restore")},
                              std::pair{IoOperation::load, std::string_view("load")},
                              std::pair{IoOperation::import_data, std::string_view("import")},
                              std::pair{IoOperation::export_data, std::string_view("export")}};

/// Reads options and gathers what is wrong with them.
class IoOptions {
 public:
  explicit IoOptions(const Arguments& arguments) : arguments_(arguments) {}

  template <class T>
  T value(std::string_view name, Result<T> (*parse)(std::string_view), T otherwise = {}) {
    const auto text = arguments_.value(name);
    if (!text) return otherwise;
    auto parsed = parse(*text);
    if (parsed) return *parsed;
    for (Diagnostic& fault : parsed.error()) {
      fault.message = fmt::format("--{}: {}", name, fault.message);
      faults.push_back(std::move(fault));
    }
    return otherwise;
  }
  int whole(std::string_view name, int least, int most, int otherwise) {
    const auto found = int_option(arguments_, name, least, most);
    if (found) return found->value_or(otherwise);
    faults.insert(faults.end(), found.error().begin(), found.error().end());
    return otherwise;
  }
  template <class T>
  T take(Result<T> result, T otherwise = {}) {
    if (result) return std::move(*result);
    faults.insert(faults.end(), result.error().begin(), result.error().end());
    return otherwise;
  }
  void missing(std::string what, std::string hint) {
    faults.push_back(error(Code::usage, std::move(what), std::move(hint)));
  }

  Diagnostics faults;

 private:
  const Arguments& arguments_;
};

/// What a checkpoint keeps, by the name of the training states.
Result<double> state_bytes(const Arguments& arguments) {
  const std::string state = arguments.value("state").value_or("bf16");
  if (state == "bf16") return storage::checkpoint_bytes_per_parameter(model::bf16_states());
  if (state == "fp16") return storage::checkpoint_bytes_per_parameter(model::fp16_states());
  if (state == "fp32") return storage::checkpoint_bytes_per_parameter(model::fp32_states());
  if (state == "lean-bf16")
    return storage::checkpoint_bytes_per_parameter(model::lean_bf16_states());
  if (state == "fp8") return storage::checkpoint_bytes_per_parameter(model::fp8_states(false));
  return storage::checkpoint_bytes_per_parameter(model::bf16_states(), true);
}

/// --model, or --parameters.
Result<double> parameters_of(const Arguments& arguments, const catalog::Catalog& catalog) {
  if (const auto count = arguments.value("parameters")) return parse_count(*count);
  const auto name = arguments.value("model");
  if (!name) return 0.0;
  const auto model = catalog.transformer(*name);
  if (!model) return fail(model.error());
  return model::count_parameters(**model).total;
}

void read_checkpoint(const Arguments& arguments, double parameters,
                     const catalog::DataLoader* loader, const catalog::Catalog& catalog,
                     IoOptions& options, IoRequest& request) {
  storage::CheckpointPlan& plan = request.checkpoint;
  plan.bytes = request.bytes;
  const double per_parameter = options.take(state_bytes(arguments), 0.0);
  if (plan.bytes.value() <= 0.0) plan.bytes = Bytes(parameters * per_parameter);
  if (plan.bytes.value() <= 0.0)
    options.missing("a checkpoint needs a size", "--model, --parameters or --bytes");
  plan.weights = Bytes(parameters * model::bf16_states().weight);
  plan.mode = arguments.has("async") ? storage::SaveMode::async : storage::SaveMode::sync;
  plan.sharded = !arguments.has("unsharded");
  plan.staged_copies = options.whole("copies", 1, 16, 1);
  plan.weight_readers = options.whole("readers", 1, most_replica_gpus, 1);
  plan.saver = loader;
  plan.export_rate = request.rates.bytes;
  const auto extra = [&](const char* service) -> std::optional<storage::Mount> {
    const auto found = catalog.storage(service);
    if (!found) return std::nullopt;
    storage::Mount mount;
    mount.service = *found;
    return mount;
  };
  if (arguments.has("local")) plan.first = extra("local-nvme");
  if (arguments.has("export")) plan.export_to = extra("s3");
}

void read_stream(const Arguments& arguments, const storage::Clients& clients,
                 const catalog::DataLoader* loader, const catalog::Catalog& catalog,
                 IoOptions& options, IoRequest& request) {
  storage::StreamPlan& plan = request.stream;
  if (const auto name = arguments.value("demand"))
    plan.demand = options.take(storage::benchmark_demand(*clients.defaults, *name));
  plan.demand.sample = options.value("sample", parse_bytes, plan.demand.sample);
  plan.demand.samples_per_step =
      options.value("samples-per-step", parse_count, plan.demand.samples_per_step);
  plan.demand.step = options.value("step", parse_duration, plan.demand.step);
  if (plan.demand.sample.value() <= 0.0)
    options.missing("a dataset needs a demand",
                    "--demand unet3d, resnet50 or cosmoflow; or --sample, --samples-per-step and "
                    "--step");
  plan.file = options.value("file-size", parse_bytes);
  plan.dataset = request.bytes;
  plan.loader = loader;
  if (!arguments.has("cache")) return;
  storage::Mount cache;
  const auto found = catalog.storage("local-nvme");
  if (!found) return;
  cache.service = *found;
  plan.cache = cache;
}

void read_load(const Arguments& arguments, double parameters, const storage::Clients& clients,
               const catalog::DataLoader* loader, IoOptions& options, IoRequest& request) {
  storage::LoadPlan& plan = request.load;
  plan.weights = request.bytes;
  const std::string precision = arguments.value("precision").value_or("bf16");
  const auto format = model::find_precision(precision);
  if (!format) {
    options.missing(fmt::format("--precision {}: no such format", precision),
                    "bf16, fp8, mxfp8, nvfp4 and so on");
  } else if (plan.weights.value() <= 0.0) {
    plan.weights = Bytes(parameters * model::bytes_per_element(*format));
  }
  if (plan.weights.value() <= 0.0)
    options.missing("a model load needs weights", "--model, --parameters or --bytes");
  plan.ranks = options.whole("tp", 1, most_replica_gpus, clients.gpus_per_node);
  plan.presharded = !arguments.has("unsharded");
  plan.loader = loader;
  plan.engine_start = options.value("engine-start", parse_duration,
                                    Seconds(clients.defaults->at("load.engine_start_s")));
}

report::IoPart part_of_save(const storage::CheckpointPlan& plan,
                            const storage::CheckpointTimes& times) {
  report::IoPart part{
      "save",
      fmt::format("Save, {}",
                  plan.mode == storage::SaveMode::sync ? "synchronous" : "asynchronous"),
      {}};
  storage::Answer& answer = part.answer;
  answer.feasible = times.fits;
  answer.why_not = times.does_not_fit;
  answer.bytes = times.bytes;
  answer.warnings = times.warnings;
  answer.details = {{"bytes_per_node", "a node writes", times.per_node.value(), "B"}};
  if (times.staged.value() > 0.0)
    answer.details.push_back(
        {"staged_bytes_per_node", "staged in host memory", times.staged.value(), "B"});
  if (times.room)
    answer.details.push_back({"staging_room_bytes", "room for staging", times.room->value(), "B"});
  if (!times.fits) return part;
  answer.time = times.persist;
  if (times.persist.value() > 0.0) answer.rate = times.bytes / times.persist;
  answer.breakdown = times.persist_time;
  answer.limit = times.save_limit;
  answer.next = times.save_next;
  answer.next_time = times.save_next_time;
  answer.limits = times.save_limits;
  answer.details.push_back({"stall_s", "training waits", times.stall.value(), "s"});
  if (times.exported)
    answer.details.push_back({"exported_s", "in the object store", times.exported->value(), "s"});
  return part;
}

report::IoPart part_of_restore(const storage::CheckpointTimes& times) {
  report::IoPart part{"restore", "Restore", {}};
  storage::Answer& answer = part.answer;
  answer.feasible = times.fits;
  answer.why_not = times.does_not_fit;
  if (!times.fits) return part;
  answer.bytes = times.bytes;
  answer.time = times.restore;
  if (times.restore.value() > 0.0) answer.rate = times.bytes / times.restore;
  answer.breakdown = times.restore_time;
  answer.limit = times.restore_limit;
  answer.next = times.restore_next;
  answer.next_time = times.restore_next_time;
  answer.limits = times.restore_limits;
  if (times.restore_local)
    answer.details.push_back(
        {"restore_local_s", "from inside the nodes", times.restore_local->value(), "s"});
  return part;
}

Result<std::vector<report::IoPart>> one_part(const char* id, const char* title,
                                             Result<storage::Answer> answer) {
  if (!answer) return fail(std::move(answer.error()));
  return std::vector<report::IoPart>{{id, title, std::move(*answer)}};
}

Result<storage::Answer> plain(const storage::Clients& clients, const IoRequest& request,
                              const storage::Mount& mount) {
  storage::Pattern pattern = request.pattern;
  pattern.direction = request.operation == IoOperation::write ? storage::Direction::write
                                                              : storage::Direction::read;
  auto found = storage::path(clients, mount, pattern);
  if (!found) return fail(std::move(found.error()));
  const storage::Movement movement{"io", std::move(*found), clients.nodes,
                                   request.bytes / static_cast<double>(clients.nodes)};
  return storage::answer_of("io.transfer", "transfer", movement);
}

}  // namespace

std::optional<IoOperation> find_io_operation(std::string_view name) {
  for (const auto& [operation, text] : io_names) {
    if (text == name) return operation;
  }
  return std::nullopt;
}

Result<IoRequest> io_request(const Arguments& arguments, const catalog::Catalog& catalog,
                             const storage::Clients& clients) {
  IoRequest request;
  const auto operation = find_io_operation(arguments.positionals[0]);
  if (!operation) {
    std::vector<std::string> known;
    for (const auto& [unused, text] : io_names)
      known.emplace_back(text);
    return fail(error(Code::usage,
                      fmt::format("there is no operation `{}`", arguments.positionals[0]),
                      suggest(arguments.positionals[0], known)));
  }
  request.operation = *operation;
  IoOptions options(arguments);
  request.bytes = options.value("bytes", parse_bytes);
  request.objects = options.value("objects", parse_count);
  request.rates.bytes = options.value("repository-rate", parse_bandwidth);
  request.rates.objects_per_s = options.value("repository-objects", parse_count);
  request.pattern.file = options.value("file-size", parse_bytes);
  request.pattern.files = request.objects;
  request.pattern.stripes = static_cast<std::uint64_t>(options.whole("stripes", 1, 2000, 0));
  const catalog::DataLoader* loader = nullptr;
  if (const auto name = arguments.value("loader"))
    loader = options.take(catalog.data_loader(*name));
  request.pattern.loader = loader;
  const double parameters = options.take(parameters_of(arguments, catalog), 0.0);

  switch (request.operation) {
    case IoOperation::checkpoint:
    case IoOperation::restore:
      read_checkpoint(arguments, parameters, loader, catalog, options, request);
      break;
    case IoOperation::dataset:
      read_stream(arguments, clients, loader, catalog, options, request);
      break;
    case IoOperation::load:
      read_load(arguments, parameters, clients, loader, options, request);
      break;
    case IoOperation::first_epoch:
      request.first_epoch.bytes = request.bytes;
      request.first_epoch.objects = request.objects;
      request.first_epoch.rates = request.rates;
      request.first_epoch.computing = options.value("computing", parse_duration);
      [[fallthrough]];
    default:
      if (request.bytes.value() <= 0.0) options.missing("how much is moved?", "--bytes 10TB");
  }
  if (!options.faults.empty()) return fail(std::move(options.faults));
  return request;
}

Result<storage::Mount> io_mount(const Arguments& arguments, const catalog::Catalog& catalog,
                                std::string& read_as) {
  IoOptions options(arguments);
  const auto name = arguments.value("storage");
  if (!name)
    return fail(error(Code::usage, "a storage service is needed",
                      "for example --storage fsx-persistent2-1000 --capacity 4800GiB, or s3; "
                      "`flowplan catalog list --kind storage` shows them"));
  const auto service = catalog.storage(*name);
  if (!service) return fail(service.error());
  storage::Mount mount;
  mount.service = *service;
  const int ways = static_cast<int>(arguments.has("ena")) + static_cast<int>(arguments.has("efa")) +
                   static_cast<int>(arguments.has("gds"));
  if (ways > 1) options.missing("only one of --ena, --efa and --gds", "they exclude each other");
  if (arguments.has("efa")) mount.access = storage::Access::efa;
  if (arguments.has("gds")) mount.access = storage::Access::gds;
  if (const auto text = arguments.value("capacity")) {
    const auto typed = storage::parse_capacity(*text, **service, mount.access);
    if (typed) {
      mount.capacity = typed->capacity;
      read_as = typed->read_as;
    } else {
      options.faults.insert(options.faults.end(), typed.error().begin(), typed.error().end());
    }
  }
  mount.throughput = options.value("throughput", parse_bandwidth);
  mount.metadata_iops = options.whole("metadata-iops", 1, 1 << 20, 0);
  mount.prefixes = options.whole("prefixes", 1, most_prefixes, 1);
  mount.connections = options.whole("connections", 1, most_prefixes, 0);
  mount.burst = arguments.has("burst");
  if (!options.faults.empty()) return fail(std::move(options.faults));
  return mount;
}

Result<std::vector<report::IoPart>> io_parts(const storage::Clients& clients,
                                             const IoRequest& request,
                                             const storage::Mount& mount) {
  switch (request.operation) {
    case IoOperation::checkpoint:
    case IoOperation::restore: {
      storage::CheckpointPlan plan = request.checkpoint;
      plan.store = mount;
      const auto times = storage::checkpoint(clients, plan);
      if (!times) return fail(times.error());
      std::vector<report::IoPart> parts;
      if (request.operation == IoOperation::checkpoint) parts.push_back(part_of_save(plan, *times));
      parts.push_back(part_of_restore(*times));
      return parts;
    }
    case IoOperation::dataset: {
      storage::StreamPlan plan = request.stream;
      plan.source = mount;
      return one_part("dataset", "Data of a step", storage::stream(clients, plan));
    }
    case IoOperation::first_epoch: {
      storage::FirstEpoch plan = request.first_epoch;
      plan.file_system = mount;
      return one_part("first_epoch", "First epoch", storage::first_epoch(clients, plan));
    }
    case IoOperation::load: {
      storage::LoadPlan plan = request.load;
      plan.store = mount;
      return one_part("load", "Model load", storage::load_model(clients, plan));
    }
    case IoOperation::import_data:
      return one_part("import", "Import from S3",
                      storage::move_repository(clients, mount, storage::Direction::read,
                                               request.rates, request.bytes, request.objects));
    case IoOperation::export_data:
      return one_part("export", "Export to S3",
                      storage::move_repository(clients, mount, storage::Direction::write,
                                               request.rates, request.bytes, request.objects));
    case IoOperation::read:
    case IoOperation::write:
      break;
  }
  const bool reads = request.operation == IoOperation::read;
  return one_part(reads ? "read" : "write", reads ? "Read" : "Write",
                  plain(clients, request, mount));
}

}  // namespace flowplan::cli
