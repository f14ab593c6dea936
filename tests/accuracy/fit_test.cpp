#include "flowplan/accuracy/fit.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "log_support.hpp"

namespace flowplan::accuracy::fit_test {

namespace {

using collective::Operation;

/// The set with one number multiplied.
catalog::Constants changed(const catalog::Constants& profile, std::string_view name,
                           std::size_t index, double factor) {
  auto entries = profile.entries();
  for (auto& entry : entries)
    if (entry.name == name) entry.values.at(index) *= factor;
  return {profile.id(), profile.kind(), std::move(entries), profile.about()};
}

std::vector<FitPoint> points_of_run(int nodes, const catalog::Constants& truth, Operation operation,
                                    const std::string& file) {
  const auto cluster = nodes_of_log("p5.48xlarge", nodes);
  NcclLog log = log_of_run(*cluster, truth, operation);
  log.file = file;
  auto input = fit_points_of_log(cluster, profile_named("collectives-p5"), log, std::nullopt);
  if (!input) FAIL(render(input.error()));
  return std::move(input->points);
}

const FittedFigure* figure_named(const FitReport& report, std::string_view name,
                                 std::size_t index) {
  for (const FittedFigure& figure : report.figures)
    if (figure.name == name && figure.index == index) return &figure;
  return nullptr;
}

}  // namespace

TEST_CASE("a fit finds the figure that a run was made with") {
  // all_gather on 8 nodes by rings in Simple: steps of 55 us, here 30 % longer.
  const auto& shipped = profile_named("collectives-p5");
  const auto truth = changed(shipped, "ring.net_step_us", 2, 1.3);
  const auto points = points_of_run(8, truth, Operation::all_gather, "a.log");
  const auto report = fit_collectives(shipped, points, {});
  REQUIRE(report);
  CHECK(report->after.median_ape < report->before.mean_ape);
  CHECK(report->after.mean_ape < 2.0);
  CHECK(report->left_out_overall.n == 0);
}

TEST_CASE("figures that the points do not tell are kept and named") {
  const auto& shipped = profile_named("collectives-p5");
  const auto truth = changed(shipped, "nvls.gbytes_per_s", 0, 0.8);
  const auto points = points_of_run(1, truth, Operation::all_reduce, "a.log");
  const auto report = fit_collectives(shipped, points, {});
  REQUIRE(report);
  const FittedFigure* rate = figure_named(*report, "nvls.gbytes_per_s", 0);
  REQUIRE(rate != nullptr);
  CHECK(rate->after == Approx(0.8 * rate->before).epsilon(0.02));
  CHECK(rate->points >= 2);
  // One node says nothing of the network.
  CHECK(figure_named(*report, "ring.net_gbytes_per_s", 2) == nullptr);
  CHECK(std::count(report->kept.begin(), report->kept.end(), "ring.net_gbytes_per_s[2]") == 1);
}

TEST_CASE("a fitted rate stays below the line") {
  const auto& shipped = profile_named("collectives-p5");
  auto points = points_of_run(1, shipped, Operation::all_reduce, "a.log");
  for (FitPoint& point : points)
    point.measured_us /= 3.0;  // nobody's NVLink
  const auto report = fit_collectives(shipped, points, {});
  REQUIRE(report);
  for (const FittedFigure& figure : report->figures)
    if (figure.name.ends_with("gbytes_per_s")) CHECK(figure.after <= 450.0);
}

TEST_CASE("each group is predicted from the others") {
  const auto& shipped = profile_named("collectives-p5");
  const auto truth = changed(shipped, "ring.net_gather_gbytes_per_s", 2, 0.8);
  std::vector<FitPoint> points;
  for (const int nodes : {2, 4, 8}) {
    auto more = points_of_run(nodes, truth, Operation::all_gather, std::to_string(nodes) + ".log");
    std::move(more.begin(), more.end(), std::back_inserter(points));
  }
  const auto report = fit_collectives(shipped, points, {{}, true});
  REQUIRE(report);
  REQUIRE(report->left_out.size() == 3);
  CHECK(report->left_out_overall.n == points.size());
  CHECK(report->left_out_overall.p90_ape < report->before.p90_ape);
  const auto alone = fit_collectives(
      shipped, points_of_run(2, truth, Operation::all_gather, "one.log"), {{}, true});
  REQUIRE_FALSE(alone);
  CHECK_THAT(alone.error().front().message, Catch::Contains("only one group"));
}

TEST_CASE("the band of a class is the 90th percentile of its errors left out", "[slow]") {
  // 11 sizes on each of four numbers of nodes, all of the law itself: errors and bands are nothing.
  // Of the largest class, 1 and 8 GiB, there are too few.
  const auto& shipped = profile_named("collectives-p5");
  std::vector<FitPoint> points;
  for (const int nodes : {2, 4, 8, 16}) {
    auto more =
        points_of_run(nodes, shipped, Operation::all_gather, std::to_string(nodes) + ".log");
    std::move(more.begin(), more.end(), std::back_inserter(points));
  }
  const auto exact = fit_collectives(shipped, points, {{}, true});
  REQUIRE(exact);
  REQUIRE(exact->bands.size() == 2);
  for (const FittedBand& band : exact->bands) {
    CHECK(band.figure.name == "band.net_percent");
    CHECK(band.percent == Approx(0.0).margin(1e-6));
  }
  // One in eight of the small sizes a fifth longer: the percentile lies between the others' errors
  // and theirs.
  std::size_t small = 0;
  for (FitPoint& point : points)
    if (point.request.size < mebibytes(1.0) && small++ % 8 == 0) point.measured_us *= 1.2;
  const auto odd = fit_collectives(shipped, points, {{}, true});
  REQUIRE(odd);
  const double percent = odd->bands.front().percent;
  CHECK(percent > 0.5);
  CHECK(percent < 100.0 * (1.0 - 1.0 / 1.2) + 1.0);
}

TEST_CASE(
    "a base is fitted by the rows of the stacks that extend it, and only its own figures move") {
  const auto table = CsvTable::parse(
      "id,collective,gpu,instance_or_system,nodes,gpus,fabric,size_bytes,time_us,algbw_GBps,"
      "busbw_GBps,nccl_version,algo_proto_if_known,source,notes\n"
      "1,all_reduce,H100,p5.48xlarge,2,16,EFA,1073741824,5000,,,2.28.7,,x,\n"
      "2,all_reduce,H100,p5.48xlarge,2,16,EFA,2147483648,9800,,,2.28.7,,x,\n"
      "3,all_gather,H200,p5en.48xlarge,4,32,EFA,1073741824,3100,,,2.28.7,,x,\n"
      "4,all_reduce,H100,p5.48xlarge,1,8,EFA,1073741824,4000,,,2.28.7,,x,\n"
      "5,all_reduce,B200,p6-b200.48xlarge,2,16,EFA,1073741824,5000,,,2.28.7,,x,\n",
      "rows.csv");
  REQUIRE(table);
  const catalog::Constants& set = profile_named("collectives-efa-hopper");
  const auto input = fit_points_of_rows(shipped_catalog(), {nullptr, &set, true, {}}, *table);
  REQUIRE(input);
  REQUIRE(input->points.size() == 4);  // not row 5: another base
  CHECK(input->points[0].profile->id() == "collectives-p5");
  CHECK(input->points[2].profile->id() == "collectives-p5en");
  const auto of_two = fit_points_of_rows(shipped_catalog(), {nullptr, &set, true, 2}, *table);
  REQUIRE(of_two);
  CHECK(of_two->points.size() == 2);
  const auto own = shipped_catalog().lineage(set.id())->own;
  const auto report = fit_collectives(set, input->points, {own, false});
  REQUIRE(report);
  CHECK(report->untold == 1);  // row 4: one node knows nothing of the network
  for (const FittedFigure& figure : report->figures)
    CHECK(std::count(own.begin(), own.end(), figure.name) == 1);
  CHECK_THAT(
      fit_residuals(*report),
      Catch::StartsWith("id,group,operation,size_bytes,measured_us,") &&
          Catch::Contains("\n1,\"all_reduce, 2 nodes, p5.48xlarge\",all_reduce,1073741824,"));
}

TEST_CASE("too few points are refused") {
  auto points = points_of_run(1, profile_named("collectives-p5"), Operation::all_reduce, "a.log");
  points.resize(2);
  const auto report = fit_collectives(profile_named("collectives-p5"), points, {});
  REQUIRE_FALSE(report);
  CHECK(report.error().front().code == Code::bad_measurement);
}

TEST_CASE("an overlay makes the catalog predict the measured times") {
  const auto& shipped = profile_named("collectives-p5");
  const auto truth = changed(shipped, "nvls.gbytes_per_s", 0, 0.8);
  const auto points = points_of_run(1, truth, Operation::all_reduce, "a.log");
  const auto report = fit_collectives(shipped, points, {});
  REQUIRE(report);
  const auto path = std::filesystem::temp_directory_path() / "flowplan-fit-overlay.json";
  std::ofstream(path) << fit_overlay(shipped, *report, "a.log");
  const auto overlaid = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs", {path.string()});
  std::filesystem::remove(path);
  if (!overlaid) FAIL(render(overlaid.error()));
  const FitPoint& largest = points.back();
  const auto before = collective::predict(shipped_catalog(), *largest.cluster, largest.request);
  const auto after = collective::predict(*overlaid, *largest.cluster, largest.request);
  REQUIRE(after);
  CHECK(after->time.value() * 1e6 == Approx(largest.measured_us).epsilon(0.02));
  CHECK(before->time < after->time);
}

TEST_CASE("rows of other systems and stacks are passed over with their reason") {
  const auto table = CsvTable::parse(
      "id,collective,gpu,instance_or_system,nodes,gpus,fabric,size_bytes,time_us,algbw_GBps,"
      "busbw_GBps,nccl_version,algo_proto_if_known,source,notes\n"
      "1,all_reduce,H100,p5.48xlarge,2,16,EFA,1073741824,5000,,,2.28.7,,x,\n"
      "2,all_reduce,H100,p5.48xlarge,2,16,EFA,1073741824,5000,,,2.18.5,,x,\n"
      "3,all_reduce,H200,p5en.48xlarge,2,16,EFA,1073741824,5000,,,2.28.7,,x,\n"
      "4,ep_dispatch,H100,p5.48xlarge,2,16,EFA,,5000,,,2.28.7,,x,\n",
      "rows.csv");
  REQUIRE(table);
  const auto instance = shipped_catalog().instance("p5.48xlarge");
  const auto input = fit_points_of_rows(
      shipped_catalog(), {*instance, &profile_named("collectives-p5"), false, {}}, *table);
  REQUIRE(input);
  REQUIRE(input->points.size() == 1);
  CHECK(input->points[0].label == "1");
  CHECK(input->points[0].group == "all_reduce, 2 nodes, p5.48xlarge");
  CHECK(input->skipped.size() == 3);
}

}  // namespace flowplan::accuracy::fit_test
