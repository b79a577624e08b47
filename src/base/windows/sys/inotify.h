#include "base/wasi/sys/inotify.h"
