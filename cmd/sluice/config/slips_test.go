package config

// slipCases are what newcomers write, and those who come from another program.
var slipCases = []faultCase{
	{"durations of HAProxy", "services:\n  - {" + one[1:] + "check: {interval: 500, timeout: 1}}\n", `
f:2:64: interval: 500 has no unit; write 500ms or 500s
f:2:78: timeout: 1 has no unit; write 1ms or 1s`},
	{"brace open before an item", "services:\n  - name: a\n    backends:\n      - {address: b:1, name: x\n      - {address: c:1}\n", `f:4:9: "{" is not closed before the list item of line 5; write "}"`},
	{"brace open before a plain item", "services:\n  - name: a\n    backends:\n      - {address: b:1, weight: 3\n      - c:1\n", `f:4:9: "{" is not closed before the list item of line 5; write "}"`},
	{"inner brace open before an item", "services:\n  - {name: a, check: {type: http}\n  - {name: b}\n", `f:2:5: "{" is not closed before the list item of line 3; write "}"`},
	{"brace open after a comma", "services:\n  - {name: a,\n  - {name: b}\n", `f:2:5: "{" is not closed before the list item of line 3; write "}"`},
	{"brace open after a colon", "services:\n  - {name:\n  - {name: b}\n", `f:2:5: "{" is not closed before the list item of line 3; write "}"`},
	{"bracket open before an item", "services:\n  - backends: ['b:1'\n  - name: b\n", `f:2:15: "[" is not closed before the list item of line 3; write "]", or leave out the dash`},
	{"bracket open before a key", "services:\n  - backends: [b:1, c:1\n    name: a\n", `f:2:15: "[" is not closed before key "name" of line 3; write "]"`},
	{"brace open before a key", "services:\n  - check: {type: http, path: /x\n    name: a\n", `f:3:5: key "name" needs a comma before it, or the "{" of line 2 is not closed; write "}"`},
	{"bracket open at the end", "services:\n  - name: a\n    backends: [b:1, c:1", `f:3:15: "[" is never closed`},
	{"brace and bracket open at the end", "services: [\n  {name: a", `f:2:3: "{" is never closed`},
	{"brace open after a comma at the end", "services: [{name: a,", `f:1:12: "{" is never closed`},
	{"brace open after a colon at the end", "services: [{name:", `f:1:12: "{" is never closed`},
	{"bracket closed by a brace", "services: [{name: a, backends: [b:1]]\n", `f:1:37: unexpected "]"; the "{" of line 1 is still open and needs "}" first`},
	{"template left in", "services: [{name: {{ name }}}]\n", `f:1:20: expected KEY: VALUE, got "{"`},
	{"dashes in brackets", "services:\n  - backends: [- b:1, - c:1]\n", `f:2:16: unexpected "-"; inside brackets items have commas between them and no dash`},
	{"star", "admin: {listen: '*:9'}\nservices:\n  - {name: a, listen: ['*:80', '[*]:80', '*:x', '*'], backends: ['*:80']}\n", `
f:1:17: listen: "*" is not a host; write ":9" for every address
f:3:24: listen: "*" is not a host; write ":80" for every address
f:3:32: listen: "*" is not a host; write ":80" for every address
f:3:42: listen: port "x" is not allowed; allowed: 0 to 65535
f:3:49: listen: "*" has no port; write HOST:PORT, [IPV6]:PORT or unix:/PATH
f:3:66: address: "*:80" has no host; write HOST:80`},
	{"star without quotes", "services:\n  - name: a\n    listen: *:80\n  - listen: [*:80, *:443, *x, *]\n  - {listen: *:80}\n", `
f:3:13: "*" is not a host; write ":80" for every address
f:4:14: "*" is not a host; write ":80" for every address
f:4:20: "*" is not a host; write ":443" for every address
f:4:27: anchors and aliases are not supported; put what services share under defaults, and quote a text that starts with & or *
f:4:31: anchors and aliases are not supported; put what services share under defaults, and quote a text that starts with & or *
f:5:14: "*" is not a host; write ":80" for every address`},
	{"keys of HAProxy", "services:\n  - name: a\n    bind: ':1'\n    mode: tcp\n    maxconn: 5\n    retries: 3\n    redispatch: 1\n    send-proxy: v1\n    accept_proxy: true\n    inter: 2s\n    timeouts: {client: 1m, server: 1m, tunnel: 1h, connect: 3s, proxy_timeout: 1s}\n    servers: []\n    server: b:1\n    listen: ':1'\n    backends: [{addr: b:1, address: b:1, maxconn: 5, backup: true, check: true, send-proxy-v2: true, rise: 2, inter: 2s}]\n", `
f:3:5: unknown key "bind"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "listen"?)
f:4:5: unknown key "mode"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "balance"?)
f:5:5: unknown key "maxconn"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "limits.connections" or "max_connections" of a backend?)
f:6:5: unknown key "retries"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "connect.attempts"?)
f:7:5: unknown key "redispatch"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "connect.attempts"?)
f:8:5: unknown key "send-proxy"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "proxy_protocol.send"?)
f:9:5: unknown key "accept_proxy"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "proxy_protocol.accept"?)
f:10:5: unknown key "inter"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "check.interval"?)
f:11:16: unknown key "client"; allowed: idle, half_close, user, keepalive (did you mean "idle"?)
f:11:28: unknown key "server"; allowed: idle, half_close, user, keepalive (did you mean "idle"?)
f:11:40: unknown key "tunnel"; allowed: idle, half_close, user, keepalive (did you mean "idle"?)
f:11:52: unknown key "connect"; allowed: idle, half_close, user, keepalive (did you mean "connect" of a service?)
f:11:65: unknown key "proxy_timeout"; allowed: idle, half_close, user, keepalive (did you mean "idle"?)
f:12:5: unknown key "servers"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "backends"?)
f:13:5: unknown key "server"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "backends"?)
f:15:17: unknown key "addr"; allowed: address, name, weight, priority, max_connections (did you mean "address"?)
f:15:42: unknown key "maxconn"; allowed: address, name, weight, priority, max_connections (did you mean "max_connections"?)
f:15:54: unknown key "backup"; allowed: address, name, weight, priority, max_connections (did you mean "priority: 1"?)
f:15:68: unknown key "check"; allowed: address, name, weight, priority, max_connections (did you mean "check" of a service?)
f:15:81: unknown key "send-proxy-v2"; allowed: address, name, weight, priority, max_connections (did you mean "proxy_protocol.send: v2" of a service?)
f:15:102: unknown key "rise"; allowed: address, name, weight, priority, max_connections (did you mean "check.rise" of a service?)
f:15:111: unknown key "inter"; allowed: address, name, weight, priority, max_connections (did you mean "check.interval" of a service?)`},
	{"keys of nginx", "upstream: {}\nservices:\n  - {" + one[1:] + "upstreams: [], proxy_pass: x, connect_timeout: 1s, proxy_timeout: 1s, max_conns: 1, uri: /}\n  - {name: b, listen: ':2', backends: [{address: b:1, max_conns: 5, max_fails: 3, fail_timeout: 9s, down: true, port: 1}]}\n", `
f:1:1: unknown key "upstream"; allowed: admin, log, shutdown_timeout, shutdown_delay, state_dir, defaults, services (did you mean "backends" of a service?)
f:3:46: unknown key "upstreams"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "backends"?)
f:3:61: unknown key "proxy_pass"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "backends"?)
f:3:76: unknown key "connect_timeout"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "connect.timeout"?)
f:3:97: unknown key "proxy_timeout"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "timeouts.idle"?)
f:3:116: unknown key "max_conns"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "limits.connections" or "max_connections" of a backend?)
f:3:130: unknown key "uri"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "check.path"?)
f:4:55: unknown key "max_conns"; allowed: address, name, weight, priority, max_connections (did you mean "max_connections"?)
f:4:69: unknown key "max_fails"; allowed: address, name, weight, priority, max_connections (did you mean "passive.failures" of a service?)
f:4:83: unknown key "fail_timeout"; allowed: address, name, weight, priority, max_connections (did you mean "passive.eject" of a service?)
f:4:101: unknown key "down"; allowed: address, name, weight, priority, max_connections (did you mean "weight: 0"?)
f:4:113: unknown key "port"; allowed: address, name, weight, priority, max_connections (did you mean "address: HOST:PORT"?)`},
	{"keys of others", "proxy_pass: x\nport: 80\nretries: 3\nmaxconn: 5\nbackup: true\ndefaults: {algorithm: first, healthcheck: {}, connect_timeout: 1s}\nservices:\n  - {" + one[1:] + "lb_policy: x, policy: x, health_check: {}, target: x, targets: [], port: 1, upstream: x}\n  - {name: b, listen: ':2', backends: ['b:1'], passive: {max_fails: 1, fail_timeout: 1s}, limits: {maxconn: 1}, check: {inter: 1s, type: http, uri: /x}, proxy_protocol: {send-proxy-v2: true}, connect: {connect_timeout: 1s, retries: 2}}\n", `
f:1:1: unknown key "proxy_pass"; allowed: admin, log, shutdown_timeout, shutdown_delay, state_dir, defaults, services (did you mean "backends" of a service?)
f:2:1: unknown key "port"; allowed: admin, log, shutdown_timeout, shutdown_delay, state_dir, defaults, services (did you mean "listen" of a service or "address: HOST:PORT" of a backend?)
f:3:1: unknown key "retries"; allowed: admin, log, shutdown_timeout, shutdown_delay, state_dir, defaults, services (did you mean "connect.attempts" of a service?)
f:4:1: unknown key "maxconn"; allowed: admin, log, shutdown_timeout, shutdown_delay, state_dir, defaults, services (did you mean "limits.connections" of a service or "max_connections" of a backend?)
f:5:1: unknown key "backup"; allowed: admin, log, shutdown_timeout, shutdown_delay, state_dir, defaults, services (did you mean "priority: 1" of a backend?)
f:6:12: unknown key "algorithm"; allowed: balance, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "balance"?)
f:6:30: unknown key "healthcheck"; allowed: balance, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "check"?)
f:6:47: unknown key "connect_timeout"; allowed: balance, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "connect.timeout"?)
f:8:46: unknown key "lb_policy"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "balance"?)
f:8:60: unknown key "policy"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "balance"?)
f:8:71: unknown key "health_check"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "check"?)
f:8:89: unknown key "target"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "backends"?)
f:8:100: unknown key "targets"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "backends"?)
f:8:113: unknown key "port"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "listen"?)
f:8:122: unknown key "upstream"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "backends"?)
f:9:58: unknown key "max_fails"; allowed: failures, eject (did you mean "failures"?)
f:9:72: unknown key "fail_timeout"; allowed: failures, eject (did you mean "eject"?)
f:9:100: unknown key "maxconn"; allowed: connections, per_source, rate_per_source (did you mean "connections"?)
f:9:121: unknown key "inter"; allowed: type, interval, timeout, rise, fall, port, method, path, host, status, user, password, database, role, conflict, send, expect, regexp, steps, tls (did you mean "interval"?)
f:9:144: unknown key "uri"; allowed: type, interval, timeout, rise, fall, port, method, path, host, status, user, password, database, role, conflict, send, expect, regexp, steps, tls (did you mean "path"?)
f:9:171: unknown key "send-proxy-v2"; allowed: send, accept, accept_timeout (did you mean "send: v2"?)
f:9:203: unknown key "connect_timeout"; allowed: timeout, attempts, hedge_after, hold, replay (did you mean "timeout"?)
f:9:224: unknown key "retries"; allowed: timeout, attempts, hedge_after, hold, replay (did you mean "attempts"?)`},
	{"keys of another block", "interval: 1s\nservices:\n  - {" + one[1:] + "idle: 1m, attempts: 3, weight: 3, timeout: 3s, ca: x}\n", `
f:1:1: unknown key "interval"; allowed: admin, log, shutdown_timeout, shutdown_delay, state_dir, defaults, services (did you mean "check.interval" of a service?)
f:3:46: unknown key "idle"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "timeouts.idle"?)
f:3:56: unknown key "attempts"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "connect.attempts"?)
f:3:69: unknown key "weight"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "weight" of a backend?)
f:3:80: unknown key "timeout"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits (did you mean "timeouts"?)
f:3:93: unknown key "ca"; allowed: name, listen, balance, backends, connect, timeouts, check, passive, on_down, close_over, slow_start, drain_timeout, proxy_protocol, allow, deny, limits`},
	{"service keys at the top", "check: {type: http}\nbalance: first\nname: a\nlisten: ':1'\nbackends: [b:1]\nlimits: {}\n", `
f:1:1: unknown key "check"; it goes in a service, or under defaults for all of them
f:1:1: services: required; a file has at least one service
f:2:1: unknown key "balance"; it goes in a service, or under defaults for all of them
f:3:1: unknown key "name"; it goes in a service
f:4:1: unknown key "listen"; it goes in a service
f:5:1: unknown key "backends"; it goes in a service
f:6:1: unknown key "limits"; it goes in a service, or under defaults for all of them`},
	{"check is a word", "defaults: {check: off}\nservices:\n  - {" + one[1:] + "check: http}\n  - {name: b, listen: ':2', backends: [b:1], check: none}\n  - {name: c, listen: ':3', backends: [b:1], check: false}\n  - {name: d, listen: ':4', backends: [b:1], check: true}\n  - {name: e, listen: ':5', backends: [b:1], check: htp}\n  - {name: f, listen: ':6', backends: [b:1], check: /health}\n  - {name: g, listen: ':7', backends: [b:1], check: 5}\n  - {name: h, listen: ':8', backends: [b:1], check: redis}\n", `
f:1:19: check: must be a mapping, not the text "off"; write {type: none}
f:3:53: check: must be a mapping, not the text "http"; write {type: http}
f:4:53: check: must be a mapping, not the text "none"; write {type: none}
f:5:53: check: must be a mapping, not true or false; write {type: none}
f:6:53: check: must be a mapping, not true or false; write {type: tcp}
f:7:53: check: must be a mapping, not the text "htp"; write {type: TYPE} with one of tcp, http, redis, postgres, mysql, send-expect, none (did you mean "http"?)
f:8:53: check: must be a mapping, not the text "/health"; write {type: TYPE} with one of tcp, http, redis, postgres, mysql, send-expect, none
f:9:53: check: must be a mapping, not a number
f:10:53: check: must be a mapping, not the text "redis"; write {type: redis}`},
	{"services is a mapping", "services:\n  web:\n    listen: ':1'\n", `f:2:3: services: must be a list, not a mapping; start each service with "- name: …"`},
	{"backends is a mapping", "services:\n  - name: a\n    listen: ':1'\n    backends:\n      address: b:1\n", `f:5:7: backends: must be a list, not a mapping; start each backend with "- "`},
	{"required without a value", "admin: {listen: }\nservices:\n  - name:\n    listen:\n    backends:\n  - name: b\n    listen: ':2'\n    backends:\n      - name:\n        address:\n", `
f:1:9: listen: no value; it is required
f:3:5: name: no value; it is required
f:4:5: listen: no value; it is required
f:5:5: backends: no value; it is required, give it a list
f:9:9: name: no value; leave the key out, or give it text
f:10:9: address: no value; it is required`},
	{"no space after a colon", "services:\n  - name: a\n    listen:8080\n    backends: [b:1]\n", `f:3:5: expected KEY: VALUE, got "listen:8080"; a space belongs after the colon`},
	{"no space after the first colon of a block", "services:\n  - name:a\n    listen: ':1'\n", `f:2:5: expected KEY: VALUE, got "name:a"; a space belongs after the colon`},
	{"no space after the only colon", "listen:8080\n", `f:1:1: the file: must be a mapping, not the text "listen:8080"; a space belongs after the colon`},
	{"no space before a brace", "services:\n  - name: a\n    listen: ':1'\n    backends: [b:1]\n    check:{type: http}\n", `f:5:5: unknown key "check:{type"; a space belongs after the colon`},
	{"no space after a colon in braces", "services: [{name: a, listen:8080}]\n", `f:1:22: expected KEY: VALUE, got "listen:8080"; a space belongs after the colon`},
	{"no space after a colon in an item", "services:\n  - name:a\n  - name: b\n    listen: ':1'\n    check: type:http\n    connect: timeout:3s\n    backends:\n      - address:b:1\n      - name:b\n      - weight.example:1\n", `
f:2:5: services: must be a mapping, not the text "name:a"; a space belongs after the colon
f:5:12: check: must be a mapping, not the text "type:http"; a space belongs after the colon
f:6:14: connect: must be a mapping, not the text "timeout:3s"; a space belongs after the colon
f:8:9: backends: must be an address or a mapping with one, not the text "address:b:1"; a space belongs after the colon
f:9:9: backends: must be an address or a mapping with one, not the text "name:b"; a space belongs after the colon`},
	{"listeners overlap", "services:\n  - {name: a, listen: '127.0.0.1:1', backends: [b:1]}\n  - {name: b, listen: ['127.0.0.1:2', '[::1]:2', 'h:2', ':3', '0.0.0.0:4', '[::1]:5', 'h:6', '0.0.0.0:7'], backends: [b:1]}\n  - {name: c, listen: ':1', backends: [b:1]}\n  - {name: d, listen: '0.0.0.0:2', backends: [b:1]}\n  - {name: e, listen: ['[::1]:3', '127.0.0.2:4', '[::]:5', ':6', ':7'], backends: [b:1]}\n  - {name: f, listen: ['0.0.0.0:3', 'localhost:4', '[::ffff:127.0.0.1]:1'], backends: [b:1]}\n  - {name: g, listen: ['[::]:0', ':0', '0.0.0.0:0', '127.0.0.1:0', 'unix:/x', 'unix:/y', '[::1]:1234', '127.0.0.1:1234', 'h:1234'], backends: [b:1]}\n", `
f:4:23: listen: ":1" takes every IPv6 and IPv4 address, also "127.0.0.1:1" of line 2; use another port, or only one of them
f:5:23: listen: "0.0.0.0:2" takes every IPv4 address, also "127.0.0.1:2" of line 3; use another port, or only one of them
f:6:24: listen: "[::1]:3" is taken by ":3" of line 3, which takes every IPv6 and IPv4 address; use another port, or only one of them
f:6:35: listen: "127.0.0.2:4" is taken by "0.0.0.0:4" of line 3, which takes every IPv4 address; use another port, or only one of them
f:6:50: listen: "[::]:5" takes every IPv6 and IPv4 address, also "[::1]:5" of line 3; use another port, or only one of them
f:6:60: listen: ":6" takes every IPv6 and IPv4 address, also "h:6" of line 3; use another port, or only one of them
f:6:66: listen: ":7" takes every IPv6 and IPv4 address, also "0.0.0.0:7" of line 3; use another port, or only one of them
f:7:24: listen: "0.0.0.0:3" is taken by ":3" of line 3, which takes every IPv6 and IPv4 address; use another port, or only one of them
f:7:37: listen: "localhost:4" is taken by "0.0.0.0:4" of line 3, which takes every IPv4 address; use another port, or only one of them
f:7:52: listen: "[::ffff:127.0.0.1]:1" is listened on twice; the first is at line 2`},
	{"backends are the listener", "services:\n  - {name: a, listen: ['10.0.0.1:1', ':2', 'unix:/x', '0.0.0.0:3', 'H:4', ':0'], backends: ['10.0.0.1:1', '127.0.0.1:2', '[::1]:2', 'localhost:2', '127.9.9.9:3', 'unix:/x', 'h:4', '0.0.0.0:2']}\n  - name: b\n    listen:\n      - 127.0.0.1:80\n    backends:\n      - 127.0.0.1:81\n      - 127.0.0.1:80\n      - localhost:2\n      - 10.0.0.2:2\n", `
f:2:93: address: "10.0.0.1:1" is this service itself, which listens on "10.0.0.1:1" of line 2; it would connect to itself in a loop
f:2:107: address: "127.0.0.1:2" is this service itself, which listens on ":2" of line 2; it would connect to itself in a loop
f:2:122: address: "[::1]:2" is this service itself, which listens on ":2" of line 2; it would connect to itself in a loop
f:2:133: address: "localhost:2" is this service itself, which listens on ":2" of line 2; it would connect to itself in a loop
f:2:148: address: "127.9.9.9:3" is this service itself, which listens on "0.0.0.0:3" of line 2; it would connect to itself in a loop
f:2:163: address: "unix:/x" is this service itself, which listens on "unix:/x" of line 2; it would connect to itself in a loop
f:2:174: address: "h:4" is this service itself, which listens on "H:4" of line 2; it would connect to itself in a loop
f:2:181: address: "0.0.0.0:2" is this service itself, which listens on ":2" of line 2; it would connect to itself in a loop
f:8:9: address: "127.0.0.1:80" is this service itself, which listens on "127.0.0.1:80" of line 5; it would connect to itself in a loop`},
}
