package health

import (
	"errors"
	"slices"
	"testing"
)

func TestStatusListsAreReadAsWritten(t *testing.T) {
	tests := []struct {
		text string
		want []StatusRange
	}{
		{"200-399", []StatusRange{{200, 399}}},
		{"204", []StatusRange{{204, 204}}},
		{"200,204,301-302", []StatusRange{{200, 200}, {204, 204}, {301, 302}}},
		{" 500 , 200-200", []StatusRange{{500, 500}, {200, 200}}},
		{"100-599", []StatusRange{{100, 599}}},
		{"200-300,250", []StatusRange{{200, 300}, {250, 250}}},
	}
	for _, tt := range tests {
		got, err := ParseStatus(tt.text)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%q is %v, %v; want %v", tt.text, got, err, tt.want)
		}
	}
}

func TestStatusListsThatMeanNothingAreRefused(t *testing.T) {
	for _, text := range []string{
		"", " ", ",", "200,", ",200", "99", "600", "2xx", "200-", "-200", "200-100", "200--300",
		"200-300-400", "+200", "0200", "2 00", "200 - 300", "200;204", "١٢٣", "100-600",
	} {
		if got, err := ParseStatus(text); !errors.Is(err, ErrConfig) || got != nil {
			t.Errorf("%q is %v, %v; want ErrConfig", text, got, err)
		}
	}
}

func FuzzParseStatus(f *testing.F) {
	for _, s := range []string{"200-399", "200,204,301-302", "", "-", "99", " 100 ,599", "1-2-3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ranges, err := ParseStatus(s)
		if err != nil {
			if !errors.Is(err, ErrConfig) || ranges != nil {
				t.Fatalf("%q: %v with %v", s, ranges, err)
			}
			return
		}
		for _, r := range ranges {
			if r.From < 100 || r.To > 599 || r.From > r.To {
				t.Fatalf("%q has the range %v", s, r)
			}
		}
		again, err := ParseStatus(statusList(ranges))
		if err != nil || !slices.Equal(again, ranges) {
			t.Fatalf("%q is %v, but written and read again %v, %v", s, ranges, again, err)
		}
	})
}
