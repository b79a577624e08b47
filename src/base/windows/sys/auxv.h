#include "../../wasi/sys/auxv.h"
