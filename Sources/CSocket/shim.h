// What Swift's Glibc module leaves out of the C library's socket interface.
#ifndef CSOCKET_SHIM_H
#define CSOCKET_SHIM_H

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

// <sys/socket.h> declares it for _GNU_SOURCE only. Without it a process that is started between accept and fcntl
// would inherit the connection and keep it open.
int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

#endif
