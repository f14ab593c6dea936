#include "flowplan/operations/job_statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace flowplan::operations {

namespace {

/// Upper ends of the size classes; the last one is open.
constexpr std::array<double, 7> size_ends{1, 4, 8, 32, 128, 512, 2048};

double at_quantile(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

DurationSummary summary_of(std::vector<double> seconds) {
  DurationSummary out;
  out.count = seconds.size();
  if (seconds.empty()) return out;
  std::sort(seconds.begin(), seconds.end());
  double sum = 0.0;
  for (const double one : seconds)
    sum += one;
  out.median = Seconds(at_quantile(seconds, 0.5));
  out.mean = Seconds(sum / static_cast<double>(seconds.size()));
  out.p90 = Seconds(at_quantile(seconds, 0.9));
  out.p99 = Seconds(at_quantile(seconds, 0.99));
  out.longest = Seconds(seconds.back());
  return out;
}

struct ClassSamples {
  JobSizeClass made;
  std::vector<double> run, wait;
};

std::size_t class_of(double gpus) {
  return static_cast<std::size_t>(std::lower_bound(size_ends.begin(), size_ends.end(), gpus) -
                                  size_ends.begin());
}

/// Most GPUs in use at once; of what happens at one time, ends come first.
double peak_use(const std::vector<const LoggedJob*>& jobs) {
  std::vector<std::pair<double, double>> changes;
  for (const LoggedJob* job : jobs) {
    changes.emplace_back(*job->started_s, job->gpus);
    if (job->ended_s) changes.emplace_back(*job->ended_s, -job->gpus);
  }
  std::sort(changes.begin(), changes.end());
  double now = 0.0, peak = 0.0;
  for (const auto& [time, change] : changes)
    peak = std::max(peak, now += change);
  return peak;
}

/// Byar's approximation of a Poisson count's 5 % and 95 % limits.
double byar(double count, double z) {
  if (count <= 0.0) return 0.0;
  const double root = 1.0 - 1.0 / (9.0 * count) + z / (3.0 * std::sqrt(count));
  return count * root * root * root;
}

std::optional<ObservedFailures> failures_of(const std::vector<const LoggedJob*>& jobs) {
  constexpr double one_sided_5_percent = 1.6448536269514722;
  ObservedFailures seen;
  for (const LoggedJob* job : jobs) {
    seen.node_days += job->nodes * job->run().value() / days(1).value();
    if (job->end == JobEnd::node_failed) ++seen.failures;
  }
  if (seen.node_days <= 0.0) return std::nullopt;
  const auto count = static_cast<double>(seen.failures);
  seen.per_node_day = count / seen.node_days;
  seen.low = byar(count, -one_sided_5_percent) / seen.node_days;
  seen.high = byar(count + 1.0, one_sided_5_percent) / seen.node_days;
  return seen;
}

}  // namespace

JobStatistics summarise(const JobLog& log, std::optional<double> cluster_gpus) {
  JobStatistics out;
  out.jobs = log.jobs.size();
  std::vector<const LoggedJob*> ran;
  double first = 0.0, last = 0.0;
  for (const LoggedJob& job : log.jobs) {
    if (&job == &log.jobs.front()) first = last = job.submitted_s;
    first = std::min(first, job.submitted_s);
    last = std::max({last, job.submitted_s, job.started_s.value_or(job.submitted_s),
                     job.ended_s.value_or(job.submitted_s)});
    if (!job.started_s) continue;
    if (job.gpus > 0.0)
      ran.push_back(&job);
    else
      ++out.without_gpus;
  }
  out.started = ran.size();
  out.span = Seconds(last - first);

  std::vector<double> waits, runs;
  std::array<ClassSamples, size_ends.size() + 1> classes;
  std::map<JobEnd, JobEndCount> ends;
  for (const LoggedJob* job : ran) {
    const double gpu_hours = job->gpus * job->run().value() / hours(1).value();
    out.gpu_hours += gpu_hours;
    ClassSamples& its = classes[class_of(job->gpus)];
    ++its.made.jobs;
    its.made.gpu_hours += gpu_hours;
    its.wait.push_back(job->wait()->value());
    waits.push_back(job->wait()->value());
    if (job->ended_s && job->end != JobEnd::unfinished) {
      its.run.push_back(job->run().value());
      runs.push_back(job->run().value());
    }
  }
  for (const LoggedJob& job : log.jobs) {
    JobEndCount& count = ends[job.end];
    count.end = job.end;
    ++count.jobs;
    count.gpu_hours += job.gpus * job.run().value() / hours(1).value();
  }
  out.wait = summary_of(std::move(waits));
  out.run = summary_of(std::move(runs));
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].made.jobs == 0) continue;
    JobSizeClass made = classes[i].made;
    made.least_gpus = i == 0 ? 1.0 : size_ends[i - 1] + 1.0;
    made.most_gpus = i < size_ends.size() ? size_ends[i] : 0.0;
    made.run = summary_of(std::move(classes[i].run));
    made.wait = summary_of(std::move(classes[i].wait));
    out.sizes.push_back(std::move(made));
  }
  for (const auto& [end, count] : ends)
    out.ends.push_back(count);
  std::stable_sort(out.ends.begin(), out.ends.end(), [](const auto& a, const auto& b) {
    return a.gpu_hours != b.gpu_hours ? a.gpu_hours > b.gpu_hours : a.jobs > b.jobs;
  });
  out.peak_gpus = peak_use(ran);
  out.cluster_gpus = cluster_gpus ? cluster_gpus : log.cluster_gpus;
  if (out.cluster_gpus && out.span > Seconds(0))
    out.utilisation = out.gpu_hours / (*out.cluster_gpus * out.span.value() / hours(1).value());
  out.failures = failures_of(ran);
  return out;
}

}  // namespace flowplan::operations
