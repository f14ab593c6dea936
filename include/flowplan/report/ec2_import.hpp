#pragma once

#include <string>

#include "flowplan/catalog/import_ec2.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// What an answer of EC2 gave: entries and what they were completed from, differences, offers,
/// reservations, what was refused. `file` names it.
[[nodiscard]] Document ec2_import(const catalog::Ec2Import& import, const std::string& file);
[[nodiscard]] std::string ec2_import_json(const catalog::Ec2Import& import,
                                          const std::string& file);

}  // namespace flowplan::report
