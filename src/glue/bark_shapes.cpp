#include "glue/bark_shapes.hpp"

#include <memory>
#include <utility>

#include "glue/lists.hpp"

namespace bark_r {

void add_shapes(Rcpp::List& out, const std::vector<bark::Slot>& slots) {
  std::vector<double> centre, log_lambda;
  std::vector<int> included;
  bool any = false;
  for (const bark::Slot& slot : slots) {
    if (!slot.shape) continue;
    any = true;
    const bark::Shape& own = *slot.shape;
    centre.insert(centre.end(), own.centre.begin(), own.centre.end());
    log_lambda.insert(log_lambda.end(), own.log_lambda.begin(),
                      own.log_lambda.end());
    included.insert(included.end(), own.included.begin(), own.included.end());
  }
  if (!any) return;
  out.push_back(centre, "centre");
  out.push_back(log_lambda, "own_log_lambda");
  out.push_back(included, "own_included");
}

void take_shapes(const Rcpp::List& list, std::size_t p,
                 std::vector<bark::Slot>& slots) {
  if (!list.containsElementNamed("own_included")) return;
  const auto centre = get<double>(list, "centre"),
             log_lambda = get<double>(list, "own_log_lambda");
  const auto included = get<int>(list, "own_included");
  std::size_t first = 0, shapes = 0;
  for (const bark::Slot& slot : slots) shapes += slot.location != 0;
  const auto fits = [&](const auto& all) {
    return all.empty() || all.size() == shapes * p;
  };
  require(fits(centre) && fits(log_lambda) && fits(included),
          "the state's kernels lack shapes");
  const auto part = [&first, p](const auto& all, auto& out) {
    if (!all.empty()) {
      out.assign(all.begin() + first, all.begin() + first + p);
    }
  };
  for (bark::Slot& slot : slots) {
    if (slot.location == 0) continue;
    bark::Shape own;
    part(centre, own.centre);
    part(log_lambda, own.log_lambda);
    part(included, own.included);
    slot.shape = std::make_shared<bark::Shape>(std::move(own));
    first += p;
  }
}

}  // namespace bark_r
