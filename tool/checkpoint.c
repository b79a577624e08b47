/* --checkpoint and --resume: long-running work that can be continued. */
#include "tool/checkpoint.h"
#include "tool/console.h"

#include <string.h>
#include <unistd.h>

const pv_option cli_checkpoint_table[] = {CLI_OPTIONS_CHECKPOINT(0), CLI_OPTION_END};

int cli_checkpoint_start(cli_call *call, const cli_checkpoint *options) {
    if (!options->path && (options->resume || cli_given(call, "checkpoint-every")))
        return cli_error(call, PV_ERR_USAGE, NULL, "--%s needs --checkpoint FILE",
                         options->resume ? "resume" : "checkpoint-every");
    if (!options->path)
        return CLI_OK;
    if (strcmp(options->path, "-") == 0)
        return cli_error(call, PV_ERR_USAGE, NULL, "--checkpoint -: give the name of a file");
    pv_status status = pv_checkpoint_open(call->ctx, options->path, options->every, options->resume);
    if (status != PV_OK)
        return cli_fail(call, status);
    if (options->resume &&
        !pv_checkpoint_resumed(
            call->ctx)) /* otherwise the work reports it, once it has verified that the file is its own */
        cli_note(call, "%s: nothing there yet; starting from the beginning", options->path);
    return CLI_OK;
}

int cli_checkpoint_end(cli_call *call, const cli_checkpoint *options, int code) {
    if (!options->path || !call->ctx)
        return code;
    if (code == CLI_OK || code == CLI_PROBLEMS) {
        call->collect =
            false; /* warnings have been printed already; one about a failed write then goes to standard error */
        pv_status status = pv_checkpoint_finish(call->ctx);
        return status == PV_OK ? code : cli_fail(call, status);
    }
    bool interrupted = pv_ctx_interrupted(call->ctx);
    pv_status status = interrupted ? pv_checkpoint_write(call->ctx) : PV_OK;
    pv_checkpoint_close(call->ctx);
    if (status != PV_OK)
        code = cli_fail(call, status);
    if ((interrupted || code == CLI_FAILED) && access(options->path, F_OK) == 0)
        cli_note(call, "to continue, %srepeat the command with --resume: the state is in %s",
                 interrupted ? "" : "fix that and ", options->path);
    return code;
}
