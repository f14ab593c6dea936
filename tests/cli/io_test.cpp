// `flowplan io`: operations, sizing, networks, bad input; scenarios with storage.
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace io_test {

namespace {

using Json = nlohmann::json;

Json answered(std::vector<std::string> args, int code = 0) {
  args.insert(args.begin(), "io");
  args.insert(args.end(), {"--format", "json"});
  const Ran ran = flowplan_run(args);
  INFO(ran.err);
  REQUIRE(ran.code == code);
  return Json::parse(ran.out);
}

std::vector<std::string> on(const char* operation, const char* instance, const char* nodes,
                            std::vector<std::string> more) {
  std::vector<std::string> args{operation, "--instance", instance, "--nodes", nodes};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

void refused(std::vector<std::string> args, int code, const std::string& part) {
  args.insert(args.begin(), "io");
  const Ran ran = flowplan_run(args);
  INFO(ran.out << ran.err);
  CHECK(ran.code == code);
  CHECK(contains(ran.err, part));
}

const Json& scenario_run(const std::vector<std::string>& more, Json& kept) {
  std::vector<std::string> args{"run", "--format", "json"};
  args.insert(args.end(), more.begin(), more.end());
  const Ran ran = flowplan_run(args);
  INFO(ran.err);
  REQUIRE((ran.code == 0 || ran.code == 4));
  kept = Json::parse(ran.out);
  return kept;
}

}  // namespace

TEST_CASE("io: the published read of one p5en, as AWS counts TiB") {
  const Json json = answered(
      on("read", "p5en.48xlarge", "1",
         {"--bytes", "10TB", "--storage", "fsx-persistent2-1000", "--capacity", "96TiB", "--gds"}));
  CHECK(json["parts"][0]["throughput_bytes_per_s"].get<double>() / 1073741824.0 ==
        Approx(94.0).epsilon(0.03));
  CHECK(contains(json["conditions"][0], "96000 GiB"));
  CHECK(json["month"]["usd"].get<double>() == Approx(57600.0));
}

TEST_CASE("io: 405B in FP8 is there in 6 s and serves 20 s later") {
  const Json json = answered(
      on("load", "p5en.48xlarge", "1",
         {"--model", "llama3.1-405b", "--precision", "fp8", "--storage", "fsx-persistent2-1000",
          "--capacity", "96TiB", "--gds", "--loader", "gds-streamer"}));
  const Json& parts = json["parts"][0]["breakdown"]["parts"];
  CHECK(parts[0]["time_s"].get<double>() == Approx(6.09).epsilon(0.02));
  CHECK(parts[1]["time_s"].get<double>() == Approx(20.0));
}

TEST_CASE("io: a checkpoint of 405B, staged, persisted, exported, restored") {
  const Json json =
      answered(on("checkpoint", "p5.48xlarge", "256",
                  {"--model", "llama3.1-405b", "--storage", "fsx-1000", "--capacity", "96000GiB",
                   "--efa", "--async", "--export", "--repository-rate", "20GB/s"}));
  REQUIRE(json["parts"].size() == 2);
  const Json& save = json["parts"][0];
  CHECK(save["bytes"].get<double>() == Approx(14.0 * 405.85e9).epsilon(1e-3));
  CHECK(save["stall_s"].get<double>() < 1.0);
  CHECK(save["time_s"].get<double>() == Approx(57.9).epsilon(0.01));
  CHECK(save["exported_s"].get<double>() > save["time_s"].get<double>() + 280.0);
  CHECK(save["limit"] == "disks of the file system");
  CHECK(json["parts"][1]["id"] == "restore");
}

TEST_CASE("io: a 744B save that does not fit host memory exits with 4 and has no times") {
  const Json json = answered(on("checkpoint", "p6-b200.48xlarge", "16",
                                {"--parameters", "744B", "--storage", "fsx-1000", "--capacity",
                                 "48000GiB", "--efa", "--async", "--host-memory", "780GB"}),
                             4);
  CHECK(json["feasible"] == false);
  CHECK(contains(json["parts"][0]["does_not_fit"], "host memory: staging 651 GB a node"));
  CHECK(json["parts"][0]["time_s"] == 0.0);
}

TEST_CASE("io: sizing finds the smallest file systems, the cheapest first") {
  const Json json =
      answered(on("checkpoint", "p5.48xlarge", "64", {"--model", "llama3-70b", "--target", "30s"}));
  const Json& rows = json["sizing"]["rows"];
  REQUIRE(rows.size() == 5);
  CHECK(rows[0]["storage"] == "fsx-persistent2-1000");
  CHECK(rows[0]["steps"] == 7);
  CHECK(rows[0]["month"]["usd"].get<double>() == Approx(7 * 4800 * 0.6));
  CHECK(rows[0]["time_s"].get<double>() <= 30.0);
  double before = 0.0;
  for (const Json& row : rows) {
    CHECK(row["meets"] == true);
    if (row["month"]["usd"].is_null()) continue;
    CHECK(row["month"]["usd"].get<double>() >= before);
    before = row["month"]["usd"].get<double>();
  }
}

TEST_CASE("io: a target that no file system meets names what binds") {
  const Json json = answered(on("load", "p5.48xlarge", "1",
                                {"--model", "llama3.1-405b", "--precision", "fp8", "--ena",
                                 "--engine-start", "0s", "--target", "5s"}),
                             4);
  CHECK(json["sizing"]["rows"][0]["meets"] == false);
  CHECK(json["sizing"]["rows"][0]["limit"] == "Lustre client over ENA");
}

TEST_CASE("io: networks are compared link by link") {
  const Json json = answered(on("read", "p5.48xlarge", "8",
                                {"--bytes", "10TB", "--storage", "fsx-1000", "--capacity",
                                 "960000GiB", "--compare-network"}));
  REQUIRE(json["networks"].size() == 3);
  const auto part = [&](std::size_t i) { return json["networks"][i]["parts"][0]; };
  CHECK(part(0)["limit"] == "Lustre client over ENA");
  CHECK(part(0)["throughput_bytes_per_s"].get<double>() == Approx(8 * 12.5e9).epsilon(1e-3));
  CHECK(part(1)["limit"] == "Lustre client over EFA");
  CHECK(part(2)["limit"] == "disks of the file system");
  const Ran text =
      flowplan_run({"io", "read", "--instance", "p5.48xlarge", "--nodes", "8", "--bytes", "10TB",
                    "--storage", "fsx-1000", "--capacity", "960000GiB", "--compare-network"});
  CHECK(contains(text.out, "link by link"));
}

TEST_CASE("io: bad input") {
  const auto read = [](std::vector<std::string> more) {
    more.insert(more.end(), {"--bytes", "1TB"});
    return on("read", "p5.48xlarge", "2", more);
  };
  refused(read({"--storage", "fsx-1000", "--capacity", "5000GiB", "--efa"}), 2,
          "4800 GiB and 9600 GiB");
  refused(read({"--storage", "fsx-scratch2", "--capacity", "4800GiB", "--efa"}), 2, "has no EFA");
  refused(read({"--storage", "fsx-1000"}), 2, "needs a capacity");
  refused(read({"--storage", "fsx"}), 2, "FP031");
  refused(read({"--storage", "fsx-persistent2-2000"}), 2, "FP030");
  refused(read({}), 2, "a storage service is needed");
  refused(read({"--storage", "s3", "--efa", "--gds"}), 2, "only one of");
  refused(on("read", "p5.48xlarge", "2", {"--storage", "s3"}), 2, "--bytes");
  refused(on("reed", "p5.48xlarge", "2", {"--storage", "s3"}), 2, "did you mean `read`?");
  refused(on("checkpoint", "p5.48xlarge", "2", {"--storage", "s3"}), 2, "--model");
  refused(on("dataset", "p5.48xlarge", "2", {"--storage", "s3", "--demand", "unet"}), 2, "unet3d");
  refused(read({"--storage", "s3", "--loader", "mount"}), 2, "mountpoint");
  refused(on("import", "p5.48xlarge", "2", {"--storage", "s3", "--bytes", "1TB"}), 2,
          "no link to an object store");
}

TEST_CASE("io: a price that is missing for a region is said, not guessed") {
  const Json json = answered(on("read", "p5.48xlarge", "2",
                                {"--bytes", "1TB", "--storage", "fsx-1000", "--capacity", "4800GiB",
                                 "--region", "eu-west-1"}));
  CHECK(json["month"]["usd"].is_null());
  CHECK(json["month"]["unknown"] ==
        "no storage price of fsx-persistent2-1000 is known in eu-west-1");
}

TEST_CASE("scenario: FSx over EFA slows collectives that FSx over ENA does not", "[slow]") {
  Json efa, ena;
  const std::string file = "scenarios/storage-llama3.1-405b-p5.json";
  scenario_run({file}, efa);
  scenario_run({file, "--set", "storage.checkpoint.store.access=ena"}, ena);
  CHECK(efa["storage"]["checkpoint"]["shares_devices"] == true);
  CHECK(ena["storage"]["checkpoint"]["shares_devices"] == false);
  CHECK(ena["storage"]["checkpoint"]["background_longer_s"] == 0.0);
  CHECK(efa["storage"]["checkpoint"]["counted_by_operations"] == true);
}

TEST_CASE("scenario: waiting for data, saves and slowed collectives are branches of the step") {
  const std::string file = "scenarios/storage-lazy-load-p5.json";
  Json json;
  scenario_run({file}, json);
  CHECK(json["storage"]["io_bound"] == true);
  CHECK(json["storage"]["dataset"]["limit"] == "objects of the import link to S3");
  const double step = json["metrics"]["training.step_time"]["value"].get<double>();
  CHECK(step == Approx(json["storage"]["step_s"].get<double>()));
  CHECK(step == Approx(json["storage"]["step_without_io_s"].get<double>() +
                       json["metrics"]["storage.data_stall"]["value"].get<double>()));
  const Ran text = flowplan_run({"run", file});
  CHECK(contains(text.out, "I/O bound"));
  CHECK(contains(text.out, "Waiting for data"));
}

TEST_CASE("scenario: a save without operations stalls by its interval") {
  const std::vector<std::string> base{
      "scenarios/storage-lazy-load-p5.json", "--set",
      R"(storage={"checkpoint":{"store":{"service":"fsx-1000","capacity":"4800GiB"},)"
      R"("mode":"sync","every":10}})",
      "--set", "checks=[]"};
  Json json;
  scenario_run(base, json);
  const double stall = json["metrics"]["storage.checkpoint_stall"]["value"].get<double>();
  CHECK(json["metrics"]["training.step_time"]["value"].get<double>() ==
        Approx(json["storage"]["step_without_io_s"].get<double>() + stall / 10.0));
}

TEST_CASE("scenario: mistakes of the storage section have their places") {
  // What was typed alone is usage; what contradicts the file is of the file.
  const auto refused_with = [](const char* set, const char* part, int code = 2) {
    const Ran ran = flowplan_run({"run", "scenarios/storage-744b-host-memory.json", "--set", set});
    INFO(ran.err);
    CHECK(ran.code == code);
    CHECK(contains(ran.err, part));
  };
  refused_with("storage.checkpoint.store.capacity=5000GiB", "4800 GiB and 9600 GiB", 3);
  refused_with("storage.checkpoint.store.service=fsx", "FP031");
  refused_with("storage.checkpoint.host_memory=780", "FP022");
  refused_with("storage.checkpoint.host_memory=\"780\"", "FP040");
  refused_with("storage.checkpoint.mode=later", "FP023");
  refused_with(R"(storage.dataset={"store":{"service":"s3"},"lazy_load":true})",
               "does not load lazily", 3);
}

}  // namespace io_test
