#include "flowplan/collective/operation.hpp"

#include <catch2/catch.hpp>

namespace flowplan::collective::operation_test {
namespace {

TEST_CASE("bus factors are those of nccl-tests") {
  CHECK(bus_factor(Operation::all_reduce, 8) == Approx(1.75));
  CHECK(bus_factor(Operation::all_gather, 8) == Approx(0.875));
  CHECK(bus_factor(Operation::reduce_scatter, 64) == Approx(63.0 / 64.0));
  CHECK(bus_factor(Operation::all_reduce, 2) == Approx(1.0));
  CHECK(bus_factor(Operation::send_recv, 16) == Approx(1.0));
  CHECK(bus_factor(Operation::all_to_all, 16) == Approx(15.0 / 16.0));
}

TEST_CASE("names are found whatever their case and joints") {
  CHECK(find_operation("all_reduce") == Operation::all_reduce);
  CHECK(find_operation("AllReduce") == Operation::all_reduce);
  CHECK(find_operation("reduce-scatter") == Operation::reduce_scatter);
  CHECK(find_operation("sendrecv") == Operation::send_recv);
  CHECK(find_operation("send_recv") == Operation::send_recv);
  CHECK(find_algorithm("NVLSTree") == Algorithm::nvls_tree);
  CHECK(find_algorithm("nvls_tree") == Algorithm::nvls_tree);
  CHECK(find_protocol("ll128") == Protocol::ll128);
  CHECK(find_operation("alltoall") == Operation::all_to_all);
  CHECK(find_operation("all_to_all") == Operation::all_to_all);
  CHECK_FALSE(find_operation("scatter"));
  CHECK_FALSE(find_algorithm("PATIENCE"));
  CHECK_FALSE(find_protocol(""));
}

TEST_CASE("every name finds its own value again") {
  for (const Operation operation : all_operations)
    CHECK(find_operation(name(operation)) == operation);
  for (const Algorithm algorithm : all_algorithms)
    CHECK(find_algorithm(name(algorithm)) == algorithm);
  for (const Protocol protocol : all_protocols)
    CHECK(find_protocol(name(protocol)) == protocol);
}

}  // namespace
}  // namespace flowplan::collective::operation_test
