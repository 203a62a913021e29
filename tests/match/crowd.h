// SPDX-License-Identifier: Apache-2.0
// People as random directions, and looks at them with noise: the truth that names are held against.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace dvnn::test::match_crowd {

using Vector = std::vector<float>;

inline Vector unit_of(Vector v) {
  double sum = 0;
  for (const float x : v) sum += double{x} * double{x};
  for (float& x : v) x = static_cast<float>(double{x} / std::sqrt(sum));
  return v;
}

/// A person is a random unit vector; a look adds normal noise whose length is `noise` on average.
/// So the expected cosine of a look to its person is 1 / sqrt(1 + noise²).
class Crowd {
 public:
  Crowd(size_t people, size_t length, double noise, unsigned seed)
      : length_(length), noise_(noise), random_(seed) {
    for (size_t i = 0; i < people; ++i) people_.push_back(unit_of(normal(1)));
  }
  const Vector& person(size_t i) const { return people_[i]; }
  size_t size() const { return people_.size(); }
  Vector look(size_t person) {
    Vector seen = normal(noise_ / std::sqrt(static_cast<double>(length_)));
    for (size_t i = 0; i < length_; ++i) seen[i] += people_[person][i];
    return unit_of(seen);
  }
  std::mt19937& random() { return random_; }

 private:
  Vector normal(double deviation) {
    std::normal_distribution<float> number(0, static_cast<float>(deviation));
    Vector v(length_);
    for (float& x : v) x = number(random_);
    return v;
  }

  const size_t length_;
  const double noise_;
  std::mt19937 random_;
  std::vector<Vector> people_;
};

/// The plain definition, in double.
inline double cosine_of(const Vector& a, const Vector& b) {
  double dot = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += double{a[i]} * double{b[i]};
    aa += double{a[i]} * double{a[i]};
    bb += double{b[i]} * double{b[i]};
  }
  return dot / std::sqrt(aa * bb);
}

}  // namespace dvnn::test::match_crowd
