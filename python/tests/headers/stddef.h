typedef unsigned long size_t;
typedef long ptrdiff_t;
