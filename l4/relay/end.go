package relay

// Who tells which party ended a session.
type Who uint8

// The parties.
const (
	Nobody   Who = iota // not ended
	Client              // the connecting side
	Backend             // the dialled side
	Sluice              // a limit, a timeout or a rule of the configuration
	Operator            // a person, or the process's end
)

var whoNames = [...]string{"nobody", "client", "backend", "sluice", "operator"}

func (w Who) String() string { return whoNames[w] }

// Why is the closed list of reasons for which a session ends. Logs and metrics use
// the same names.
type Why uint8

// The reasons. Those up to HalfClose end a relayed session; the rest end one
// before its bytes moved, or come from outside.
const (
	Running          Why = iota // not ended
	EOF                         // both directions ended in order; Who ended first
	Reset                       // Who aborted its connection
	Timeout                     // Who stopped answering: keepalive or TCP_USER_TIMEOUT ran out
	Idle                        // no byte in either direction for timeouts.idle
	HalfClose                   // one direction had ended, and no byte moved for timeouts.half_close
	ConnectFailed               // every backend that could be tried failed to connect
	NoBackend                   // no usable backend
	BackendsFull                // every usable backend is at its max_connections
	Denied                      // allow or deny
	LimitConnections            // limits.connections
	LimitPerSource              // limits.per_source
	LimitRate                   // limits.rate_per_source
	Descriptors                 // the process's descriptor limit
	ProxyHeader                 // the required PROXY header was missing or malformed
	ProxyTimeout                // the required PROXY header was not complete within proxy_protocol.accept_timeout
	Paused                      // the service was paused, and no backend was to be had in time after it
	BackendDown                 // its backend went down, and on_down is close
	Drain                       // still open when the time to drain was over
	Killed                      // an operator closed it
	Internal                    // a failure of sluice itself; see the error in the log

	// NumWhy is how many there are, Running included.
	NumWhy
)

var whyNames = [NumWhy]string{
	"running", "eof", "reset", "timeout", "idle", "half-close", "connect-failed", "no-backend", "backends-full",
	"denied", "limit-connections", "limit-per-source", "limit-rate", "descriptors", "proxy-header", "proxy-timeout",
	"paused", "backend-down", "drain", "killed", "internal",
}

func (w Why) String() string { return whyNames[w] }

// Whys returns every reason but Running, for whoever counts by reason.
func Whys() []Why {
	all := make([]Why, 0, NumWhy-1)
	for w := EOF; w < NumWhy; w++ {
		all = append(all, w)
	}
	return all
}

// End says who ended a session and why. The zero End is a session that goes on.
type End struct {
	Who Who
	Why Why
}

func (e End) String() string { return e.Who.String() + " " + e.Why.String() }
