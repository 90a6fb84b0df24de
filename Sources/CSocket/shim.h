// Parts of the C library's socket interface that Swift's Glibc module omits.
#ifndef CSOCKET_SHIM_H
#define CSOCKET_SHIM_H

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

// <sys/socket.h> declares accept4 only with _GNU_SOURCE. Without it, a process started between
// accept and fcntl would inherit the connection and keep it open.
int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

#endif
