// Package backend starts the servers that balancers are measured with: redis-server,
// nginx with a small file, and the embedded stream server.
//
// It offers no load and knows no balancer.
//
// # Design
//
// They are processes of their own, also the embedded one, so that what they use is
// neither the balancer's nor the clients'. nginx listens on eight addresses, which are
// eight backends to a balancer: one that closes connections to a backend holds a port
// in TIME_WAIT for each, and a single address would run out of them.
package backend
