// Parts of the C library's interface that Swift's Glibc module omits.
#ifndef CSOCKET_SHIM_H
#define CSOCKET_SHIM_H

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

// <sys/socket.h> declares accept4 only with _GNU_SOURCE. Without it, a process started between
// accept and fcntl would inherit the connection and keep it open.
int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

// <pthread.h> declares this only with _GNU_SOURCE, too.
int pthread_setname_np(pthread_t thread, const char *name);

#endif
