#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "flowplan/base/json_document.hpp"

namespace flowplan::catalog {

/// Takes values out of an answer of the EC2 API and notes what is missing or of a wrong type.
class Ec2Reader {
 public:
  using Json = nlohmann::ordered_json;
  explicit Ec2Reader(const JsonDocument& document) : document_(document) {}

  /// The member at a path of keys; null where it is not there.
  [[nodiscard]] static const Json* find(const Json& object,
                                        std::initializer_list<const char*> keys);

  /// "" where it is not there and need not be.
  std::string text(const Json& object, const std::string& pointer, const char* key,
                   bool required = true);
  /// A number or, as the API writes amounts of money, a text of one.
  double number(const Json& object, const std::string& pointer, const char* key,
                bool required = true);
  void complain(Code code, const std::string& pointer, std::string what);
  [[nodiscard]] Diagnostics& faults() { return faults_; }

 private:
  const JsonDocument& document_;
  Diagnostics faults_;
};

struct Ec2Import;
class Catalog;

void read_instance_types(const Catalog& catalog, const JsonDocument& document, Ec2Reader& in,
                         Ec2Import& into);

}  // namespace flowplan::catalog
