#include "archive.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace kernelbayes {

namespace {

std::string in_words(const Want& want) {
  std::ostringstream out;
  const std::string kind = want.missing ? "number" : "finite number";
  if (want.length == 1) {
    out << "a " << kind;
  } else {
    if (want.length >= 0) out << want.length << ' ';
    out << kind << 's';
  }
  const Want any;
  if (want.lower > any.lower) out << " of at least " << want.lower;
  if (want.upper < any.upper) out << " up to " << want.upper;
  return out.str();
}

}  // namespace

template <class Values>
void Archive::check(const char* name, const Values& values,
                    const Want& want) const {
  if (!reading()) return;
  bool fits =
      want.length < 0 || static_cast<std::size_t>(want.length) == values.size();
  if (!want.missing) {
    for (const double value : values) {
      // Also false for NaN.
      fits = fits && value >= want.lower && value <= want.upper;
    }
  }
  if (!fits) throw DamagedState(path(name) + " must be " + in_words(want));
}

void Archive::require(bool holds, const char* name, const char* wanted) const {
  if (!holds) throw DamagedState(path(name) + " must be " + wanted);
}

void Archive::operator()(const char* name, std::vector<int>& values,
                         Want want) {
  carry(name, values);
  check(name, values, want);
}

void Archive::operator()(const char* name, std::vector<double>& values,
                         Want want) {
  carry(name, values);
  check(name, values, want);
}

void Archive::operator()(const char* name, std::vector<char>& flags,
                         Want want) {
  std::vector<int> values(flags.begin(), flags.end());
  carry(name, values);
  check(name, values, Want::between(0, 1, want.length));
  flags.assign(values.begin(), values.end());
}

void Archive::operator()(const char* name, Eigen::VectorXd& values, Want want) {
  std::vector<double> copy(values.data(), values.data() + values.size());
  (*this)(name, copy, want);
  values = Eigen::Map<Eigen::VectorXd>(copy.data(), copy.size());
}

void Archive::operator()(const char* name, Eigen::MatrixXd& matrix,
                         Eigen::Index rows, Eigen::Index columns) {
  carry(name, matrix);
  if (!reading()) return;
  require((rows < 0 || matrix.rows() == rows) &&
              (columns < 0 || matrix.cols() == columns) && matrix.allFinite(),
          name, "a matrix of finite numbers that fits the data");
}

void Archive::operator()(const char* name, int& value, Want want) {
  std::vector<int> one{value};
  want.length = 1;
  (*this)(name, one, want);
  value = one[0];
}

void Archive::operator()(const char* name, double& value, Want want) {
  std::vector<double> one{value};
  want.length = 1;
  (*this)(name, one, want);
  value = one[0];
}

// R has no 64-bit integers: each word becomes two numbers of 32 bits.
void Archive::operator()(const char* name, Rng& rng) {
  constexpr double kMost = 4294967295.0;
  auto words = rng.state();
  std::vector<double> halves;
  for (const std::uint64_t word : words) {
    halves.push_back(static_cast<double>(word >> 32));
    halves.push_back(static_cast<double>(word & 0xffffffffULL));
  }
  (*this)(name, halves, Want::between(0, kMost, 2 * words.size()));
  if (!reading()) return;
  require(std::any_of(halves.begin(), halves.end(),
                      [](double half) { return half != 0; }),
          name, "a state of a random stream that is not all 0");
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = static_cast<std::uint64_t>(halves[2 * i]) << 32 |
               static_cast<std::uint64_t>(halves[2 * i + 1]);
  }
  rng.set_state(words);
}

}  // namespace kernelbayes
