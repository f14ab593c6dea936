#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/estimate/estimate.hpp"
#include "flowplan/inference/engine_profile.hpp"
#include "flowplan/inference/load.hpp"
#include "flowplan/inference/serve.hpp"
#include "serving_job.hpp"

namespace flowplan::accuracy {

/// Means and percentiles of a run as its client sees them; times in seconds.
struct Served {
  std::vector<double> ttft, e2e, tpot;  ///< of finished requests, rising
  double tokens_per_s = 0.0;            ///< generated, from the first request to the last answer
  double requests_per_s = 0.0;
  [[nodiscard]] static double mean(const std::vector<double>& values);
  /// `q` of 0 .. 1, linear between ranks; 0 without values.
  [[nodiscard]] static double quantile(const std::vector<double>& values, double q);
};

/// Builds instances of rows and runs loads on them; remembers the instances.
class ServingBench {
 public:
  explicit ServingBench(const catalog::Catalog& catalog) : catalog_(catalog) {}

  /// An instance of one pool of a job, ready for sequences of `longest` tokens, `sequences` at once
  /// on a rank. `engine`: a profile's name.
  [[nodiscard]] Result<inference::Instance> instance(const ServingJob& job,
                                                     const inference::Layout& layout,
                                                     double longest, double sequences);
  [[nodiscard]] Result<Served> run(const ServingJob& job, const inference::Load& load,
                                   const inference::Instance& instance) const;
  [[nodiscard]] Result<Served> run(const ServingJob& job, const inference::Load& load);

  [[nodiscard]] const catalog::Catalog& catalog() const { return catalog_; }
  /// Where the engine's left-out points lie about a predicted time between tokens.
  [[nodiscard]] std::optional<Band> band(const ServingJob& job) const;
  /// A figure of the set "harness-serving".
  [[nodiscard]] double harness(std::string_view figure) const;

 private:
  const catalog::Catalog& catalog_;
  std::map<std::string, Result<inference::Instance>> instances_;
};

}  // namespace flowplan::accuracy
