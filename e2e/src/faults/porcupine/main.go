// Checks with Porcupine whether histories of state items are linearizable. Reads lines as the simulation prints them
// with --history, and prints as JSON the number of histories, those that are not linearizable, and those that were not
// checked within a minute.
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

// An item whose history was checked.
type checked struct {
	Seed int    `json:"seed"`
	Key  string `json:"key"`
}

// What a client was answered. Unknown if it got no answer: the operation may have been executed at any later time.
type answer struct {
	isKnown bool
	// What was read, deleted or replaced.
	before *value
	// What a set or an update made.
	after *value
}

// An item: nil if it does not exist.
var model = porcupine.Model{
	Init: func() interface{} { return (*value)(nil) },
	Step: func(state, input, output interface{}) (bool, interface{}) {
		item, asked, got := state.(*value), input.(operation), output.(answer)
		isPossible := !got.isKnown || equal(got.before, item)
		switch asked.Kind {
		case "set":
			next := &value{0, asked.ID}
			return isPossible && (!got.isKnown || equal(got.after, next)), next
		case "update":
			next := &value{1, asked.ID}
			if item != nil {
				next.N = item.N + 1
			}
			return isPossible && (!got.isKnown || equal(got.after, next)), next
		case "delete":
			return isPossible, (*value)(nil)
		default:
			return isPossible, item
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
	illegal, undecided := []checked{}, []checked{}
	for lines.Scan() {
		var one result
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			fail(err)
		}
		items := map[string][]porcupine.Operation{}
		for _, op := range one.Operations {
			if mayHaveEffect(op) {
				items[op.Key] = append(items[op.Key], eventOf(op))
			}
		}
		for key, history := range items {
			histories++
			switch porcupine.CheckOperationsTimeout(model, history, time.Minute) {
			case porcupine.Illegal:
				illegal = append(illegal, checked{one.Seed, key})
			case porcupine.Unknown:
				undecided = append(undecided, checked{one.Seed, key})
			}
		}
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
	verdict := map[string]interface{}{"histories": histories, "illegal": illegal, "undecided": undecided}
	if err := json.NewEncoder(os.Stdout).Encode(verdict); err != nil {
		fail(err)
	}
}

// False for an operation that was not executed, and for a read without an answer.
func mayHaveEffect(op operation) bool {
	isOk := op.Outcome != nil && op.Outcome.Status == "ok"
	isFailed := op.Outcome != nil && op.Outcome.Status == "failed"
	return isOk || (!isFailed && op.Kind != "get")
}

func eventOf(op operation) porcupine.Operation {
	event := porcupine.Operation{ClientId: op.Client, Input: op, Call: op.Begin, Return: math.MaxInt64, Output: answer{}}
	if op.Outcome == nil || op.Outcome.Status != "ok" {
		return event
	}
	event.Return = op.End
	event.Output = answerOf(op)
	return event
}

func answerOf(op operation) answer {
	got := answer{isKnown: true}
	var err error
	switch op.Kind {
	case "get":
		var entry *struct {
			Value value `json:"value"`
		}
		if err = json.Unmarshal(op.Outcome.Output, &entry); entry != nil {
			got.before = &entry.Value
		}
	case "set", "update":
		var written struct {
			Old *value `json:"old_value"`
			New *value `json:"new_value"`
		}
		err = json.Unmarshal(op.Outcome.Output, &written)
		got.before, got.after = written.Old, written.New
	case "delete":
		err = json.Unmarshal(op.Outcome.Output, &got.before)
	}
	if err != nil {
		fail(err)
	}
	return got
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
