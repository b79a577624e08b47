/* plain: the log-loss of the rows as they are (Eq. batch loss function),
 *
 *   L = - sum_n v_n sum_y t_ny f_n(y) .
 *
 * It learns p(y|x) of the design; predictions move it to the population asked for (prior correction).
 */
#include "core/loss.h"

const pv__loss_kind pv__loss_plain = {.name = "plain", .of_design = true};
