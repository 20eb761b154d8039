// Package compare measures balancers side by side on one machine: what a connection, a
// request, a gigabyte and an idle session cost, how fast each is, and how late answers
// come.
//
// It prints and reads nothing; command l4bench does. It needs Linux.
//
// # Design
//
// All balancers have equal configurations and the same backends, and run from the
// beginning to the end; while one is measured, the others are idle. Time is divided
// into rounds, a round into workloads, and in each workload the balancers take turns,
// in another order each round, so that what the machine does besides hits all of them.
// A result is the median over the rounds.
//
// A measurement is a piece out of the middle of a load: CPU and counts are read after a
// warm-up of a fifth, and again at the end, while the load still runs. A load is never
// cut (see package load), so failures are the balancer's or the machine's.
//
// The rate of the latency workload is half of what the slowest balancer reached with 50
// clients in the first round, and the same for all.
//
// Idle sessions are measured on a fresh process each round, after a thirtieth of them
// has come and gone, so that what a program sets up with its first session is not
// counted but the growth of its heap is. On a process that has served a busy load the
// same sessions would seem to be free: they would fit into what that left behind. The
// same number opened a second time is recorded too ("again"): a process whose sessions
// cost more then does not reuse what the first left.
//
// The direct connection is measured like a balancer, as the floor of latency and the
// ceiling of throughput on this machine: clients and backends use the same cores.
package compare
