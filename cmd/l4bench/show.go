package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/sluicelb/sluice/bench/compare"
)

// show prints the table and writes the files.
func (f compareFlags) show(r *compare.Result, stdout io.Writer) error {
	_, color := terminal(stdout, os.Getenv)
	err := printResult(r, stdout, color)
	if f.json != "" {
		err = errors.Join(err, writeFile(f.json, func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", " ")
			return e.Encode(r)
		}))
	}
	if f.html != "" {
		err = errors.Join(err, writeFile(f.html, r.Page().Write))
	}
	return err
}

// printResult prints what a reader of the terminal needs.
func printResult(r *compare.Result, w io.Writer, color bool) error {
	m := r.Machine
	fmt.Fprintf(w, "%d cores, %s, Linux %s, %s\n", m.Cores, m.CPU, m.Kernel, r.Started.Format("2006-01-02 15:04:05"))
	for _, b := range r.Balancers {
		fmt.Fprintf(w, "%s: %s\n", b.Name, b.Version)
	}
	fmt.Fprintln(w)
	if err := r.Table().WriteText(w, color); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s\n", r.Legend())
	for _, text := range r.Remarks() {
		fmt.Fprintln(w, text)
	}
	for _, text := range r.Warnings() {
		fmt.Fprintf(w, "! %s\n", text)
	}
	return nil
}

// writeFile writes a file that is complete, or an error.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// terminal tells how to write to w: live if it is a terminal that can redraw a line, in
// color unless NO_COLOR (no-color.org) asks for none.
func terminal(w io.Writer, getenv func(string) string) (live, color bool) {
	f, ok := w.(*os.File)
	if !ok || runtime.GOOS == "windows" {
		return false, false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false, false
	}
	if term := getenv("TERM"); term == "" || term == "dumb" {
		return false, false
	}
	return true, getenv("NO_COLOR") == ""
}
