#include <iostream>
#include <string>
#include <vector>

#include "flowplan/cli/run.hpp"

int main(int argc, char** argv) {
  return flowplan::cli::run(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr);
}
