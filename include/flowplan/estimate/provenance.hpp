#pragma once

#include <string>
#include <vector>

namespace flowplan {

/// Where a figure comes from.
struct Source {
  std::string text;        ///< document, page, measurement, with its date
  std::string confidence;  ///< "vendor_api", "vendor_claim", "measured", "derived", "assumed", ...
  std::string note;
};

/// A figure that went into an answer, so that every number can be traced.
struct UsedFigure {
  std::string name;  ///< "p5.48xlarge efa_gbps_total"
  double value = 0.0;
  std::string unit;
  Source source;
};

/// An input that the user left out, with the value it got and why.
struct Defaulted {
  std::string path;  ///< as in the scenario: "workload.micro_batch"
  std::string value;
  std::string reason;
};

/// What an answer was made with, so that the same answer can be made again.
struct Provenance {
  std::string program_version;
  std::string catalog_version;
  std::string scenario_sha;           ///< hash of the scenario after overrides
  std::vector<std::string> profiles;  ///< software profiles and calibrations by id
  std::vector<UsedFigure> figures;
};

}  // namespace flowplan
