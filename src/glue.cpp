// One translation unit, see Makevars. Each file also compiles by itself.
#include "core/small.hpp"

#include "glue/archive.cpp"
#include "glue/bark_from_r.cpp"
#include "glue/executor.cpp"
#include "glue/kernel_from_r.cpp"
#include "glue/lists.cpp"
#include "glue/srvm_config.cpp"
