#include "flowplan/collective/transfer.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include <fmt/format.h>

namespace flowplan::collective {
namespace {

/// Between the table's sizes linear in the logarithms of both; outside of it the nearest rate.
double rate_at(std::span<const double> sizes, std::span<const double> rates, double size) {
  const auto after = std::lower_bound(sizes.begin(), sizes.end(), size);
  if (after == sizes.begin()) return rates.front();
  if (after == sizes.end()) return rates.back();
  const auto i = static_cast<std::size_t>(after - sizes.begin());
  const double share = std::log(size / sizes[i - 1]) / std::log(sizes[i] / sizes[i - 1]);
  return rates[i - 1] * std::pow(rates[i] / rates[i - 1], share);
}

/// Figures of one set, and whether one was missing.
class TransferFigures {
 public:
  TransferFigures(const catalog::Constants& constants, Transfer transfer)
      : constants_(constants), transfer_(transfer) {}

  double number(std::string_view figure) { return table(figure).front(); }

  std::span<const double> table(std::string_view figure) {
    static constexpr double none[] = {1.0};
    const std::span<const double> values = constants_.table(figure);
    if (!values.empty()) return values;
    missing_ = figure;
    return none;
  }

  [[nodiscard]] std::optional<Diagnostic> fault() const {
    if (missing_.empty()) return std::nullopt;
    return error(Code::catalog_invalid, fmt::format("`{}` has no figures for {}: `{}` is missing",
                                                    constants_.id(), name(transfer_), missing_));
  }

 private:
  const catalog::Constants& constants_;
  Transfer transfer_;
  std::string missing_;
};

/// A message's own time and its bytes' overlap; the rate is a share of the line.
double exchange_rate(TransferFigures& figures, double line, double size, double slowdown) {
  const double full = line * figures.number("rdma.exchange_line_fraction");
  if (size <= 0.0) return full / slowdown;
  const double p = figures.number("rdma.exchange_overlap");
  const double own = figures.number("rdma.exchange_message_us") * 1e-6;
  const double time = std::pow(std::pow(own, p) + std::pow(size / full, p), 1.0 / p);
  return size / time / slowdown;
}

double table_rate(TransferFigures& figures, const std::string& prefix, double size) {
  const std::span<const double> sizes = figures.table(prefix + ".size_bytes");
  const std::span<const double> rates = figures.table(prefix + ".gbytes_per_s");
  if (sizes.size() != rates.size()) return rates.front() * 1e9;
  if (size >= sizes.front()) return rate_at(sizes, rates, size) * 1e9;
  // Below the table the time falls towards that of a launch.
  const double launch = figures.number(prefix + ".launch_us") * 1e-6;
  const double first = sizes.front() / (rates.front() * 1e9);
  return size / (launch + (first - launch) * size / sizes.front());
}

double rate_of(TransferFigures& figures, Transfer transfer, double line, double size) {
  switch (transfer) {
    case Transfer::gpu_copy:
      return line * figures.number("copy.nvlink_fraction");
    case Transfer::gpu_copy_both_ways:
      return 2.0 * line * figures.number("copy.nvlink_both_ways_fraction");
    case Transfer::host_copy:
      return line * figures.number("copy.pcie_fraction");
    case Transfer::rdma_write:
      return line * figures.number("rdma.line_fraction");
    case Transfer::rdma_write_both_ways:
      return 2.0 * line * figures.number("rdma.both_ways_fraction");
    case Transfer::send_receive:
      return line * figures.number("rdma.send_receive_fraction");
    case Transfer::ping_pong: {
      const double wire = line * figures.number("rdma.line_fraction");
      return size / (figures.number("rdma.message_us") * 1e-6 + size / wire);
    }
    case Transfer::rdma_exchange:
      return exchange_rate(figures, line, size, 1.0);
    case Transfer::rdma_exchange_incast:
      return exchange_rate(figures, line, size, figures.number("rdma.incast_slowdown"));
    case Transfer::rdma_exchange_random:
      return exchange_rate(figures, line, size, figures.number("rdma.random_slowdown"));
    case Transfer::nvshmem_exchange_host:
      return table_rate(figures, "nvshmem.host", size);
    case Transfer::nvshmem_exchange_device:
      return table_rate(figures, "nvshmem.device", size);
  }
  return 0.0;
}

}  // namespace

std::string_view name(Transfer transfer) {
  static constexpr std::array<std::string_view, all_transfers.size()> names{
      "gpu_copy",
      "gpu_copy_both_ways",
      "host_copy",
      "rdma_write",
      "rdma_write_both_ways",
      "send_receive",
      "ping_pong",
      "rdma_exchange",
      "rdma_exchange_incast",
      "rdma_exchange_random",
      "nvshmem_exchange_host",
      "nvshmem_exchange_device"};
  return names[static_cast<std::size_t>(transfer)];
}

Result<TransferOutcome> predict_transfer(const catalog::Constants& constants, Transfer transfer,
                                         BytesPerSecond line, Bytes size) {
  TransferFigures figures(constants, transfer);
  const double rate = rate_of(figures, transfer, line.value(), size.value());
  if (auto fault = figures.fault()) return fail(std::move(*fault));
  return TransferOutcome{BytesPerSecond(rate), Seconds(size.value() / rate)};
}

}  // namespace flowplan::collective
