// Command sluice is a layer-4 TCP load balancer.
//
// This package holds the command line: one file a command, flags and files in, exit
// status out. What runs is package app's.
package main
