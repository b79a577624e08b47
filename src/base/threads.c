/* The number of threads for parallel regions: at most as many as the system can create and a forked child may have.
 *
 * libgomp keeps the threads of its last region in a pool that belongs to the calling thread. Two of its behaviours
 * cannot be handled afterwards. If it cannot create a thread, it prints a line and ends the process with outputs half
 * written. And after fork the child has the pool but none of its threads, so that a region of more than one thread
 * waits for ever. Therefore every region gets its number of threads here (tests/threads/regions.sh checks that).
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base.h"

/* A property of the process rather than of a context: the only state that the library keeps outside of contexts. */
static atomic_bool forked;

static void on_fork(void) {
    atomic_store(&forked, true);
}

/* Runs when the library is loaded: its caller may have used OpenMP before the first call, and may fork at any time. */
__attribute__((constructor)) static void watch_forks(void) {
    (void)pthread_atfork(NULL, NULL, on_fork);
}

bool pv__forked(void) {
    return atomic_load_explicit(&forked, memory_order_relaxed);
}

#ifdef _OPENMP
static _Thread_local int ready = 1; /* threads known to be in this thread's pool, itself included */

static void *wait_at(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* The stack size that an environment variable requests for OpenMP threads ("4096", "64M", " 1 g "; kilobytes without a
 * unit), in bytes; 0: none, or one that libgomp rejects. */
static size_t stack_of(const char *variable) {
    const char *text = getenv(variable);
    char *end;
    if (!text)
        return 0;
    unsigned long long number = strtoull(text, &end, 10);
    while (end > text && (*end == ' ' || *end == '\t'))
        end++;
    unsigned shift = 10;
    switch (end > text ? *end : 0) {
    case 'b':
    case 'B':
        shift = 0;
        break;
    case 'm':
    case 'M':
        shift = 20;
        break;
    case 'g':
    case 'G':
        shift = 30;
        break;
    default:
        break;
    }
    return number > SIZE_MAX >> shift ? SIZE_MAX : (size_t)number << shift;
}

/* Test threads get the stack size of libgomp's threads, which the user may have set. */
static bool stack_as_libgomp(pthread_attr_t *attributes) {
    size_t size = stack_of("OMP_STACKSIZE"), other = stack_of("GOMP_STACKSIZE");
    size = size > other ? size : other;
    if (pthread_attr_init(attributes) != 0)
        return false;
    if (size < (size_t)PTHREAD_STACK_MIN) /* libgomp also ignores a size that is too small */
        return true;
    if (size < SIZE_MAX / 2 && pthread_attr_setstacksize(attributes, size) == 0)
        return true;
    pthread_attr_destroy(attributes);
    return false;
}

/* How many of the wanted threads the system can create at the same time, with some memory to spare. */
static int creatable(int wanted) {
    enum { MOST = 1024, SPARE = 2 << 20 }; /* SPARE: more than libgomp allocates for a team */
    pthread_t made[MOST];
    pthread_attr_t attributes;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    sigset_t all, before; /* signals are delivered to the caller's threads */
    int count = 0;
    void *spare = mmap(NULL, SPARE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (spare == MAP_FAILED)
        return 0;
    if (!stack_as_libgomp(&attributes)) {
        munmap(spare, SPARE);
        return 0;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&gate);
    while (count < wanted && count < MOST && pthread_create(&made[count], &attributes, wait_at, &gate) == 0)
        count++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < count; i++)
        pthread_join(made[i], NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    munmap(spare, SPARE);
    return count;
}

int pv_threads_ready(int wanted) {
    if (wanted <= 1 || pv__forked())
        return 1;
    if (wanted > ready) {
        wanted = 1 + creatable(wanted - 1);
        if (wanted == 1)
            return 1;
            /* Creates the pool now, so that nothing allocated in between can take the memory of its threads. */
#pragma omp parallel num_threads(wanted)
        {}
    }
    ready = wanted; /* a smaller region makes libgomp release the other threads of the pool */
    return wanted;
}
#else
int pv_threads_ready(int wanted) {
    (void)wanted;
    return 1;
}
#endif
