/* plain: the log-loss of the rows without correction (Eq. batch loss function),
 *
 *   L = - sum_n v_n sum_y t_ny f_n(y) .
 *
 * It estimates p(y|x) under the sampling design; predictions convert it to the requested population (prior correction).
 */
#include "core/loss.h"

const pv__loss_kind pv__loss_plain = {.name = "plain", .of_design = true};
