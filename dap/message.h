/* Builds the messages that the relay itself sends, as JSON text without a header. */
#ifndef RAYDBG_DAP_MESSAGE_H
#define RAYDBG_DAP_MESSAGE_H

#include "base/buf.h"
#include "dap/envelope.h"

/* Appends `text` as a JSON string, with quotes. Bytes that are not UTF-8 become U+FFFD; control
 * characters (text_is_control()) are escaped, so that no terminal acts on them. */
void message_quote(struct buf *out, const char *text);
/* Does the same replacements in one line of JSON that another library has written. */
void message_escape(struct buf *out, const char *json);

/* `arguments` and `body` are JSON texts, or NULL for none. Each call appends one message. */
void message_request(struct buf *out, int64_t seq, const char *command, const char *arguments);
void message_event(struct buf *out, int64_t seq, const char *event, const char *body);
void message_response(struct buf *out, int64_t seq, int64_t request_seq, const char *command,
                      const char *body);
/* A response with success:false, `message` and, for the user, body.error{id, format, showUser}.
 * `id` is an err_code: raydbg's own clients exit with it. */
void message_failure(struct buf *out, int64_t seq, int64_t request_seq, const char *command,
                     const char *message, int id, bool show_user);
/* An `output` event; category "console", "important", "stderr", … */
void message_output(struct buf *out, int64_t seq, const char *category, const char *text);

#endif
