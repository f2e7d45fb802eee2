/* tests/embedded/main.c - the least that a program does with libringnfs; C99 and C++98. Prints a URL. */
#include <ringnfs.h>
#include <stdio.h>
#include <stdlib.h>

int
main(void)
{
    struct ringnfs *server;
    char *url = NULL;
    int failed = 1;

    if (ringnfs_new(&server) == 0 && ringnfs_add_export(server, "memory:/x *(rw,insecure)") == 0 &&
        ringnfs_start(server) == 0 && ringnfs_url(server, "/x", &url) == 0 && ringnfs_stop(server) == 0)
        failed = puts(url) < 0;
    else
        fprintf(stderr, "%s\n", ringnfs_error(server));
    free(url);
    ringnfs_free(server);
    return failed;
}
