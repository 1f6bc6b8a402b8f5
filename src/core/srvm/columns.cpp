#include "columns.hpp"

namespace kernelbayes::srvm {

const double* ColumnCache::column(int row, int h) {
  const int key = row * static_cast<int>(kernels_.size()) + h;
  std::vector<double>& values = columns_[key];
  if (values.empty()) {
    values.resize(x_.rows());
    kernels_[h].block(x_, x_.row(row),
                      Eigen::Map<Eigen::MatrixXd>(values.data(), x_.rows(), 1));
    for (std::size_t s = 0; s < values.size(); ++s) values[s] *= roots_[s];
    age_.push_back(key);
  }
  return values.data();
}

void ColumnCache::trim() {
  while (age_.size() > capacity_) {
    columns_.erase(age_.front());
    age_.pop_front();
  }
}

}  // namespace kernelbayes::srvm
