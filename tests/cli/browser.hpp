#pragma once

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

// NOLINTNEXTLINE: the name that posix_spawn takes its environment by
extern char** environ;

namespace browser_details {

using nlohmann::json;

inline constexpr int patience_ms = 300'000;

inline std::string installed_chromium() {
  const char* path = std::getenv("PATH");
  for (const char* name : {"chromium-headless-shell", "chromium", "chromium-browser"}) {
    std::string rest = path == nullptr ? "" : path;
    while (!rest.empty()) {
      const std::size_t colon = rest.find(':');
      const std::string file = rest.substr(0, colon) + "/" + name;
      if (access(file.c_str(), X_OK) == 0) return file;
      rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
    }
  }
  return {};
}

inline std::string from_base64(const std::string& text) {
  std::string bytes;
  unsigned value = 0;
  int bits = 0;
  for (const char c : text) {
    unsigned digit = 0;
    if (c >= 'A' && c <= 'Z')
      digit = static_cast<unsigned>(c - 'A');
    else if (c >= 'a' && c <= 'z')
      digit = static_cast<unsigned>(c - 'a') + 26;
    else if (c >= '0' && c <= '9')
      digit = static_cast<unsigned>(c - '0') + 52;
    else if (c == '+' || c == '/')
      digit = c == '+' ? 62 : 63;
    else
      break;
    value = (value << 6) | digit;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>((value >> bits) & 0xFF);
  }
  return bytes;
}

/// An object of one member.
inline json member(const char* name, json value) {
  json object = json::object();
  object[name] = std::move(value);
  return object;
}

}  // namespace browser_details

/// A headless Chromium, driven over the pipe of its DevTools protocol. Waits are bounded: a browser
/// that does not answer ends the test with an exception.
class Browser {
 public:
  /// Starts it with a profile in `folder`; nothing where no Chromium is installed.
  static std::optional<Browser> start(const std::string& folder);
  Browser(Browser&& other) noexcept;
  Browser& operator=(Browser&&) = delete;
  ~Browser();

  struct View {
    int width = 1440, height = 900;
    bool dark = false, phone = false;
  };
  /// Opens a file and waits until it is loaded. Forgets earlier faults.
  void open(const std::string& path, const View& view);
  /// The value of a JavaScript expression.
  nlohmann::json evaluate(const std::string& expression);
  void press(const std::string& key);
  /// The whole page as PNG, or as it would be printed.
  void screenshot(const std::string& path);
  void print(const std::string& path);
  /// Errors and warnings on the console, exceptions, and addresses that the page asked for.
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

 private:
  Browser() = default;
  nlohmann::json call(const std::string& method,
                      nlohmann::json parameters = nlohmann::json::object());
  nlohmann::json read_message();
  void notice(const nlohmann::json& event);
  void attach();

  pid_t pid_ = 0;
  int to_ = -1, from_ = -1;
  int next_ = 1;
  std::string session_, pending_, address_;
  bool loaded_ = false;
  std::vector<std::string> faults_;
};

inline std::optional<Browser> Browser::start(const std::string& folder) {
  const std::string program = browser_details::installed_chromium();
  if (program.empty()) return std::nullopt;
  std::array<int, 2> commands{}, answers{};
  if (pipe2(commands.data(), O_CLOEXEC) != 0 || pipe2(answers.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Chromium reads commands from 3 and answers on 4. Copies stand above these first, so that
  // neither is overwritten before it is copied.
  const int high_in = fcntl(commands[0], F_DUPFD, 20), high_out = fcntl(answers[1], F_DUPFD, 20);
  posix_spawn_file_actions_adddup2(&actions, high_in, 3);
  posix_spawn_file_actions_adddup2(&actions, high_out, 4);
  posix_spawn_file_actions_addclose(&actions, high_in);
  posix_spawn_file_actions_addclose(&actions, high_out);
  const int log = ::open((folder + "/chromium.log").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, log, 1);
  posix_spawn_file_actions_adddup2(&actions, log, 2);
  std::vector<std::string> words{program,
                                 "--headless",
                                 "--no-sandbox",
                                 "--disable-gpu",
                                 "--disable-dev-shm-usage",
                                 "--disable-extensions",
                                 "--no-first-run",
                                 "--hide-scrollbars",
                                 "--host-resolver-rules=MAP * ~NOTFOUND",
                                 "--user-data-dir=" + folder + "/profile",
                                 "--remote-debugging-pipe",
                                 "about:blank"};
  std::vector<char*> arguments;
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  Browser browser;
  const int failed =
      posix_spawn(&browser.pid_, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  for (const int fd : {commands[0], answers[1], high_in, high_out, log})
    close(fd);
  browser.to_ = commands[1];
  browser.from_ = answers[0];
  if (failed != 0) throw std::runtime_error("chromium does not start");
  browser.attach();
  return browser;
}

inline Browser::Browser(Browser&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      to_(std::exchange(other.to_, -1)),
      from_(std::exchange(other.from_, -1)),
      next_(other.next_),
      session_(std::move(other.session_)),
      pending_(std::move(other.pending_)) {}

inline Browser::~Browser() {
  if (to_ >= 0) close(to_);  // the end of its pipe ends it
  if (from_ >= 0) close(from_);
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

inline nlohmann::json Browser::read_message() {
  for (;;) {
    const std::size_t end = pending_.find('\0');
    if (end != std::string::npos) {
      nlohmann::json message = nlohmann::json::parse(pending_.substr(0, end));
      pending_.erase(0, end + 1);
      return message;
    }
    pollfd waiting{from_, POLLIN, 0};
    if (poll(&waiting, 1, browser_details::patience_ms) != 1)
      throw std::runtime_error("chromium is silent");
    std::array<char, 1 << 16> buffer{};
    const ssize_t count = read(from_, buffer.data(), buffer.size());
    if (count <= 0) throw std::runtime_error("chromium ended");
    pending_.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

inline void Browser::notice(const nlohmann::json& event) {
  const std::string method = event.value("method", "");
  const nlohmann::json& parameters =
      event.contains("params") ? event["params"] : nlohmann::json::object();
  if (method == "Page.loadEventFired") loaded_ = true;
  if (method == "Runtime.exceptionThrown")
    faults_.push_back("exception: " + parameters["exceptionDetails"].dump());
  if (method == "Runtime.consoleAPICalled" &&
      (parameters["type"] == "error" || parameters["type"] == "warning"))
    faults_.push_back("console: " + parameters["args"].dump());
  if (method == "Log.entryAdded") faults_.push_back("log: " + parameters["entry"].dump());
  if (method == "Network.requestWillBeSent") {
    const std::string url = parameters["request"]["url"];
    if (url != address_ && !url.starts_with("data:")) faults_.push_back("request: " + url);
  }
}

inline nlohmann::json Browser::call(const std::string& method, nlohmann::json parameters) {
  const int id = next_++;
  nlohmann::json command{{"id", id}, {"method", method}, {"params", std::move(parameters)}};
  if (!session_.empty()) command["sessionId"] = session_;
  const std::string text = command.dump();
  if (write(to_, text.c_str(), text.size() + 1) != static_cast<ssize_t>(text.size() + 1))
    throw std::runtime_error("chromium does not listen");
  for (;;) {
    nlohmann::json message = read_message();
    if (message.value("id", 0) != id) {
      notice(message);
      continue;
    }
    if (message.contains("error"))
      throw std::runtime_error(method + ": " + message["error"].dump());
    return message["result"];
  }
}

inline void Browser::attach() {
  const nlohmann::json target =
      call("Target.createTarget", browser_details::member("url", "about:blank"));
  const nlohmann::json attached =
      call("Target.attachToTarget", {{"targetId", target["targetId"]}, {"flatten", true}});
  session_ = attached["sessionId"];
  for (const char* domain : {"Page", "Runtime", "Log", "Network"})
    call(std::string(domain) + ".enable");
}

inline void Browser::open(const std::string& path, const View& view) {
  call("Emulation.setDeviceMetricsOverride", {{"width", view.width},
                                              {"height", view.height},
                                              {"deviceScaleFactor", view.phone ? 2 : 1},
                                              {"mobile", view.phone}});
  call("Emulation.setEmulatedMedia",
       browser_details::member("features",
                               nlohmann::json::array({{{"name", "prefers-color-scheme"},
                                                       {"value", view.dark ? "dark" : "light"}}})));
  faults_.clear();
  loaded_ = false;
  address_ = "file://" + path;
  const nlohmann::json went = call("Page.navigate", browser_details::member("url", address_));
  if (went.contains("errorText")) throw std::runtime_error(path + ": " + went["errorText"].dump());
  while (!loaded_)
    notice(read_message());
}

inline nlohmann::json Browser::evaluate(const std::string& expression) {
  const nlohmann::json answer =
      call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}});
  if (answer.contains("exceptionDetails"))
    throw std::runtime_error(answer["exceptionDetails"].dump());
  return answer["result"].value("value", nlohmann::json());
}

inline void Browser::press(const std::string& key) {
  const int code = key == "Tab" ? 9 : key == "ArrowRight" ? 39 : 27;
  for (const char* type : {"rawKeyDown", "keyUp"})
    call("Input.dispatchKeyEvent",
         {{"type", type}, {"key", key}, {"code", key}, {"windowsVirtualKeyCode", code}});
}

inline void Browser::screenshot(const std::string& path) {
  const nlohmann::json picture =
      call("Page.captureScreenshot", {{"format", "png"}, {"captureBeyondViewport", true}});
  std::ofstream(path, std::ios::binary) << browser_details::from_base64(picture["data"]);
}

inline void Browser::print(const std::string& path) {
  const nlohmann::json page =
      call("Page.printToPDF", {{"printBackground", true}, {"preferCSSPageSize", true}});
  std::ofstream(path, std::ios::binary) << browser_details::from_base64(page["data"]);
}
