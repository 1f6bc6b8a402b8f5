// What follows runs a few times per fit: it is compiled to be small, so that the
// installed package stays small. Included by translation units only.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("Os")
#endif
