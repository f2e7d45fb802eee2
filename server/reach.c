/* server/reach.c - see reach.h. */
#include "server/reach.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/control_commands.h"

/* Bytes that neither a shell nor a URL takes for something else. */
static bool
is_plain(char c)
{
    return c != '\0' && (isalnum((unsigned char)c) || strchr("/._-", c) != NULL) && !((unsigned char)c & 0x80);
}

static bool
is_any(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET)
        return ((const struct sockaddr_in *)address)->sin_addr.s_addr == htonl(INADDR_ANY);
    return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

static void
write_host(char *host, size_t size, const struct sockaddr_storage *address)
{
    char text[INET6_ADDRSTRLEN] = "";

    if (address->ss_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text, sizeof(text));
    else
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text, sizeof(text));
    if (is_any(address))
        strcpy(text, address->ss_family == AF_INET ? "127.0.0.1" : "::1");
    snprintf(host, size, address->ss_family == AF_INET ? "%s" : "[%s]", text);
}

void
reach_init(struct reach *reach, struct server *server, const struct sockaddr_storage *addresses, size_t naddresses)
{
    const struct sockaddr_storage everywhere = { .ss_family = AF_INET }, *chosen = &everywhere;
    char value[8] = "", error[128];

    for (size_t i = naddresses; i-- > 0;)
        if (addresses[i].ss_family == AF_INET6)
            chosen = &addresses[i];
    for (size_t i = naddresses; i-- > 0;)
        if (addresses[i].ss_family == AF_INET)
            chosen = &addresses[i];
    write_host(reach->host, sizeof(reach->host), chosen);
    server_ports(server, &reach->ports);
    reach->tcp = server_setting(server, "tcp", value, sizeof(value), error, sizeof(error)) == 0 && strcmp(value, "on") == 0;
}

/* A word of a shell: in quotes if it has to be. */
static void
print_word(FILE *out, const char *word, const char *plain)
{
    if (word[strspn(word, plain)] == '\0') {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word != '\0'; word++)
        fputs(*word == '\'' ? "'\\''" : (char[]){ *word, '\0' }, out);
    fputc('\'', out);
}

/* Close a stream of open_memstream(); NULL when something could not be written. */
static char *
finish(FILE *out, char **text)
{
    bool failed = ferror(out) != 0;

    if (fclose(out) == 0 && !failed)
        return *text;
    free(*text);
    return NULL;
}

char *
reach_command(const struct reach *reach, const char *path)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-:";
    const char *proto = reach->tcp ? "tcp" : "udp";
    char *text = NULL, *place = NULL;
    size_t size;
    FILE *out;

    if (asprintf(&place, "%s:%s", reach->host, path) < 0)
        return NULL;
    out = open_memstream(&text, &size);
    if (out != NULL) {
        fprintf(out, "mount -t nfs -o vers=3,%s,mountproto=%s,port=%u,mountport=%u,nolock ", proto, proto,
                reach->ports.nfs, reach->ports.mount);
        print_word(out, place, letters);
        fputs(" /mnt", out);
        text = finish(out, &text);
    }
    free(place);
    return text;
}

char *
reach_url(const struct reach *reach, const char *path)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL)
        return NULL;
    fprintf(out, "nfs://%s", reach->host);
    for (; *path != '\0'; path++)
        fprintf(out, is_plain(*path) ? "%c" : "%%%02X", (unsigned char)*path);
    fprintf(out, "?nfsport=%u&mountport=%u", reach->ports.nfs, reach->ports.mount);
    return finish(out, &text);
}

static json_t *
pack_export(const struct reach *reach, const char *path)
{
    char *command, *url;
    json_t *packed = NULL;

    if (reach->ports.nfs == 0)
        return json_pack("{s:o}", "path", control_text(path));
    command = reach_command(reach, path);
    url = reach_url(reach, path);
    if (command != NULL && url != NULL)
        packed = json_pack("{s:o, s:o, s:s}", "path", control_text(path), "command", control_text(command), "url", url);
    free(command);
    free(url);
    return packed;
}

char *
reach_json(const struct reach *reach, struct server *server)
{
    struct exports *set = server_exports(server);
    json_t *list = json_array(), *all;
    char *text = NULL;
    int err = 0;

    for (size_t i = 0; i < set->count && err == 0; i++)
        err = json_array_append_new(list, pack_export(reach, set->list[i].path));
    exports_put(set);
    all = json_pack("{s:i, s:i, s:o}", "nfs", (int)reach->ports.nfs, "mount", (int)reach->ports.mount, "exports", list);
    if (err == 0 && all != NULL)
        text = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    return text;
}
