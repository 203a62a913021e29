// SPDX-License-Identifier: Apache-2.0
#include "publish/transports/transports.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/format.h"

namespace dvnn::publish {
namespace {

constexpr int kLargestPort = 65535;

std::string trimmed(const std::string& text) {
  const char* blanks = " \t\r";
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// %40 is an @, so that names and passwords may have one.
std::string unescaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                         hex_digit(text[i + 2]) >= 0;
    if (escaped) {
      out.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

// Refuses characters that would not arrive as written: a library would refuse such a URL at each
// connection, or read another host or name.
Status check_characters(const Address& address) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; };
  const char* const elsewhere = address.scheme == "kafka" ? "\"<>\\^`{|}" : "\"<>\\^`{|}[]";
  if (std::any_of(address.url.begin(), address.url.end(), is_control) ||
      address.host.find_first_of(elsewhere) != std::string::npos) {
    return invalid_argument("'" + printable(address.url) +
                            "' has a character that no URL has there");
  }
  if ((address.user + address.password).find('\0') == std::string::npos) return {};
  return invalid_argument("'" + printable(address.url) +
                          "': a user or a password has the character 0");
}

// Refuses a path behind a broker's host: it would have no effect, and looks like a topic.
Status check_path(const Address& address) {
  const bool is_broker =
      address.scheme == "mqtt" || address.scheme == "mqtts" || address.scheme == "kafka";
  if (!is_broker || address.path.size() <= 1) return {};
  return invalid_argument(
      "'" + printable(address.url) + "' has '" + printable(address.path) +
      "' behind the host, which only http and https have: a topic is set by itself");
}

// Splits the port from a single host.
Status take_port(Address* address) {
  const size_t colon = address->host.rfind(':');
  const bool only_v6 = !address->host.empty() && address->host.back() == ']';
  if (colon == std::string::npos || only_v6) return {};
  const std::string digits = address->host.substr(colon + 1);
  const long port = std::strtol(digits.c_str(), nullptr, 10);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos || port < 1 ||
      port > kLargestPort) {
    return invalid_argument("'" + printable(address->url) + "' has a port that is not in 1..65535");
  }
  address->port = static_cast<int>(port);
  address->host.resize(colon);
  return {};
}

}  // namespace

Result<Address> parse_address(const std::string& url) {
  Address address;
  const size_t colon = url.find(':');
  address.scheme = colon == std::string::npos ? "" : lower_case(url.substr(0, colon));
  address.url = url;
  if (address.scheme == "file") {
    address.path = url.substr(colon + 1);
    if (address.path.compare(0, 3, "///") == 0) address.path.erase(0, 2);
    if (address.path.empty()) return invalid_argument("'" + printable(url) + "' names no file");
    return address;
  }
  if (colon == std::string::npos || url.compare(colon, 3, "://") != 0) {
    return invalid_argument("'" + printable(url) +
                            "' is no url: file:PATH, mqtt://HOST, mqtts://HOST, kafka://HOST:PORT, "
                            "http://HOST/PATH or https://HOST/PATH");
  }
  std::string rest = url.substr(colon + 3);
  const size_t slash = rest.find('/');
  if (slash != std::string::npos) address.path = rest.substr(slash);
  rest.resize(std::min(slash, rest.size()));
  const size_t at = rest.rfind('@');
  if (at != std::string::npos) {
    const std::string who = rest.substr(0, at);
    const size_t end = std::min(who.find(':'), who.size());
    address.user = unescaped(who.substr(0, end));
    if (end < who.size()) address.password = unescaped(who.substr(end + 1));
    rest.erase(0, at + 1);
  }
  address.host = rest;
  address.url = address.scheme + "://" + rest + address.path;
  if (address.scheme != "kafka") DVNN_TRY(take_port(&address));
  if (address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']') {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  if (address.host.empty()) {
    return invalid_argument("'" + printable(address.url) + "' names no host");
  }
  DVNN_TRY(check_characters(address));
  DVNN_TRY(check_path(address));
  return address;
}

Result<Options> parse_options(const std::string& text) {
  Options options;
  const bool lines = text.find('\n') != std::string::npos;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(lines ? '\n' : ',', at), text.size());
    const std::string pair = trimmed(text.substr(at, end - at));
    at = end + 1;
    if (pair.empty() || pair.front() == '#') continue;
    const size_t equals = pair.find('=');
    const std::string name = trimmed(pair.substr(0, equals));
    if (equals == std::string::npos || name.empty()) {
      // The text may be part of a password, so the message does not show it.
      return invalid_argument(
          format("option %zu is not of the form name=value", options.size() + 1));
    }
    options[name] = trimmed(pair.substr(equals + 1));
  }
  return options;
}

std::string OptionReader::text(const std::string& name, const std::string& fallback) {
  known_.insert(name);
  const auto found = options_.find(name);
  return found == options_.end() ? fallback : found->second;
}

int64_t OptionReader::integer(const std::string& name, int64_t least, int64_t most,
                              int64_t fallback) {
  const std::string value = text(name);
  if (options_.count(name) == 0) return fallback;
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(value.c_str(), &end, 10);
  if (value.empty() || *end != '\0' || errno != 0 || number < least || number > most) {
    if (problem_.empty()) {
      problem_ = format("option %s is '%s', and must be in %lld..%lld", name.c_str(),
                        printable(value).c_str(), static_cast<long long>(least),
                        static_cast<long long>(most));
    }
    return fallback;
  }
  return number;
}

std::string OptionReader::choice(const std::string& name, const std::set<std::string>& choices,
                                 const std::string& fallback) {
  const std::string value = text(name, fallback);
  if (choices.count(value) > 0) return value;
  if (problem_.empty()) {
    problem_ =
        "option " + name + " is '" + printable(value) + "', and must be one of " + joined(choices);
  }
  return fallback;
}

Status OptionReader::status() const {
  if (!problem_.empty()) return invalid_argument(what_ + ": " + problem_);
  for (const auto& option : options_) {
    if (known_.count(option.first) > 0) continue;
    return invalid_argument(what_ + " has no option '" + printable(option.first) + "', but has " +
                            joined(known_));
  }
  return {};
}

namespace {

struct Row {
  const char* scheme;
  TransportResult (*create)(const TransportRequest& request);
  const char* library;  // that it needs
};

#ifdef DVNN_HAVE_MQTT
constexpr auto kMqtt = create_mqtt_transport;
#else
constexpr TransportResult (*kMqtt)(const TransportRequest&) = nullptr;
#endif
#ifdef DVNN_HAVE_KAFKA
constexpr auto kKafka = create_kafka_transport;
#else
constexpr TransportResult (*kKafka)(const TransportRequest&) = nullptr;
#endif
#ifdef DVNN_HAVE_HTTP
constexpr auto kHttp = create_http_transport;
#else
constexpr TransportResult (*kHttp)(const TransportRequest&) = nullptr;
#endif

constexpr Row kRows[] = {{"file", create_file_transport, ""}, {"mqtt", kMqtt, "libmosquitto"},
                         {"mqtts", kMqtt, "libmosquitto"},    {"kafka", kKafka, "librdkafka"},
                         {"http", kHttp, "libcurl"},          {"https", kHttp, "libcurl"}};

}  // namespace

Result<std::unique_ptr<Transport>> create_transport(const Address& address, const Options& options,
                                                    const Identity& identity, Listener* listener) {
  for (const Row& row : kRows) {
    if (address.scheme != row.scheme) continue;
    if (row.create) return row.create({address, options, identity, listener});
    return unsupported("'" + printable(address.url) +
                       "' cannot be published to: gst-dvnn was built without " + row.library);
  }
  return unsupported("'" + printable(address.url) + "' begins with '" + printable(address.scheme) +
                     "', and must with one of " + joined(kRows, ", ", &Row::scheme));
}

}  // namespace dvnn::publish
