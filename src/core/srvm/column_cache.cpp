#include "column_cache.hpp"

namespace kernelbayes {
namespace srvm {

const double* ColumnCache::column(int row) {
  std::vector<double>& values = columns_[row];
  if (values.empty()) {
    values.resize(x_.rows());
    kernel_.block(x_, x_.row(row),
                  Eigen::Map<Eigen::MatrixXd>(values.data(), x_.rows(), 1));
    age_.push_back(row);
  }
  return values.data();
}

void ColumnCache::trim() {
  while (age_.size() > capacity_) {
    columns_.erase(age_.front());
    age_.pop_front();
  }
}

}  // namespace srvm
}  // namespace kernelbayes
