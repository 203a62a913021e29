// SPDX-License-Identifier: Apache-2.0
// Certificates for test servers, made by openssl: of two authorities, `good` and `bad`; the good
// one has signed those of the hosts `localhost` and `elsewhere`.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "check_suite.h"
#include "temporary_folder.h"

class Certificates {
 public:
  Certificates() {
    const std::string script =
        "cd " + folder_.path() +
        " && new='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes' && for ca in good bad; "
        "do "
        "openssl req -x509 $new -days 2 -subj /CN=$ca -keyout $ca.key -out $ca.pem 2>/dev/null || "
        "exit "
        "1; done && for host in localhost elsewhere; do openssl req $new -subj /CN=$host -keyout "
        "$host.key -out $host.csr 2>/dev/null && printf 'subjectAltName=DNS:%s' $host > ext && "
        "openssl "
        "x509 -req -in $host.csr -CA good.pem -CAkey good.key -CAcreateserial -days 2 -extfile ext "
        "-out $host.pem 2>/dev/null || exit 1; done";
    made_ = std::system(script.c_str()) == 0;
    if (!made_) std::printf("skipped: openssl makes no certificates\n");
  }
  bool made() const { return made_; }
  std::string certificate(const std::string& name) const { return folder_.file(name + ".pem"); }
  std::string key(const std::string& name) const { return folder_.file(name + ".key"); }

  /// A server with this host's certificate, and a client that trusts this authority (null: those of
  /// the system).
  struct Case {
    const char *host, *authority;
    bool good;
    std::string text() const {
      return std::string(host) + " with " + (authority ? authority : "the system's");
    }
  };
  static constexpr Case kCases[] = {{"localhost", "good", true},
                                    {"localhost", "bad", false},
                                    {"localhost", nullptr, false},
                                    {"elsewhere", "good", false}};

 private:
  TemporaryFolder folder_;
  bool made_ = false;
};
