// One translation unit, see Makevars. Each file also compiles by itself.
#include "kbr/filter.cpp"
#include "kbr/gram.cpp"
#include "kbr/simplex.cpp"
#include "kbr/rotation.cpp"
