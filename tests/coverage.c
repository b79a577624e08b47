/* Linked into every program of `make coverage`: lifts a limit on the file size (tests/kill/full.sh) at exit, so that
 * coverage counts can be written, which happens after all other destructors.
 */
#include <sys/resource.h>

__attribute__((destructor)) static void lift_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_FSIZE, &limit);
    }
}
