/* prevail/streams.h: all purposes of the random streams.
 *
 * A stream is keyed by (seed, purpose, index): two places that use the same purpose with the same seed draw the same
 * numbers, so each has its own purpose. pv_stream_name has a switch case for each, so that the compiler rejects
 * duplicate numbers. Never change a number, since the same seed would then give other results. docs/architecture.md has
 * this list as a table (tests/streams.sh --update writes it).
 *
 *   X(NAME, number, "what the index counts")
 */
#ifndef PREVAIL_STREAMS_H
#define PREVAIL_STREAMS_H

#ifdef __cplusplus
extern "C" {
#endif

#define PV_STREAM_LIST(X)                                                                                              \
    X(BENCH_WEIGHTS, 1, "0")                                                                                           \
    X(BENCH_ROWS, 2, "row")                                                                                            \
    X(BENCH_PROBABILITIES, 3, "0")                                                                                     \
    X(BENCH_VOLUMES, 4, "0")                                                                                           \
    X(BENCH_VIEWS, 5, "image")                                                                                         \
    X(BENCH_PREDICTIONS, 6, "row")                                                                                     \
    X(MLP_START, 11, "layer")                                                                                          \
    X(NETWORK_START, 12, "node; 64: the output layer")                                                                 \
    X(BATCHES, 21, "class x 2^40 + number of the shuffle (uniform: class 0)")                                          \
    X(DESIGN, 22, "class x 2^40 + shuffles so far")                                                                    \
    X(VIEWS, 23, "images that training has taken so far")                                                              \
    X(FIXED_VIEWS, 24, "view, or triplet; the seed is 0")                                                              \
    X(DROPOUT, 31, "view ever seen x 64 + node")                                                                       \
    X(HMC_START, 32, "chain x 2^40")                                                                                   \
    X(HMC_STEP, 33, "chain x 2^40 + iteration")                                                                        \
    X(HMC_TRANSITION, 34, "chain x 2^40 + iteration")                                                                  \
    X(LAPLACE, 35, "draw")                                                                                             \
    X(LAPLACE_PREVALENCE, 36, "draw")                                                                                  \
    X(REFERENCE, 40, "0")                                                                                              \
    X(VI_START, 41, "component")                                                                                       \
    X(VI_STEP, 42, "step x components + component")                                                                    \
    X(VI_BOUND, 43, "component")                                                                                       \
    X(VI_DRAWS, 44, "component + 1; 0: their order; 2^64 - 1: those drawn again")                                      \
    X(VI_REST, 45, "call")                                                                                             \
    X(VI_DIRECTIONS, 46, "first point of a chunk; the number of points: the basis")                                    \
    X(BOOTSTRAP, 51, "replicate")                                                                                      \
    X(IMPORTANCE, 52, "column x 2^32 + permutation")                                                                   \
    X(RATE, 53, "replicate")                                                                                           \
    X(SETS, 61, "0")                                                                                                   \
    X(STUDY_PEOPLE, 901, "replicate")                                                                                  \
    X(STUDY_PREVALENCE, 902, "replicate")                                                                              \
    X(STUDY_SBC, 903, "replicate")                                                                                     \
    X(STUDY_SPLIT, 911, "split")                                                                                       \
    X(STUDY_CONTROLS, 912, "data set")                                                                                 \
    X(STUDY_CLINIC, 921, "0")                                                                                          \
    X(STUDY_RATE, 931, "cell x replicates + replicate")                                                                \
    X(STUDY_SIZE, 961, "cell x replicates + replicate")                                                                \
    X(STUDY_SETS, 937, "cell x replicates + replicate")                                                                \
    X(STUDY_EFFECT, 971, "cell x replicates + replicate")                                                              \
    X(STUDY_LABELS, 951, "cell x replicates + replicate")                                                              \
    X(TARGET_PREVALENCE, 0x7072, "pair of draws of pi")                                                                \
    X(TARGET_CHAIN, 0x7073, "draw of w")                                                                               \
    X(TARGET_DIRICHLET, 0x7074, "draw")                                                                                \
    X(TARGET_LEVELS, 0x7075, "0")                                                                                      \
    X(TARGET_FIT, 0x7076, "replicate")                                                                                 \
    X(TARGET_PERFORMANCE, 0x7077, "draw")                                                                              \
    X(CT_NODULE, 0x637431, "row")                                                                                      \
    X(CT_VOTES, 0x637432, "row")                                                                                       \
    X(CT_PATIENT, 0x637433, "patient; + 2^40: the scanner")                                                            \
    X(CT_IMAGE, 0x637434, "row")                                                                                       \
    X(CT_ORDER, 0x637435, "0")                                                                                         \
    X(FOLDS, 0x666F6C, "class x 2^40 + repeat (strata: label in stratum; groups: 0)")                                  \
    X(GAUSSIAN, 0x676175, "row")                                                                                       \
    X(NODULES, 0x6E6F64, "row")                                                                                        \
    X(SITES, 0x736974, "row")                                                                                          \
    X(COHORT, 0x636F68, "person")                                                                                      \
    X(MATCHED, 0x6D6174, "set")                                                                                        \
    X(SURVEY, 0x737572, "cluster")
typedef enum pv_stream {
#define PV_STREAM_ENUM(name, number, index) PV_STREAM_##name = (number),
    PV_STREAM_LIST(PV_STREAM_ENUM)
#undef PV_STREAM_ENUM
} pv_stream;

const char *pv_stream_name(pv_stream stream); /* "MLP_START"; never NULL */

#ifdef __cplusplus
}
#endif
#endif
