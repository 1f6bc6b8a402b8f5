#pragma once

#include <Eigen/Core>
#include <array>
#include <cstdint>
#include <functional>
#include <kernelbayes/rng.hpp>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace kernelbayes {

/// A stored state that no machine can have written, or none with these
/// settings.
struct DamagedState : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// Requirements on stored numbers: `length` of them (-1: any), in [lower,
/// upper].
struct Want {
  Eigen::Index length = -1;
  double lower = -std::numeric_limits<double>::max();
  double upper = std::numeric_limits<double>::max();
  bool missing = false;  // may they be missing or infinite?

  static Want of(Eigen::Index length) { return {length}; }
  static Want between(double lower, double upper, Eigen::Index length = -1) {
    return {length, lower, upper};
  }
  static Want positive(Eigen::Index length = -1) {
    return between(std::numeric_limits<double>::min(),
                   std::numeric_limits<double>::max(), length);
  }
  /// Counts that keep growing: far below integer overflow.
  static Want tally(Eigen::Index length = -1) {
    return between(0, 1e9, length);
  }
  static Want anything() {
    Want out;
    out.missing = true;
    return out;
  }
};

/// Carries states to or from named values. A state is described once, by a
/// function that names its contents: the archive then writes it, or reads and
/// checks it.
class Archive {
 public:
  virtual ~Archive() = default;
  virtual bool reading() const = 0;
  /// The number of values to read under a name; 0 if there are none.
  virtual std::size_t size(const char* name) const = 0;

  /// A list of named values inside this one.
  using Body = std::function<void(Archive&)>;
  virtual void within(const char* name, const Body& body) = 0;
  /// A list of `count` such lists.
  using EachBody = std::function<void(Archive&, std::size_t)>;
  virtual void list(const char* name, std::size_t count,
                    const EachBody& body) = 0;

  void operator()(const char* name, std::vector<int>& values, Want want = {});
  void operator()(const char* name, std::vector<double>& values,
                  Want want = {});
  void operator()(const char* name, std::vector<char>& flags, Want want = {});
  void operator()(const char* name, Eigen::VectorXd& values, Want want = {});
  /// -1: any number of rows or columns.
  void operator()(const char* name, Eigen::MatrixXd& matrix,
                  Eigen::Index rows = -1, Eigen::Index columns = -1);
  void operator()(const char* name, int& value, Want want = {});
  void operator()(const char* name, double& value, Want want = {});
  void operator()(const char* name, Rng& rng);

  /// Names for values that were just written.
  virtual void label(const char*, const std::vector<std::string>&) {}

  /// As above if the state has these values: `there` when it is written.
  template <class... Arguments>
  void optional(bool there, const char* name, Arguments&&... arguments) {
    if (reading() ? size(name) > 0 : there) {
      (*this)(name, std::forward<Arguments>(arguments)...);
    }
  }

  /// One value per item: `get` returns a reference to it.
  template <class T, class Items, class Get>
  void each(const char* name, Items& items, Get get, Want want = {}) {
    std::vector<T> values;
    if (!reading()) {
      for (auto& item : items) values.push_back(get(item));
    }
    want.length = static_cast<Eigen::Index>(items.size());
    (*this)(name, values, want);
    for (std::size_t i = 0; reading() && i < items.size(); ++i) {
      get(items[i]) = values[i];
    }
  }

  /// The vectors of all items, one after another; when reading, they must
  /// already have their sizes.
  template <class Items, class Get>
  void ragged(const char* name, Items& items, Get get, Want want = {}) {
    typename std::decay<decltype(get(items[0]))>::type values;
    std::size_t total = 0;
    for (auto& item : items) total += get(item).size();
    if (!reading()) {
      values.reserve(total);
      for (auto& item : items) {
        values.insert(values.end(), get(item).begin(), get(item).end());
      }
    }
    want.length = static_cast<Eigen::Index>(total);
    (*this)(name, values, want);
    if (!reading()) return;
    auto next = values.begin();
    for (auto& item : items) {
      std::copy(next, next + get(item).size(), get(item).begin());
      next += get(item).size();
    }
  }

  /// For the reader: throws if a condition on several values fails.
  void require(bool holds, const char* name, const char* wanted) const;

 protected:
  virtual void carry(const char* name, std::vector<int>& values) = 0;
  virtual void carry(const char* name, std::vector<double>& values) = 0;
  virtual void carry(const char* name, Eigen::MatrixXd& matrix) = 0;
  /// The location of a name, for messages.
  virtual std::string path(const char* name) const = 0;

 private:
  template <class Values>
  void check(const char* name, const Values& values, const Want& want) const;
};

}  // namespace kernelbayes
