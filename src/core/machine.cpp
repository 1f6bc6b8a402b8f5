#include "machine.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>

namespace kernelbayes {

namespace {

/// Hands out machines in short turns, those that are furthest behind first, so
/// that threads finish at about the same time however the machines differ.
class Turns {
 public:
  Turns(const std::vector<Machine*>& machines, int n, int turns)
      : turn_(std::max(n / turns, 1)) {
    for (Machine* machine : machines) waiting_.push_back({machine, n});
  }

  /// Advances machines until none is left for this thread.
  void take() {
    for (Job job; next(job); put_back(job)) {
      const int n = std::min(job.left, turn_);
      job.machine->advance(n);
      job.left -= n;
    }
  }

 private:
  struct Job {
    Machine* machine;
    int left;
  };

  bool next(Job& job) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_.empty()) return false;
    const auto last = std::max_element(
        waiting_.begin(), waiting_.end(),
        [](const Job& a, const Job& b) { return a.left < b.left; });
    job = *last;
    waiting_.erase(last);
    return true;
  }

  void put_back(const Job& job) {
    if (job.left == 0) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(job);
  }

  const int turn_;
  std::mutex mutex_;
  std::vector<Job> waiting_;
};

}  // namespace

void advance_machines(const std::vector<Machine*>& machines, int n, int threads,
                      const Executor& executor) {
  constexpr int kTurns = 8;
  Turns turns(machines, n, threads > 1 ? kTurns : 1);
  executor(static_cast<std::size_t>(threads),
           [&turns](std::size_t begin, std::size_t end) {
             for (; begin < end; ++begin) turns.take();
           });
}

}  // namespace kernelbayes
