#include "flowplan/collective/operation.hpp"

#include <string>

#include "flowplan/base/assert.hpp"

namespace flowplan::collective {
namespace {

/// Lower case without the signs that join words: "NVLS_Tree" and "nvlstree" are the same.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '_' || c == '-' || c == ' ') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

template <class Values>
auto find(const Values& values, std::string_view text)
    -> std::optional<typename Values::value_type> {
  const std::string wanted = plain(text);
  for (const auto value : values) {
    if (plain(name(value)) == wanted) return value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(Operation operation) {
  switch (operation) {
    case Operation::all_reduce:
      return "all_reduce";
    case Operation::all_gather:
      return "all_gather";
    case Operation::reduce_scatter:
      return "reduce_scatter";
    case Operation::all_to_all:
      return "alltoall";
    case Operation::send_recv:
      return "sendrecv";
    case Operation::broadcast:
      return "broadcast";
    case Operation::reduce:
      return "reduce";
  }
  return "";
}

std::string_view name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring:
      return "RING";
    case Algorithm::tree:
      return "TREE";
    case Algorithm::nvls:
      return "NVLS";
    case Algorithm::nvls_tree:
      return "NVLSTREE";
    case Algorithm::pairwise:
      return "PAIRWISE";
    case Algorithm::pxn:
      return "PXN";
    case Algorithm::hierarchical:
      return "HIERARCHICAL";
    case Algorithm::pat:
      return "PAT";
    case Algorithm::collnet:
      return "COLLNET";
  }
  return "";
}

std::string_view name(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return "LL";
    case Protocol::ll128:
      return "LL128";
    case Protocol::simple:
      return "SIMPLE";
  }
  return "";
}

std::optional<Operation> find_operation(std::string_view text) {
  return find(all_operations, text);
}
std::optional<Algorithm> find_algorithm(std::string_view text) {
  // NCCL tells two ways of reducing in the switches apart, by chains and directly; one model.
  const std::string wanted = plain(text);
  if (wanted == "collnetdirect" || wanted == "collnetchain") return Algorithm::collnet;
  return find(all_algorithms, text);
}
std::optional<Protocol> find_protocol(std::string_view text) {
  return find(all_protocols, text);
}

double bus_factor(Operation operation, int ranks) {
  FLOWPLAN_ASSERT(ranks >= 2);
  const double n = ranks;
  switch (operation) {
    case Operation::all_reduce:
      return 2.0 * (n - 1.0) / n;
    case Operation::all_gather:
    case Operation::reduce_scatter:
    case Operation::all_to_all:
      return (n - 1.0) / n;
    case Operation::send_recv:
    case Operation::broadcast:
    case Operation::reduce:
      return 1.0;
  }
  return 1.0;
}

}  // namespace flowplan::collective
