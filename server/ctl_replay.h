/* server/ctl_replay.h - ringnfsctl replay: the command line of replay.h. */
#ifndef RINGNFS_SERVER_CTL_REPLAY_H
#define RINGNFS_SERVER_CTL_REPLAY_H

/*
 * Run it; argv[0] is "replay". Returns the exit status: 0 when nothing differs, 1 when something does, 2 when not all could
 * be sent or compared, or the command line is wrong.
 */
int ctl_replay(int argc, char **argv);

#endif
