/* Descriptors cannot be copied (fcntl fails with EINVAL), and every file has a name. */
#ifndef PV_WASI_FCNTL_H
#define PV_WASI_FCNTL_H

#include_next <fcntl.h>

#ifndef F_DUPFD_CLOEXEC
#define F_DUPFD_CLOEXEC 1030
#define O_TMPFILE O_DIRECTORY /* opens no file for writing, and so fails */
#endif
#endif
