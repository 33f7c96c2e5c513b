#include "proto/reply_status.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

int reply_status_malformed(const char *what, struct err *err)
{
    err_set(err, ERR_FAILED, "the cluster's answer about %s could not be read", what);
    return err_hint(err, "is this a Ray cluster of version 2.9 or later?");
}

int reply_status_check(const RayWire__GcsStatus *status, const char *what, struct err *err)
{
    if (!status || status->code == 0)
        return 0;
    char *words = text_printable(status->message, strlen(status->message), "");
    err_set(err, ERR_FAILED, "the GCS did not tell about %s", what);
    err_why(err, "%s (status %d)", words, status->code);
    free(words);
    return -1;
}
