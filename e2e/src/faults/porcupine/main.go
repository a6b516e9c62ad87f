// Checks with Porcupine whether histories of state items are linearizable. Reads the lines that the simulation prints
// with --history, and prints the number of histories and the seeds whose history is not linearizable, as JSON.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

type value struct {
	N  int `json:"n"`
	By int `json:"by"`
}

type operation struct {
	Client  int    `json:"client"`
	Key     string `json:"key"`
	Kind    string `json:"kind"`
	ID      int    `json:"id"`
	Begin   int64  `json:"begin"`
	End     int64  `json:"end"`
	Outcome *struct {
		Status string          `json:"status"`
		Output json.RawMessage `json:"output"`
	} `json:"outcome"`
}

type result struct {
	Seed       int         `json:"seed"`
	Operations []operation `json:"operations"`
}

// What a client was answered. Unknown if it got no answer: the operation may have been executed at any later time.
type answer struct {
	isKnown bool
	found   *value
}

// An item: nil if it does not exist.
var model = porcupine.Model{
	Init: func() interface{} { return (*value)(nil) },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		item, asked, got := state.(*value), input.(operation), output.(answer)
		switch asked.Kind {
		case "set":
			return true, &value{0, asked.ID}
		case "update":
			next := &value{1, asked.ID}
			if item != nil {
				next.N = item.N + 1
			}
			return !got.isKnown || equal(got.found, next), next
		case "delete":
			return !got.isKnown || equal(got.found, item), (*value)(nil)
		default:
			return !got.isKnown || equal(got.found, item), item
		}
	},
	Equal: func(one, other interface{}) bool { return equal(one.(*value), other.(*value)) },
}

func equal(one, other *value) bool {
	return one == other || (one != nil && other != nil && *one == *other)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64*1024*1024)
	histories := 0
	illegal := []int{}
	for lines.Scan() {
		var one result
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			fail(err)
		}
		items := map[string][]porcupine.Operation{}
		for _, op := range one.Operations {
			if op.Outcome == nil || op.Outcome.Status != "failed" {
				items[op.Key] = append(items[op.Key], eventOf(op))
			}
		}
		for _, history := range items {
			histories++
			if porcupine.CheckOperationsTimeout(model, history, time.Minute) != porcupine.Ok {
				illegal = append(illegal, one.Seed)
			}
		}
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]interface{}{"histories": histories, "illegal": illegal}); err != nil {
		fail(err)
	}
}

func eventOf(op operation) porcupine.Operation {
	event := porcupine.Operation{ClientId: op.Client, Input: op, Call: op.Begin, Return: math.MaxInt64, Output: answer{}}
	if op.Outcome == nil || op.Outcome.Status != "ok" {
		return event
	}
	event.Return = op.End
	event.Output = answer{true, foundIn(op)}
	return event
}

// The value that an answer names: what was read, deleted or made by an update.
func foundIn(op operation) *value {
	var found *value
	var err error
	switch op.Kind {
	case "get":
		var entry *struct {
			Value value `json:"value"`
		}
		if err = json.Unmarshal(op.Outcome.Output, &entry); entry != nil {
			found = &entry.Value
		}
	case "update":
		var written struct {
			New *value `json:"new_value"`
		}
		err = json.Unmarshal(op.Outcome.Output, &written)
		found = written.New
	case "delete":
		err = json.Unmarshal(op.Outcome.Output, &found)
	}
	if err != nil {
		fail(err)
	}
	return found
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
