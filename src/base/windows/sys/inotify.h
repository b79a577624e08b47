#include "../../wasi/sys/inotify.h"
