/*
 * server/starter.h - a process that starts the server anew when it is asked to.
 *
 * No thread of a running server can run a program (sandbox.h), and the server that follows must begin with all rights. So
 * before it gives anything up the server forks this process, which waits. It knows from the beginning which program to
 * run, with which arguments, in which directory; whoever asks chooses nothing but standard output and error, and the
 * channel (channel.h) by which the new server finds the old one. It ends with the server that has made it.
 */
#ifndef RINGNFS_SERVER_STARTER_H
#define RINGNFS_SERVER_STARTER_H

/* The option that the new server gets before all others, with the number of the channel's descriptor. */
#define STARTER_OPTION "take-over"

/*
 * Fork it: the program of this process will be run again with argv. Before any thread is started and anything is given
 * up. Returns a descriptor (close-on-exec) for starter_start(), which ends it when it is closed, or -errno.
 */
int starter_new(char *const *argv);

/*
 * Have a new server started. *channel is the end of its channel that is ours. What keeps the program from running is told
 * by the channel. Returns 0, or -errno: -EPIPE when the starter is gone. Any thread.
 */
int starter_start(int starter, int *channel);

#endif
