// Included by RcppExports.cpp, before all else.
#include "core/small.hpp"
