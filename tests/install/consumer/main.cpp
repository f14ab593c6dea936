// Uses the installed library from its first module to its last: consumer CATALOG-DIRECTORY
#include <iostream>

#include "flowplan/catalog/catalog.hpp"
#include "flowplan/cli/run.hpp"

int main(int argc, char** argv) {
  const auto catalog = flowplan::catalog::Catalog::load(argc > 1 ? argv[1] : "");
  if (!catalog || catalog->instances().empty()) return 1;
  std::cout << catalog->instances().size() << " instances\n";
  return flowplan::cli::run({"version"}, std::cout, std::cerr);
}
