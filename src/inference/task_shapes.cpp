#include "task_shapes.hpp"

#include <algorithm>
#include <cmath>

namespace flowplan::inference {

namespace {

constexpr std::uint64_t task_stream = 2;

std::uint32_t blocks_of(const std::vector<BlockRun>& runs) {
  std::uint32_t blocks = 0;
  for (const BlockRun& run : runs)
    blocks += run.count;
  return blocks;
}

}  // namespace

TaskWriter::TaskWriter(const Load& load) : load_(load), draws_(load.seed, task_stream, 0) {
  workload_.block_tokens = load.block_tokens;
  workload_.requests.reserve(load.tasks);
  double sum = 0.0;
  for (std::uint16_t a = 1; a <= load.adapters; ++a)
    adapter_shares_.push_back(sum += std::pow(static_cast<double>(a), -load.adapter_skew));
  if (load.block_tokens > 0)
    next_block_ = load.shared_texts * (load.shared_tokens / load.block_tokens);
}

void TaskWriter::write(std::uint32_t task, double at_s) {
  draws_ = Draws(load_.seed, task_stream, task);
  task_ = task;
  at_s_ = at_s;
  adapter_ = 0;
  if (!adapter_shares_.empty()) {
    const double at = draws_.unit() * adapter_shares_.back();
    const auto found = std::upper_bound(adapter_shares_.begin(), adapter_shares_.end(), at);
    adapter_ = static_cast<std::uint16_t>(1 + (found - adapter_shares_.begin()));
  }
  const bool plain = std::holds_alternative<std::monostate>(load_.shape);
  if (!plain) workload_.roots.push_back(static_cast<RequestId>(workload_.requests.size()));
  if (const auto* sessions = std::get_if<Sessions>(&load_.shape)) {
    turns(*sessions);
  } else if (const auto* wanted = std::get_if<Samples>(&load_.shape)) {
    samples(*wanted);
  } else if (const auto* search = std::get_if<TreeSearch>(&load_.shape)) {
    tree(*search);
  } else if (const auto* agent = std::get_if<AgentLoop>(&load_.shape)) {
    calls(*agent);
  } else {
    const auto [input, output] = lengths();
    add(prompt(input), input, output);
  }
}

std::pair<std::uint32_t, std::uint32_t> TaskWriter::lengths() {
  std::pair<std::uint32_t, std::uint32_t> drawn;
  if (load_.pairs.empty()) {
    drawn.first = draw(load_.input, draws_);
    drawn.second = draw(load_.output, draws_);
  } else {
    const double place = draws_.unit() * static_cast<double>(load_.pairs.size());
    drawn = load_.pairs[static_cast<std::size_t>(place)];
  }
  drawn.first = std::max(drawn.first, load_.shared_tokens);
  return drawn;
}

// The shared text first, if there is one, then blocks of its own.
TaskWriter::Text TaskWriter::prompt(std::uint32_t tokens) {
  Text text;
  if (load_.block_tokens == 0) {
    text.tokens = tokens;
    return text;
  }
  const std::uint32_t shared = load_.shared_tokens / load_.block_tokens;
  if (shared > 0) {
    const auto which =
        static_cast<std::uint32_t>(draws_.unit() * static_cast<double>(load_.shared_texts));
    text.blocks.push_back({which * shared, shared});
    text.tokens = shared * load_.block_tokens;
  }
  const std::uint32_t rest = tokens - text.tokens;
  return longer(std::move(text), rest);
}

TaskWriter::Text TaskWriter::longer(Text text, std::uint32_t tokens) {
  text.tokens += tokens;
  if (load_.block_tokens == 0) return text;
  const std::uint32_t more = text.tokens / load_.block_tokens - blocks_of(text.blocks);
  if (more == 0) return text;
  text.blocks.push_back({next_block_, more});
  next_block_ += more;
  return text;
}

RequestId TaskWriter::add(const Text& whole, std::uint32_t input, std::uint32_t output) {
  Request request;
  request.arrival_s = at_s_;
  request.input_tokens = input;
  request.output_tokens = output;
  request.adapter = adapter_;
  request.first_run = static_cast<std::uint32_t>(workload_.runs.size());
  for (const BlockRun& run : whole.blocks) {
    // Blocks that go on where the last run ended are part of it.
    std::vector<BlockRun>& runs = workload_.runs;
    if (request.run_count > 0 && runs.back().first + runs.back().count == run.first) {
      runs.back().count += run.count;
    } else {
      runs.push_back(run);
      ++request.run_count;
    }
  }
  workload_.requests.push_back(request);
  if (!std::holds_alternative<std::monostate>(load_.shape)) {
    workload_.signals.emplace_back();
    workload_.task.push_back(task_);
  }
  return static_cast<RequestId>(workload_.requests.size() - 1);
}

std::uint32_t TaskWriter::add_join(std::uint32_t waits_for, double delay_s) {
  workload_.joins.push_back({waits_for, 0, 0, delay_s, false});
  return static_cast<std::uint32_t>(workload_.joins.size() - 1);
}

// All requests added since `first` are sent by the join.
void TaskWriter::releases(std::uint32_t join, RequestId first) {
  workload_.joins[join].first = first;
  workload_.joins[join].count = static_cast<std::uint32_t>(workload_.requests.size()) - first;
}

void TaskWriter::turns(const Sessions& sessions) {
  const std::uint32_t count = draw(sessions.turns, draws_);
  auto [input, output] = lengths();
  Text text = prompt(input);
  std::uint32_t join = no_join;
  for (std::uint32_t turn = 0; turn < count; ++turn) {
    if (turn > 0) {
      text = longer(std::move(text), draw(sessions.new_tokens, draws_));
      output = lengths().second;
    }
    const std::uint32_t sent = text.tokens;
    text = longer(std::move(text), output);
    const RequestId id = add(text, sent, output);
    if (join != no_join) releases(join, id);
    const double think_s =
        sessions.think_s * (sessions.exponential_think ? draws_.exponential() : 1.0);
    join = add_join(1, think_s);
    workload_.signals[id].at_finish = join;
  }
  end_with(join);
}

void TaskWriter::calls(const AgentLoop& agent) {
  const std::uint32_t count = draw(agent.calls, draws_);
  auto [input, output] = lengths();
  Text text = prompt(input);
  std::uint32_t join = no_join;
  for (std::uint32_t call = 0; call < count; ++call) {
    if (call > 0) {
      text = longer(std::move(text), draw(agent.tool_tokens, draws_));
      output = lengths().second;
    }
    const std::uint32_t sent = text.tokens;
    text = longer(std::move(text), output);
    const RequestId id = add(text, sent, output);
    if (join != no_join) releases(join, id);
    join = add_join(1, draw(agent.tool_ms, draws_) * 1e-3);
    workload_.signals[id].at_finish = join;
  }
  end_with(join);
}

void TaskWriter::samples(const Samples& samples) {
  const auto [input, output] = lengths();
  const Text asked = prompt(input);
  const std::uint32_t done = add_join(samples.count, samples.verify_s);
  const std::uint32_t prompt_is_there = add_join(1, 0.0);
  std::vector<RequestId> answers;
  std::vector<Text> texts;
  for (std::uint32_t n = 0; n < samples.count; ++n) {
    const std::uint32_t length = n == 0 ? output : lengths().second;
    texts.push_back(longer(asked, length));
    answers.push_back(add(texts.back(), input, length));
  }
  workload_.signals[answers[0]].at_first_token = prompt_is_there;
  if (samples.count > 1) releases(prompt_is_there, answers[1]);
  for (std::uint32_t n = 0; n < samples.count; ++n) {
    std::uint32_t join = done;
    if (samples.verify) {
      const RequestId reader = add(texts[n], texts[n].tokens, 1);
      workload_.signals[reader].at_finish = done;
      releases(join = add_join(1, 0.0), reader);
    }
    workload_.signals[answers[n]].at_finish = join;
  }
  end_with(done);
}

void TaskWriter::tree(const TreeSearch& search) {
  const auto [input, output] = lengths();
  std::vector<Text> beams{prompt(input)};
  std::uint32_t before = no_join;
  for (std::uint32_t step = 0; step < search.depth; ++step) {
    // The first step starts from the prompt alone: its first request computes it, the others wait
    // for that.
    const std::uint32_t count = search.width * search.branch;
    const std::uint32_t done = add_join(count, search.verify_s);
    const auto first = static_cast<RequestId>(workload_.requests.size());
    std::vector<Text> next;
    for (std::uint32_t n = 0; n < count; ++n) {
      const Text& from = beams[n / search.branch % beams.size()];
      const std::uint32_t tokens = draw(search.step_tokens, draws_);
      next.push_back(longer(from, tokens));
      workload_.signals[add(next.back(), from.tokens, tokens)].at_finish = done;
    }
    if (before != no_join) releases(before, first);
    if (step == 0 && count > 1) {
      const std::uint32_t prompt_is_there = add_join(1, 0.0);
      releases(prompt_is_there, first + 1);
      workload_.signals[first].at_first_token = prompt_is_there;
    }
    // Which beams a verifier keeps is not known: one of each group of `branch`, the first.
    beams.clear();
    for (std::uint32_t n = 0; n < count; n += search.branch)
      beams.push_back(std::move(next[n]));
    before = done;
  }
  end_with(before);
}

}  // namespace flowplan::inference
