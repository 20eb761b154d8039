package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/go-sql-driver/mysql"
)

// askRole works in MySQL and in MariaDB, which has no super_read_only.
const askRole = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'super_read_only')"

// session is a driver's connection that has logged in. The driver gets a context without
// an end, since the probe's ends the reads and writes of the connection.
type session struct{ conn driver.Conn }

// login has the driver log in over w. An error is errUnsupported, or a driver's echo of
// what w knows. With private, the driver may send the password as it is if the server asks
// for it.
func login(w *wire, user, password string, private bool) (session, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd = user, password
	cfg.Net, cfg.Addr = "tcp", "backend:3306"
	if private {
		cfg.Net = "unix"
	}
	cfg.DialFunc = func(context.Context, string, string) (net.Conn, error) { return w, nil }
	cfg.Logger = &mysql.NopLogger{}
	cfg.ConnectionAttributes = "program_name:sluice-health"
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return session{}, err
	}
	conn, err := connector.Connect(context.Background())
	if err != nil {
		return session{}, rejected(w, err)
	}
	w.begin()
	return session{conn}, nil
}

// rejected tells why the driver does not log in. If the server waits for more, it is told.
func rejected(w *wire, err error) error {
	if w.failed == nil && !w.refused(new(refusal)) {
		w.yield()
	}
	for _, plugin := range []error{mysql.ErrUnknownPlugin, mysql.ErrCleartextPassword, mysql.ErrOldPassword, mysql.ErrNativePassword} {
		if errors.Is(err, plugin) {
			return errUnsupported
		}
	}
	return err
}

// close says COM_QUIT.
func (s session) close() { s.conn.Close() }

func (s session) ping() error {
	return s.conn.(driver.Pinger).Ping(context.Background())
}

func (s session) settings() (is settings, err error) {
	rows, err := s.conn.(driver.QueryerContext).QueryContext(context.Background(), askRole, nil)
	if err != nil {
		return is, err
	}
	// The rows are read to their end or left: to close them would read on, whatever comes.
	if len(rows.Columns()) != 2 {
		return is, errUnwanted
	}
	for row := make([]driver.Value, 2); ; {
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			return is, nil
		} else if err != nil {
			return is, err
		}
		switch text(row[0]) {
		case "read_only":
			is.readOnly = text(row[1])
		case "super_read_only":
			is.superReadOnly = text(row[1])
		}
	}
}

// text is a value of the text protocol, or "" for NULL.
func text(v driver.Value) string {
	switch v := v.(type) {
	case []byte:
		return string(v)
	case string:
		return v
	}
	return ""
}
