// Package proc runs child processes and tells what they use: CPU, memory, descriptors.
//
// It does not know what the processes are, nor read their output but for what they
// said last. Only Linux has it; elsewhere what it cannot do wraps errors.ErrUnsupported.
//
// # Design
//
// A process is the leader of a group of its own, so that an interrupt typed at a
// terminal reaches its parent alone, and what it leaves behind can be ended with it.
// The kernel ends it when its parent dies (PR_SET_PDEATHSIG): with SIGKILL, or with
// SIGTERM where children of its own would be orphaned.
//
// CPU is read from each process's CPU clock (clock_gettime on the clock that
// clock_getcpuclockid(3) names): nanoseconds the scheduler has counted, of all
// threads, also those that have ended. The alternatives are worse: utime and stime in
// /proc/PID/stat are the same sum in ticks of 10 ms, and /proc/PID/task/*/schedstat
// forgets a thread as it ends. A process is counted with its living descendants;
// what a descendant used that has ended is lost, so a measurement compares the same
// set of processes at both ends, and fails otherwise.
//
// Work that the kernel does in softirqs is charged to whoever was running: on
// loopback, mostly the sender of a packet pays for its way to the receiver's queue. A
// kernel with CONFIG_IRQ_TIME_ACCOUNTING charges it to nobody, in every of these counts.
//
// Memory is RssAnon: pages that belong to the process, without the program's file.
// Pages that a fork shares are counted for each, so only differences are meaningful.
package proc
