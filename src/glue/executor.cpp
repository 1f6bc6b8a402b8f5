#include "glue/executor.hpp"

#include <RcppThread.h>

#include <algorithm>
#include <exception>
#include <future>
#include <memory>
#include <vector>

kernelbayes::Executor make_executor(int threads, std::size_t worth_splitting) {
  // The system refuses many more, and that ends the process.
  constexpr int kMost = 256;
  threads = std::min(threads, kMost);
  if (threads <= 1) return kernelbayes::serial_executor();
  auto pool = std::make_shared<RcppThread::ThreadPool>(threads - 1);
  return [pool, threads, worth_splitting](std::size_t n, const auto& body) {
    const std::size_t parts = std::min<std::size_t>(
        threads, std::max<std::size_t>(n / worth_splitting, 1));
    std::vector<std::future<void>> others;
    for (std::size_t part = 1; part < parts; ++part) {
      const std::size_t begin = n * part / parts;
      const std::size_t end = n * (part + 1) / parts;
      others.push_back(
          pool->pushReturn([&body, begin, end] { body(begin, end); }));
    }
    std::exception_ptr failure;
    try {
      body(0, n / parts);
    } catch (...) {
      failure = std::current_exception();
    }
    for (auto& other : others) {
      try {
        other.get();
      } catch (...) {
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
  };
}
