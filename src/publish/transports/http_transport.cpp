// SPDX-License-Identifier: Apache-2.0
// Webhooks by libcurl: POST of one message, or of several as lines. 2xx is an acknowledgement; what
// says that the message itself is bad drops it; all else is tried again.
#include <curl/curl.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/format.h"
#include "publish/transports/transports.h"

namespace dvnn::publish {
namespace {

struct HttpSettings {
  std::string url, user, password, bearer, header, ca, certificate, key;
  size_t batch = 1;
  std::string content_type;
  long timeout_ms = 10000;
};

void use_curl() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)once;
}

size_t ignore_answer(char*, size_t size, size_t count, void*) {
  return size * count;
}

class HttpTransport final : public Transport {
 public:
  HttpTransport(HttpSettings settings, Listener* listener)
      : settings_(std::move(settings)), listener_(listener) {
    use_curl();
  }
  ~HttpTransport() override { close(); }

  void connect() override {
    close();
    stopping_ = false;
    up_ = true;
    thread_ = std::thread([this] { post_all(); });
    listener_->ready({});
  }

  bool send(uint64_t token, const Message& message) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!up_) return false;
    waiting_.push_back({token, message.body});
    changed_.notify_one();
    return true;
  }

  size_t window() const override { return 2 * settings_.batch; }

  void close() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
      up_ = false;
      changed_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
    waiting_.clear();
  }

 private:
  struct Post {
    uint64_t token;
    std::string body;
  };

  // The thread of a connection: ends at the first failure.
  void post_all() {
    CURL* curl = curl_easy_init();
    curl_slist* headers = curl ? set_up(curl) : nullptr;
    std::string why = curl ? "" : "there is no memory for a request";
    size_t singly = 0;  // number of messages yet to be posted one by one, to find the bad one
    while (why.empty()) {
      std::vector<Post> posts;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (stopping_) break;
        const size_t most = singly > 0 ? 1 : settings_.batch;
        for (size_t i = 0; i < most && !waiting_.empty(); ++i) {
          posts.push_back(std::move(waiting_.front()));
          waiting_.pop_front();
        }
      }
      long status = 0;
      why = post(curl, posts, &status);
      const bool bad_message = status == 400 || status == 413 || status == 422;
      if (!why.empty() && bad_message && posts.size() > 1) {
        singly = posts.size();
        const std::lock_guard<std::mutex> lock(mutex_);
        waiting_.insert(waiting_.begin(), std::make_move_iterator(posts.begin()),
                        std::make_move_iterator(posts.end()));
        why.clear();
        continue;
      }
      if (singly > 0) --singly;
      if (why.empty()) {
        for (const Post& one : posts) listener_->acknowledged(one.token);
      } else if (bad_message) {
        listener_->rejected(posts.front().token, std::exchange(why, {}));
      }
    }
    curl_slist_free_all(headers);
    if (curl) curl_easy_cleanup(curl);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      up_ = false;
      if (stopping_) return;
    }
    listener_->lost(why);
  }

  curl_slist* set_up(CURL* curl) {
    const HttpSettings& s = settings_;
    const auto text = [curl](CURLoption option, const std::string& value) {
      if (!value.empty()) curl_easy_setopt(curl, option, value.c_str());
    };
    text(CURLOPT_URL, s.url);
    text(CURLOPT_USERNAME, s.user);
    text(CURLOPT_PASSWORD, s.password);
    text(CURLOPT_CAINFO, s.ca);
    text(CURLOPT_SSLCERT, s.certificate);
    text(CURLOPT_SSLKEY, s.key);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "gst-dvnn");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, s.timeout_ms);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore_answer);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, is_stopping);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, this);
    curl_slist* headers = curl_slist_append(nullptr, ("Content-Type: " + s.content_type).c_str());
    // Without this, each large message costs a second on servers that do not know 100-continue.
    headers = curl_slist_append(headers, "Expect:");
    if (!s.bearer.empty()) {
      headers = curl_slist_append(headers, ("Authorization: Bearer " + s.bearer).c_str());
    }
    if (!s.header.empty()) headers = curl_slist_append(headers, s.header.c_str());
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    return headers;
  }

  // Returns the error, or an empty text.
  std::string post(CURL* curl, const std::vector<Post>& posts, long* status) const {
    std::string body;
    for (const Post& one : posts) body += one.body + (settings_.batch > 1 ? "\n" : "");
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
    const CURLcode code = curl_easy_perform(curl);
    if (code != CURLE_OK) {
      return "'" + printable(settings_.url) + "': " + curl_easy_strerror(code);
    }
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, status);
    constexpr long kGood = 200, kNoMoreGood = 300;
    if (*status >= kGood && *status < kNoMoreGood) return {};
    return format("'%s' answers %ld", printable(settings_.url).c_str(), *status);
  }

  static int is_stopping(void* data, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    auto* self = static_cast<HttpTransport*>(data);
    const std::lock_guard<std::mutex> lock(self->mutex_);
    return self->stopping_ ? 1 : 0;
  }

  const HttpSettings settings_;
  Listener* const listener_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Post> waiting_;
  bool stopping_ = false, up_ = false;
};

}  // namespace

TransportResult create_http_transport(const TransportRequest& request) {
  OptionReader in(request.options, request.address.scheme);
  HttpSettings s;
  constexpr int64_t kMostBatch = 10000, kLongestTimeout = 600000;
  s.url = request.address.url;
  s.user = in.text("user", request.address.user);
  s.password = in.text("password", request.address.password);
  s.bearer = in.text("bearer");
  s.header = in.text("header");
  s.batch = static_cast<size_t>(in.integer("batch", 1, kMostBatch, 1));
  s.timeout_ms = static_cast<long>(in.integer("timeout", 1, kLongestTimeout, s.timeout_ms));
  if (request.address.scheme == "https") {
    s.ca = in.text("ca");
    s.certificate = in.text("certificate");
    s.key = in.text("key");
  }
  DVNN_TRY(in.status());
  s.content_type = request.identity.content_type;
  if (s.batch > 1) {
    if (s.content_type != "application/json") {
      return invalid_argument("batch is " + std::to_string(s.batch) +
                              ", and must be 1 for documents that are not JSON");
    }
    s.content_type = "application/x-ndjson";
  }
  return {std::make_unique<HttpTransport>(std::move(s), request.listener)};
}

}  // namespace dvnn::publish
