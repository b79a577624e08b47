#include "base/wasi/sys/auxv.h"
