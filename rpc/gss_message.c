/* rpc/gss_message.c - see gss_message.h. */
#include "rpc/gss_message.h"

#include <errno.h>

#include "xdr/wire.h"

#define VERSION 1
#define WORD_BITS 64
#define WORDS (GSS_WINDOW / WORD_BITS)

int
gss_message_read_cred(struct gss_cred *cred, const uint8_t *body, size_t len)
{
    struct wire_in in = { body, body + len, false };
    uint32_t version = wire_get_u32(&in), proc = wire_get_u32(&in), service;

    cred->seq = wire_get_u32(&in);
    service = wire_get_u32(&in);
    cred->handle = wire_get_opaque(&in, (uint32_t)len, &cred->handle_len);
    cred->proc = (enum gss_proc)proc;
    cred->service = (enum gss_service)service;
    if (in.bad || in.p != in.end || version != VERSION || proc > GSS_PROC_DESTROY || service < GSS_SERVICE_NONE ||
        service > GSS_SERVICE_PRIVACY)
        return -EBADMSG;
    return 0;
}

/* Move up by `steps`, so that the place of the highest number is free. */
static void
move_up(struct gss_window *window, uint32_t steps)
{
    unsigned words = steps / WORD_BITS, bits = steps % WORD_BITS, i;
    uint64_t from;

    for (i = WORDS; i-- > 0;) {
        from = i >= words ? window->seen[i - words] << bits : 0;
        if (bits > 0 && i > words)
            from |= window->seen[i - words - 1] >> (WORD_BITS - bits);
        window->seen[i] = from;
    }
}

bool
gss_window_take(struct gss_window *window, uint32_t seq)
{
    uint32_t below;

    if (!window->begun || seq > window->highest) {
        if (window->begun)
            move_up(window, seq - window->highest < GSS_WINDOW ? seq - window->highest : GSS_WINDOW);
        window->begun = true;
        window->highest = seq;
        window->seen[0] |= 1;
        return true;
    }
    below = window->highest - seq;
    if (below >= GSS_WINDOW || (window->seen[below / WORD_BITS] >> below % WORD_BITS & 1) != 0)
        return false;
    window->seen[below / WORD_BITS] |= UINT64_C(1) << below % WORD_BITS;
    return true;
}
